"""The C back end: one kernel file a type, plain loops and a form in eight lanes."""

from .emit import outputs

__all__ = ["outputs"]
