"""A key of blanks that fills what a shorter header leaves, so that no data has to move.

Readers find the data behind the header by its length alone. Where an edit in place makes the
header shorter, blanks keep the length; where a later one makes it longer, they give way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import lcm

from ..files.encode import Encoder
from ..files.values import Value
from .errors import EditError
from .front import Blanks, Front, pair
from .plain import Entry, type_of

KEY = "ggufspec.pad"
"""No reader knows it, and all pass over it."""

MOST = 1 << 28
"""Bytes of room that can be asked for; headers are far shorter."""

BLOCK = 4096
"""Bytes of a block that file systems share."""


def is_blank(entry: Entry) -> bool:
    """Whether a value can stand under the key of blanks: what stands there may go at any time."""
    if isinstance(entry, Value):
        value = entry.value
        return entry.type == "STRING" and (
            isinstance(value, Blanks) or (isinstance(value, str) and not value.strip(" "))
        )
    return type_of(entry) == "STRING" and not bytes(entry.bytes()).strip(b" ")


def check_reserved(key: str, entry: Entry) -> None:
    """EditError for anything but blanks under their key."""
    if key == KEY and not is_blank(entry):
        raise EditError(f"{KEY} is reserved for blanks, and takes no other value", "usage", file="")


def check_room(room: int) -> None:
    """EditError for room that nobody can want."""
    if not 0 <= room <= MOST:
        raise EditError(f"the room is 0 to {MOST:,} bytes", "usage", file="")


def filled(front: Front, size: int) -> Front | None:
    """The same front with as many blanks that it has a size; None where that cannot be."""
    if front.size == size:
        return front
    if KEY in front.entries and not is_blank(front.entries[KEY]):  # somebody else's
        return None
    rest = {key: entry for key, entry in front.entries.items() if key != KEY}
    without = replace(front, entries=rest)
    if without.size == size:
        return without
    room = size - without.end - _length(front, "")
    if room < 0:
        return None
    blanks = Value("STRING", Blanks(room))
    return replace(front, entries=_with(front.entries, blanks))


def roomy(front: Front, room: int) -> Front:
    """The same front with at least that many blanks, so that data move by whole blocks of a disk.

    File systems that can share blocks do it then, whatever the edit.
    """
    if KEY in front.entries:
        check_reserved(KEY, front.entries[KEY])
    rest = {key: entry for key, entry in front.entries.items() if key != KEY}
    without = replace(front, entries=rest)
    least = without.end + _length(front, "") + room
    step = lcm(BLOCK, front.alignment)
    size = least + (front.part.scan.data_offset - least) % step
    size += -size % front.alignment  # the old data section may start where no new one can
    found = filled(without, size)
    assert found is not None
    return found


def _with(entries: Mapping[str, Entry], blanks: Value) -> dict[str, Entry]:
    return {**entries, KEY: blanks}


def _length(front: Front, text: str) -> int:
    encoder = Encoder(front.part.form)
    return sum(len(piece) for piece in pair(encoder, KEY, Value("STRING", text)))
