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
    print(label("warning:", 33), text, file=sys.stderr)


def label(text: str, colour: int) -> str:
    """The start of a line on standard error, coloured where a person looks at it."""
    plain = not sys.stderr.isatty() or os.environ.get("NO_COLOR")
    return text if plain else f"\033[1;{colour}m{text}\033[0m"


def table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[Cell]],
    title: str = "",
    *,
    first: bool = False,
) -> Sequence[Column]:
    """Print a table; the columns that were shown.

    A title has an empty line above it, unless it is the `first` thing that is printed.
    On anything but a terminal no cell is ever cut or folded, and no column left out.
    """
    cells = [list(row) for row in rows]
    if title:
        if not first:
            say()
        say(title, "bold")
    if is_terminal():
        return _rich_table(columns, cells)
    _plain_table(columns, cells)
    return columns


def _rich_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Sequence[Column]:
    console = _console()
    shown = _rich(columns, rows)
    if not any(column.spare for column in columns):
        console.print(shown)
        return columns
    width = _width(shown, console)
    while width > console.width and any(column.spare for column in columns):
        left_out = max(range(len(columns)), key=lambda place: columns[place].spare)
        kept = [place for place in range(len(columns)) if place != left_out]
        columns = [columns[place] for place in kept]
        rows = [[row[place] for place in kept] for row in rows]
        shown = _rich(columns, rows)
        width = _width(shown, console)
    # What is still too long the terminal breaks, and a copy of it is whole.
    console.width = max(console.width, width)
    console.print(shown)
    return columns


def _rich(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> Any:
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
    return shown


def _width(shown: Any, console: Any) -> int:
    """The width in which a table need not be folded."""
    boundless = console.options.update(max_width=_BOUNDLESS)
    return int(console.measure(shown, options=boundless).maximum)


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
