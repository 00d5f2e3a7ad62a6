"""The reference: Markdown pages on types, container, rules, keys, dialects and file types."""

from .emit import outputs

__all__ = ["outputs"]
