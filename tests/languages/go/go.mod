module conformance

go 1.21

require ggufspec v0.0.0

replace ggufspec => ../../../generated/go
