"""The Python tables of the runtime: what types there are, and how to describe them."""

from .emit import outputs

__all__ = ["outputs"]
