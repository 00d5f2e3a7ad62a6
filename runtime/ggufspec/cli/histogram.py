"""A histogram of block errors for people: bars of block characters."""

from __future__ import annotations

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

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")


def show(title: str, blocks: Blocks) -> None:
    """Print how many blocks have which error; bins outside of the first and last are left out."""
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
    used = [number for number, count in enumerate(histogram.counts) if count]
    span = range(used[0], used[-1] + 1) if used else range(0)
    bins = [
        (f"{edges[number]:.2g} to {edges[number + 1]:.2g}", histogram.counts[number])
        for number in span
    ]
    before = [("equal", histogram.exact), (f"below {edges[0]:.2g}", histogram.below)]
    after = [(f"{edges[-1]:.2g} and more", histogram.above), ("not a number", histogram.nan)]
    return [*((n, c) for n, c in before if c), *bins, *((n, c) for n, c in after if c)]


def bar(share: float, width: int = _WIDTH) -> str:
    """A bar for a share, 0 to 1; anything above 0 shows."""
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]
