"""Text from files made fit to be shown, and numbers made readable."""

from __future__ import annotations

import struct
from math import isnan
from typing import Any

from ..text import LIMIT, plural, printable

__all__ = ["LIMIT", "Brief", "amount", "plural", "printable", "shape", "size"]

ELEMENTS = 6
"""Elements of an array inside an array that are shown."""

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


class Brief:
    """Values of metadata in a line, arrays inside arrays with what they hold.

    limit: characters of a text, None for all. elements: of an inner array; all together no more
    than 16 times as many, so that a deep one does not grow out of hand; None for all.
    exact: with every bit of a float, for values that look the same otherwise.
    """

    def __init__(
        self, limit: int | None = LIMIT, elements: int | None = ELEMENTS, *, exact: bool = False
    ) -> None:
        self._limit = limit
        self._elements = elements
        self._exact = exact
        self._left = 16 * max(elements or 0, ELEMENTS)

    def __call__(self, value: Any) -> str:
        """The value; of an inner array the type, too, where it has one of its own."""
        own = getattr(value, "type", None)
        if isinstance(own, str) and hasattr(value, "value"):
            return f"{own}:{self(value.value)}"
        if isinstance(value, (str, bytes)):
            return printable(value, len(value) if self._limit is None else self._limit)
        kind = type(value).__name__
        if kind in ("bool", "bool_"):
            return str(bool(value)).lower()
        if kind.startswith("float"):
            return self._float(float(value))
        return self._array(value) if hasattr(value, "__len__") else str(value)

    def _array(self, value: Any) -> str:
        count = len(value)
        if self._elements is None:
            shown = count
        else:
            shown = min(count, max(self._elements, 1), max(self._left, 0))
            self._left -= shown + 1
        items = [self(item) for item in value[:shown]]
        more = [f"... {count - shown:,} more"] if shown < count else []
        return f"[{', '.join(items + more)}]"

    def _float(self, value: float) -> str:
        if not self._exact:
            return f"{value:.9g}"
        return repr(value) if not isnan(value) else f"nan ({struct.pack('>d', value).hex()})"
