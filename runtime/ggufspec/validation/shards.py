"""Split sets: all files that stand under the names of one, and what tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files.metadata import Metadata
from ..files.part import Part
from ..files.shard_names import shard_name
from ..files.shards import Fault, belonging, gather, own_name, stated_count
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


def set_of(part: Part, load: Callable[[Path], Part]) -> FileSet:
    """The set that a file is of; load opens another file of it."""
    count = stated_count(part, Metadata(part.source, part.scan))
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


def _place(fault: Fault) -> dict[str, Any]:
    """File, offset and path of the key or tensor info that shows a fault."""
    scan = fault.part.scan
    place: dict[str, Any] = {"shard": fault.part.number}
    if fault.tensor is not None:
        place |= {"offset": scan.tensors.start[fault.tensor], "path": f"tensors[{fault.tensor}]"}
    elif fault.key in (metadata := Metadata(fault.part.source, scan)):
        row = metadata.row(fault.key)
        place |= {"offset": scan.keys.value_offset[row], "path": f"metadata[{row}].value"}
    else:
        place["path"] = "metadata" if fault.key else ""
    return place
