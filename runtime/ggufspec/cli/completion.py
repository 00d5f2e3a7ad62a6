"""What a shell offers where a command takes one of many names."""

from __future__ import annotations

from collections.abc import Iterable


def types(incomplete: str) -> list[str]:
    """Tensor types."""
    from ..registry import types as known

    return _starting(known, incomplete)


def file_types(incomplete: str) -> list[str]:
    """File types of `quantize`, after those that stand there already."""
    from ..generated.recipes import FILE_TYPES
    from ..recipes.names import is_offered

    before, comma, last = incomplete.rpartition(",")
    names = [kind.name for kind in FILE_TYPES if is_offered(kind)]
    return [before + comma + name for name in _starting(names, last)]


def cache_types(incomplete: str) -> list[str]:
    """Types that keys and values can be kept in."""
    from ..generated.memory import CACHES

    return _starting(CACHES, incomplete)


def rules(incomplete: str) -> list[str]:
    """Rules of `validate`, by id and name."""
    from ..generated.rules import RULES

    return _starting([*RULES, *(rule.name for rule in RULES.values())], incomplete)


def dialects(incomplete: str) -> list[str]:
    """Dialects of type numbers."""
    from ..dialects import dialects as known

    return _starting(known, incomplete)


def _starting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.lower().startswith(incomplete.lower())]
