"""The C target for other people's projects: one header, no library."""

from .emit import outputs

__all__ = ["outputs"]
