"""Output for people: coloured tables on a terminal, plain aligned lines anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Cell = str


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, where its text stands, its colour on a terminal."""

    name: str
    right: bool = False
    style: str = ""


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


def table(columns: Sequence[Column], rows: Iterable[Sequence[Cell]], title: str = "") -> None:
    """Print a table; on anything but a terminal no cell is ever cut or folded."""
    cells = [list(row) for row in rows]
    if title:
        say()
        say(title, "bold")
    if is_terminal():
        _rich_table(columns, cells)
    else:
        _plain_table(columns, cells)


def _rich_table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
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
    _console().print(shown)


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
