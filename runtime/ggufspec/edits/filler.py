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
from .front import Front, pair
from .plain import Entry

KEY = "ggufspec.pad"
"""No reader knows it, and all pass over it."""

BLOCK = 4096
"""Bytes of a block that file systems share."""


def filled(front: Front, size: int) -> Front | None:
    """The same front with as many blanks that it has a size; None where that cannot be."""
    if front.size == size:
        return front
    rest = {key: entry for key, entry in front.entries.items() if key != KEY}
    without = replace(front, entries=rest)
    if without.size == size:
        return without
    room = size - without.end - _length(front, "")
    if room < 0:
        return None
    blanks = Value("STRING", " " * room)
    return replace(front, entries=_with(front.entries, blanks))


def roomy(front: Front, room: int) -> Front:
    """The same front with at least that many blanks, so that data move by whole blocks of a disk.

    File systems that can share blocks do it then, whatever the edit.
    """
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
