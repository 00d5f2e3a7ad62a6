"""Split sets: all files that stand under the names of one, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files.arrays import Stored, value_of
from ..files.part import Part
from ..files.shard_names import shard_name
from ..files.shards import OWN_KEYS, Fault, belonging, gather, own_name, stated_count
from ..generated.shards import NUMBER_KEY
from .findings import Collector


@dataclass(frozen=True)
class FileSet:
    """The files of a set that are there; a file of its own is a set of one without a name.

    `names` are those of all files of the set by their number, missing ones too; `count` is how
    many there are by what the file itself says.
    """

    parts: tuple[Part, ...]
    count: int = 1
    names: tuple[str, ...] = ("",)
    faults: tuple[Fault, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether no file is missing."""
        return len(self.parts) == len(self.names)

    def has_first(self, part: Part) -> bool:
        """Whether a part is not known to be a later file, by its place or what it says itself."""
        return part.number == 0 and not (self.count > 1 and len(self.parts) == 1 and _later(part))


def set_of(part: Part, load: Callable[[Path], Part]) -> FileSet:
    """The set that a file is of; load opens another file of it."""
    count = stated_count(part)
    if isinstance(count, Fault):
        return FileSet((part,), faults=(count,))
    if count <= 1 or part.source.path is None:
        return FileSet((part,), count)
    parts: list[Part] = []
    faults = list(gather(part, count, load, parts))
    name = own_name(part)
    if name is None:
        return FileSet(tuple(parts), count, faults=tuple(faults))
    numbers = range(1, name.count + 1)
    names = tuple(shard_name(name.prefix, number, name.count) for number in numbers)
    readable = [other for other in parts if other.scan.whole]
    faults += belonging(readable, name.count)
    return FileSet(tuple(parts), name.count, names, tuple(faults))


def check(files: FileSet, found: Collector) -> None:
    """Add what is wrong with the set."""
    for fault in files.faults:
        facts: dict[str, Any] = {"file": fault.part.file, **fault.facts}
        found.add(fault.rule_id, **_place(fault), **facts)
    if files.count > 1 and files.parts[0].source.path is None:
        found.add("GG0811", count=files.count)
    first, *others = files.parts
    for part in others if first.number == 0 else ():
        _compare_keys(part, first, found)


def _later(part: Part) -> bool:
    if NUMBER_KEY not in part.metadata:
        return False
    stored = part.metadata.stored(NUMBER_KEY)
    number = None if stored.is_array else value_of(stored)
    return isinstance(number, int) and number > 0


def _compare_keys(part: Part, first: Part, found: Collector) -> None:
    """A later file may repeat keys of the first one; it should have no others."""
    own, others = part.metadata, first.metadata
    keys = [key for key in own if key not in OWN_KEYS]
    lacking = [key for key in keys if key not in others]
    if lacking:
        place = _key_place(part, lacking[0])
        found.add("GG0813", **place, file=part.file, count=len(lacking), key=lacking[0])
    for key in keys:
        if key in others and not _same(own.stored(key), others.stored(key)):
            found.add("GG0812", **_key_place(part, key), file=part.file, key=key)


def _same(one: Stored, other: Stored) -> bool:
    """Whether two values of one byte order are equal; of two orders nobody has to know."""
    if one.form.byte_order != other.form.byte_order:
        return True
    return (one.kind, one.is_array, one.bytes()) == (other.kind, other.is_array, other.bytes())


def _key_place(part: Part, key: str) -> dict[str, Any]:
    row = part.metadata.row(key)
    offset = part.scan.keys.value_offset[row]
    return {"shard": part.number, "offset": offset, "path": f"metadata[{row}].value"}


def _place(fault: Fault) -> dict[str, Any]:
    """File, offset and path of the key or tensor info that shows a fault."""
    part, row = fault.part, fault.tensor
    if row is not None:
        offset = part.scan.tensors.start[row]
        return {"shard": part.number, "offset": offset, "path": f"tensors[{row}]"}
    if fault.key in part.metadata:
        return _key_place(part, fault.key)
    return {"shard": part.number, "path": "metadata" if fault.key else ""}
