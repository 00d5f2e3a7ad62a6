"""What the inspector shows beyond the TypeScript package: texts of rules, keys, block pictures."""

from .emit import outputs

__all__ = ["outputs"]
