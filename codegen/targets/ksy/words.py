"""Names that no target of the compiler trips over."""

from __future__ import annotations

from ...names import KEYWORDS

_OTHERS = frozenset(
    """
    abstract add and begin bytes character decimal def delegate done elif elsif end event
    except explicit foreach global goto implicit internal is last lock module next nil not
    object operator or out override params print proc property raise ref rescue result sbyte
    sealed self size stackalloc string sub super template then uint ulong unless until ushort
    using virtual when
    """.split()
)


def safe(name: str) -> str:
    """The name, told apart from keywords by what it numbers."""
    return f"{name}_id" if name in KEYWORDS or name in _OTHERS else name
