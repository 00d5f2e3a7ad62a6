"""What a fuzzer needs to know of the container: which numbers and names hurt where."""

from .emit import outputs

__all__ = ["outputs"]
