"""Text from files made fit to be shown, and numbers made readable."""

from __future__ import annotations

from ..text import LIMIT, plural, printable

__all__ = ["LIMIT", "amount", "plural", "printable", "shape", "size"]

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_COUNTS = ("", " K", " M", " B", " T")


def size(count: float) -> str:
    """Bytes with a unit (powers of 1000): ``98.0 MB``."""
    return _scaled(count, _UNITS, " ")


def amount(count: float) -> str:
    """A count with a unit (powers of 1000): ``134.5 M``."""
    return _scaled(count, _COUNTS, "")


def _scaled(count: float, units: tuple[str, ...], gap: str) -> str:
    step = 0
    while count >= 999.95 and step < len(units) - 1:
        count /= 1000
        step += 1
    return f"{count:.1f}{gap}{units[step]}" if step else f"{count:.0f}{gap}{units[0]}"


def shape(dims: tuple[int, ...]) -> str:
    """A shape in NumPy's order: ``49152 x 576``."""
    return " x ".join(map(str, dims)) or "scalar"
