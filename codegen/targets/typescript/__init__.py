"""TypeScript: a package of ES modules for browsers and Node, without a dependency."""

from .emit import outputs

__all__ = ["outputs"]
