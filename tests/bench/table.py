"""Tables of a benchmark: for a terminal, or for a README."""

from __future__ import annotations

from collections.abc import Sequence


def show(
    title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool
) -> None:
    """Print a title and a row a line; the first column is a name, the others stand right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    ruler = [f"{'-' * (width - 1)}:" for width in widths]
    ruler[0] = "-" * widths[0]
    lines = [heads, ruler, *rows] if markdown else [heads, *rows]
    print(f"\n{title}\n" if markdown else f"\n{title}")
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        cells[0] = line[0].ljust(widths[0])
        print(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells))
