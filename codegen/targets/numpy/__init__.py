"""The NumPy back end: one module a type, readable, and the oracle of every other target."""

from .emit import outputs

__all__ = ["outputs"]
