"""Pieces of Markdown whose text comes from the spec."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"([\\`*_{}\[\]#])")


def plain(text: object) -> str:
    """Text that means itself, on one line."""
    escaped = _SPECIAL.sub(r"\\\1", " ".join(str(text).split()))
    return html.escape(escaped, quote=False).replace("|", "&#124;")


def code(text: object) -> str:
    """A word in the type of a terminal, in a table too."""
    return f"<code>{html.escape(str(text), quote=False).replace('|', '&#124;')}</code>"


def codes(words: Iterable[object]) -> str:
    """Such words with commas."""
    return ", ".join(map(code, words))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown of one line each."""
    lines = [_row(head), "|" + "|".join(" --- " for _ in head) + "|"]
    return "\n".join([*lines, *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |"


def fenced(language: str, text: str) -> str:
    """A block of code; tildes, since a formula has none."""
    return f"~~~ {language}\n{text.strip(chr(10))}\n~~~"


def folded(title: str, body: str) -> str:
    """A part of the page that opens on demand."""
    inside = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return f'??? note "{title}"\n\n{inside}'


def page(*parts: str) -> str:
    """A page of its parts, without those that are empty."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
