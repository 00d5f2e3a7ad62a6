"""The quantizers: which strategy runs with which constants, in Python and C."""

from .emit import outputs

__all__ = ["outputs"]
