"""Following ggml: what changed there, a draft of a new type's file, and a proof of the bits.

``check`` reads a source tree, the gguf package or a built library into `facts.Facts` and compares
them with the spec; ``draft`` writes the skeleton of a type file, with what a probe of the built
library found out about its bits; ``verify`` holds a type's spec against a built library.
"""
