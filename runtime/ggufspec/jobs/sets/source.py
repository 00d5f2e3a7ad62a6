"""What the files of a set say together: their keys as those of one file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...files.shards import OWN_KEYS, SET_KEYS, belonging, own_name
from ...generated.shards import COUNT_KEY
from ...text import printable
from ..errors import ConversionError
from .plan import Change

if TYPE_CHECKING:
    from ...edits.plain import Entry
    from ...files.arrays import Stored
    from ...files.part import Part

_SHOWN = 60  # characters of a value


def joined_entries(parts: Sequence[Part]) -> tuple[dict[str, Entry], list[Change]]:
    """The keys of a model: those of the first file, and what only others have.

    Without the keys that number files. ConversionError where two files contradict each other.
    """
    first = parts[0]
    holders = {key: first for key in first.metadata if key not in SET_KEYS}
    entries: dict[str, Entry] = {key: first.metadata.stored(key) for key in holders}
    changes = []
    for part in parts[1:]:
        for key in part.metadata:
            if key in OWN_KEYS:
                continue
            holder = holders.setdefault(key, part)
            if key not in entries:
                entries[key] = part.metadata.stored(key)
                text = f"{printable(key)} stands in this file alone and is taken over"
                changes.append(Change("taken", text, part.file))
            elif not _same(holder.metadata.stored(key), part.metadata.stored(key)):
                raise _contradiction(key, holder, part)
    return entries, changes


def set_keys(parts: Iterable[Part]) -> list[str]:
    """The keys that number files, as far as there are any."""
    return list(dict.fromkeys(key for part in parts for key in part.metadata if key in SET_KEYS))


def check_alone(part: Part) -> None:
    """An error for a file that was opened by itself and does not make up a set.

    A set of one file is one, and so is what other tools leave behind a merge: a count of 0.
    """
    name = own_name(part)
    if COUNT_KEY not in part.metadata:
        hint = f"it is one file already; {COUNT_KEY} would say how many there are"
        if name is not None and name.count > 1:
            hint = f"its name says one of {name.count}, but {COUNT_KEY} is missing in it"
        raise ConversionError("the file belongs to no split set", "usage", hint=hint)
    count = part.metadata[COUNT_KEY]
    if name is not None and name.count > 1:
        raise ConversionError(
            f"its name says that it is one of {name.count}, {COUNT_KEY} that the set has {count}",
            "data", hint=f"'ggufspec meta set' gives {COUNT_KEY} its value; or rename the file",
        )  # fmt: skip
    if count:
        for fault in belonging([part], 1):
            raise fault.error()


def _same(first: Stored, second: Stored) -> bool:
    """Whether two values of files in one form are equal, type and bits."""
    return (
        (first.kind, first.is_array, first.count) == (second.kind, second.is_array, second.count)
        and first.extra == second.extra
        and first.bytes() == second.bytes()
    )


def _contradiction(key: str, first: Part, second: Part) -> ConversionError:
    values = []
    for part in (first, second):
        kind = part.metadata.type_of(key)
        shown = printable(repr(part.metadata[key]), _SHOWN)
        values.append(f"{kind} {shown} in {printable(part.file)}")
    return ConversionError(
        f"{printable(key)} is {values[0]} and {values[1]}", "data",
        file=str(Path(second.source.path or "")),
        hint="one of the files belongs to another set, or 'ggufspec meta delete' takes the key out",
    )  # fmt: skip
