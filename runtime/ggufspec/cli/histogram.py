"""A histogram of block errors for people: bars of block characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import screen, text
from .screen import Column

if TYPE_CHECKING:
    from ..jobs.comparing import Blocks, Histogram

COLUMNS = (
    Column("relative RMSE", right=True),
    Column("blocks", right=True),
    Column("share", right=True),
    Column("", style="cyan"),
)

_WIDTH = 40
"""Characters of the longest bar."""

_HARDLY = 0.0001
"""The share of blocks below which a bin at either end has no row of its own."""

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def show(title: str, blocks: Blocks) -> None:
    """Print how many blocks have which error.

    Bins at either end with hardly any blocks share a row, and empty ones are left out.
    """
    named = _named(blocks.histogram)
    most = max((count for _, count in named), default=0)
    of = f" of {blocks.size}" if blocks.size else ""
    screen.table(
        COLUMNS,
        [
            (name, f"{count:,}", f"{count / blocks.count:.2%}", bar(count / most))
            for name, count in named
        ],
        f"{title}: {text.plural(blocks.count, 'block')}{of}",
    )


def _named(histogram: Histogram) -> list[tuple[str, int]]:
    """The bins that are shown, with what they are called."""
    edges = histogram.edges()
    bins = [
        (f"{edges[start]:.2g} to {edges[stop]:.2g}", sum(histogram.counts[start:stop]))
        for start, stop in _rows(histogram.counts, histogram.total * _HARDLY)
    ]
    before = [("equal", histogram.exact), (f"below {edges[0]:.2g}", histogram.below)]
    after = [(f"{edges[-1]:.2g} and more", histogram.above), ("not a number", histogram.nan)]
    return [*((n, c) for n, c in before if c), *bins, *((n, c) for n, c in after if c)]


def _rows(counts: Sequence[int], few: float) -> list[tuple[int, int]]:
    """Where rows start and stop: those before the first and after the last with at least `few`."""
    used = [number for number, count in enumerate(counts) if count]
    if not used:
        return []
    many = [number for number in used if counts[number] >= few] or used
    rows = [(number, number + 1) for number in range(many[0], many[-1] + 1)]
    before = [(used[0], many[0])] if used[0] < many[0] else []
    after = [(many[-1] + 1, used[-1] + 1)] if used[-1] > many[-1] else []
    return [*before, *rows, *after]


def bar(share: float, width: int = _WIDTH) -> str:
    """A bar for a share, 0 to 1; anything above 0 shows."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]
