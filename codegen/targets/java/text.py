"""Java literals."""

from __future__ import annotations

from collections.abc import Iterable

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def string(text: str) -> str:
    """A string literal in ASCII."""
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def number(value: int) -> str:
    """An integer literal: an int if it is one, else the long with its 64 bits."""
    if -(1 << 31) <= value < 1 << 31:
        return str(value)
    return f"{value}L" if value < 1 << 63 else f"0x{value:x}L"


def ints(values: Iterable[int]) -> str:
    """An array of ints."""
    return f"new int[] {{{', '.join(map(str, values))}}}"


def longs(values: Iterable[int]) -> str:
    """An array of longs."""
    return f"new long[] {{{', '.join(map(number, values))}}}"


def floating(value: float) -> str:
    """An exact float32 literal."""
    if value == int(value) and abs(value) < 1 << 20:
        return f"{value:.1f}f"
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{int(exponent)}f"
