"""Tables in Markdown, for text that goes into pages and tickets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .screen import Column

_TICKS = re.compile(r"`+")


def code(text: str) -> str:
    """Text as it is, whatever it holds: between as many backticks as that needs."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """A table; cells are Markdown, in which a pipe would end them."""
    lines = [
        [column.name for column in columns],
        ["---:" if column.right else ":---" for column in columns],
        *([cell.replace("|", "\\|") for cell in row] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
