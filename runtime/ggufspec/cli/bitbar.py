"""One stored word drawn as a bar: ``| sc<<4  |      sc      |``."""

from __future__ import annotations

import re
from collections.abc import Sequence

WIDTH = 48
"""Characters of a word without its frame, whatever its bits; a multiple of 8 and 16."""

_CUT = re.compile(r"\[(\d+)(?::(\d+))?\] (?:(\d+) x )?(\w+)(?: from bit (\d+))?")
_BITS = re.compile(r"\d+")


def bar(scalar: str, cuts: Sequence[str]) -> str:
    """Draw the cuts of a word of type ``scalar``: each ``[7:4] sc``, ``[7:0] 2 x q`` or a text.

    Slices that share a cut stand side by side where there is room. ``sc<<4`` says that the
    bits are those of ``sc`` from bit 4 on.
    """
    found = [_CUT.fullmatch(cut) for cut in cuts]
    bits = _BITS.search(scalar)
    if bits is None or None in found:
        return _frame([_middle(", ".join(cuts), WIDTH - 1)])
    cells: list[str] = []
    for match in found:
        assert match is not None
        high, low = int(match[1]), int(match[2] or match[1])
        width = (high - low + 1) * WIDTH // int(bits[0])
        label = match[4] + (f"<<{match[5]}" if match[5] else "")
        cells += _cells(width, int(match[3] or 1), label)
    return _frame(cells)


def _cells(width: int, count: int, label: str) -> list[str]:
    """``count`` equal cells, or one that tells their number where they are too narrow."""
    if width % count == 0 and width // count > len(label):
        return [_middle(label, width // count - 1)] * count
    return [_middle(f"{count} x {label}" if count > 1 else label, width - 1)]


def _middle(text: str, width: int) -> str:
    return text.center(width)


def _frame(cells: Sequence[str]) -> str:
    return f"|{'|'.join(cells)}|"
