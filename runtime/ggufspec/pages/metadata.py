"""The metadata as rows: short values, and long ones behind an expander."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cli.text import Brief, plural, printable
from ..files.arrays import NumberArray
from ..files.values import architecture_of, known_key
from .places import shown

if TYPE_CHECKING:
    from ..files.metadata import Metadata

SHORT = 160
"""Characters of a text in the table."""
LONG = 4_000
"""Characters of a text behind its expander, with line breaks."""
TEMPLATE = 100_000
"""Characters of a chat template; longer ones are cut, which is said."""

_FIRST = 6  # elements of an array in the table
_MORE = 60  # elements behind the expander
_ROOM = 250_000  # characters of all expanders together
_MOST = 1_500  # rows


@dataclass(frozen=True)
class Row:
    """A key with its value; ``more`` is the value at length where the table cuts it."""

    key: str
    type: str
    value: str
    meaning: str = ""
    more: str = ""


@dataclass(frozen=True)
class Template:
    """A chat template, with its line breaks."""

    key: str
    text: str
    size: str


def rows(metadata: Metadata) -> tuple[list[Row], int]:
    """Rows in the order of the file, and how many more keys there are."""
    architecture = architecture_of(metadata)
    made: list[Row] = []
    room = _ROOM
    for key in list(metadata)[:_MOST]:
        row = _row(metadata, key, architecture, room)
        room -= len(row.more)
        made.append(row)
    return made, len(metadata) - len(made)


def templates(metadata: Metadata) -> list[Template]:
    """All chat templates that are texts; of very long ones the start."""
    made = []
    room = 2 * TEMPLATE
    for key in metadata:
        if not is_template(key) or metadata.type_of(key) != "STRING":
            continue
        value = metadata[key]
        text = block(value, min(TEMPLATE, room))
        room -= min(room, len(text))
        made.append(Template(shown(key), text, plural(len(value), "character")))
    return made


def is_template(key: str) -> bool:
    """Whether a key's value is a chat template."""
    return key == "tokenizer.chat_template" or key.startswith("tokenizer.chat_template.")


def block(value: str | bytes, limit: int) -> str:
    """A text with its line breaks and tabs, everything else as in a line."""
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
    cut = text[:limit]
    lines = (
        printable(line.replace("\t", "    "), 4 * limit + 4) for line in cut.split("\n")
    )  # a tab is the only thing that gets longer first
    more = f"\n... ({len(text) - limit:,} more characters)" if len(text) > limit else ""
    return "\n".join(lines) + more


def _row(metadata: Metadata, key: str, architecture: str | None, room: int) -> Row:
    stored = metadata.stored(key)
    known = known_key(key, architecture)
    name, kind = shown(key), metadata.type_of(key)
    if stored.is_array:
        value, more = _array(metadata, key)
        return Row(name, kind, value, "", more if len(more) <= room else "")
    value = metadata[key]
    if not isinstance(value, (str, bytes)):
        return Row(name, kind, Brief()(value), _meaning(key, value, known))
    if len(value) <= SHORT and b"\n" not in _bytes(value):
        return Row(name, kind, printable(value), _meaning(key, value, known))
    more = "" if is_template(key) else block(value, LONG)
    return Row(name, kind, printable(value, SHORT), "", more if len(more) <= room else "")


def _bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def _array(metadata: Metadata, key: str) -> tuple[str, str]:
    """Length and first elements; some more of them where there are."""
    stored = metadata.stored(key)
    values: Sequence[Any] = (
        metadata[key] if stored.kind.kind in ("string", "array") else NumberArray(stored)
    )
    first = list(values[:_MORE])
    shown_first = ", ".join(_items(first[:_FIRST]))
    dots = ", ..." if stored.count > _FIRST else ""
    line = f"{plural(stored.count, 'element')}: {shown_first}{dots}" if first else "no elements"
    if stored.count <= _FIRST:
        return line, ""
    left = stored.count - len(first)
    rest = f"\n... ({left:,} more elements)" if left else ""
    numbered = (f"{number:>4}  {item}" for number, item in enumerate(_items(first)))
    return line, "\n".join(numbered) + rest


def _items(values: Sequence[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, (str, bytes)):
            yield f'"{printable(value, 40)}"'
        elif isinstance(value, (bool, int, float)):
            yield Brief()(value)
        else:
            yield f"[{plural(len(value), 'element')}]"


def _meaning(key: str, value: Any, known: Any) -> str:
    """What a number or word stands for."""
    if key == "general.file_type" and isinstance(value, int):
        from ..recipes import display_name

        return display_name(value)
    return dict(known.values).get(value, "") if known else ""
