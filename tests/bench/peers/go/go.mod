// The parser that Go programs use, timed by the bench. Nothing of ours depends on it.
module peers

go 1.22.0

require github.com/gpustack/gguf-parser-go v0.28.2
