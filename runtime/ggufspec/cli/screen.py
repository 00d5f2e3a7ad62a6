"""Output for people: coloured tables on a terminal, plain aligned lines anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Cell = str

_BOUNDLESS = 1_000_000  # characters, wider than any table


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, where its text stands, its colour on a terminal.

    spare: the column is left out of tables that are wider than the terminal, the highest number
    first. Nothing is folded in a table that has such columns.
    """

    name: str
    right: bool = False
    style: str = ""
    spare: int = 0


def is_terminal() -> bool:
    """Whether a person looks at standard output."""
    return sys.stdout.isatty()


def say(text: str = "", style: str = "") -> None:
    """Print a line."""
    if style and is_terminal():
        from rich.text import Text

        _console().print(Text(text, style))
    else:
        print(text)


def warn(text: str) -> None:
    """Print a warning on standard error."""
    label = "warning:"
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        label = f"\033[1;33m{label}\033[0m"
    print(label, text, file=sys.stderr)


def table(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], title: str = ""
) -> Sequence[Column]:
    """Print a table; the columns that were shown.

    On anything but a terminal no cell is ever cut or folded, and no column left out.
    """
    cells = [list(row) for row in rows]
    if title:
        say()
        say(title, "bold")
    if is_terminal():
        return _rich_table(columns, cells)
    _plain_table(columns, cells)
    return columns


def _rich_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Sequence[Column]:
    console = _console()
    folds = not any(column.spare for column in columns)
    shown, width = _rich(columns, rows, console)
    while width > console.width and any(column.spare for column in columns):
        left_out = max(range(len(columns)), key=lambda place: columns[place].spare)
        kept = [place for place in range(len(columns)) if place != left_out]
        columns = [columns[place] for place in kept]
        rows = [[row[place] for place in kept] for row in rows]
        shown, width = _rich(columns, rows, console)
    if not folds:  # what is still too long the terminal breaks, and a copy of it is whole
        console.width = max(console.width, width)
    console.print(shown)
    return columns


def _rich(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], console: Any
) -> tuple[Any, int]:
    """The table, and the width in which it need not be folded."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        shown.add_column(
            Text(column.name),
            justify="right" if column.right else "left",
            style=column.style,
            overflow="fold",
            no_wrap=column.right,
        )
    for row in rows:
        shown.add_row(*map(Text, row))
    boundless = console.options.update(max_width=_BOUNDLESS)
    return shown, console.measure(shown, options=boundless).maximum


def _plain_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    lines = [[column.name for column in columns], *rows]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    for line in lines:
        cells = (
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        print("  ".join(cells).rstrip())


def _console() -> Any:
    from rich.console import Console

    # A file's text is never markup.
    return Console(markup=False, emoji=False, highlight=False)
