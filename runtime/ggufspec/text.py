"""Text from files made fit to be shown, and counts with their nouns."""

from __future__ import annotations

LIMIT = 200
"""Characters of one text that are shown."""

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def printable(value: str | bytes, limit: int = LIMIT) -> str:
    r"""Text without anything that could move the cursor, hide, or reorder what is shown.

    Control, format (bidirectional marks) and unassigned characters become escapes, bytes
    that are not UTF-8 ``\xNN``. Longer texts are cut, which is said.
    """
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    if len(text) > limit:
        more = len(text) - limit
        return f"{printable(text[:limit], limit)}... ({more:,} more characters)"
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_escaped, text))


def plural(count: int, noun: str) -> str:
    """``1 tensor``, ``2 tensors``."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


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
