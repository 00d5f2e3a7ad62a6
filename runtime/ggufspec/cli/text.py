"""Text from files made fit to be shown, and numbers made readable."""

from __future__ import annotations

LIMIT = 200
"""Characters of one text that are shown."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")
_COUNTS = ("", " K", " M", " B", " T")


def printable(value: str | bytes, limit: int = LIMIT) -> str:
    r"""Text without anything that could move the cursor, hide, or reorder what is shown.

    Control, format (bidirectional marks) and unassigned characters become escapes, bytes
    that are not UTF-8 ``\xNN``. Longer texts are cut, which is said.
    """
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    shown = text if text.isascii() and text.isprintable() else None
    if len(text) > limit:
        more = len(text) - limit
        return f"{printable(text[:limit], limit)}... ({more:,} more characters)"
    return shown if shown is not None else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    if character in _SHORT:
        return _SHORT[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


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


def plural(count: int, noun: str) -> str:
    """``1 tensor``, ``2 tensors``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
