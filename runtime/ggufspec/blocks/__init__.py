"""Blocks of weights: stored rows to float32 and codes, and back, in NumPy or compiled C."""

from .rows import Backend, ByteOrder, byteswap, dequantize, pack, swap_suffix, unpack

__all__ = ["Backend", "ByteOrder", "byteswap", "dequantize", "pack", "swap_suffix", "unpack"]
