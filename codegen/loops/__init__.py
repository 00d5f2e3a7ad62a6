"""Kernels as plain loops over single values, for any language that has loops.

dequantize  float32 elements of a block
packing     the codes of a block as integers, and back
text        growing text: nested blocks, each value named as far out as its axes allow
language    what a target says about its spelling: types, loads, shifts, rounding

The walkers decide what is computed where; a `Language` only spells it. So C, Rust, Go, TypeScript
and Java have the same loops, and a new construct of the block language is added here once.
"""
