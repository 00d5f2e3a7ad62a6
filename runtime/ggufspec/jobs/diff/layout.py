"""What two files lay out differently, though the model may be the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...container.layout import pad_up
from ...edits.changes import first_moved
from ...edits.filler import KEY as FILLER

if TYPE_CHECKING:
    from ...files.part import Part
    from ...files.reader import File
    from ...files.tensor import Tensor

_PIECE = 1 << 20

Tensors = Mapping[str, "Tensor"]


@dataclass(frozen=True)
class Fact:
    """A property of the files as such, in which they differ."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True)
class Run:
    """Bytes of a file that belong to nothing; `tail`: behind all that there is."""

    part: Part
    start: int
    stop: int
    tail: bool = False

    @property
    def count(self) -> int:
        """How many there are."""
        return self.stop - self.start

    def other(self) -> int:
        """How many are not zero."""
        cuts = range(self.start, self.stop, _PIECE)
        pieces = (bytes(self.part.source.read(at, min(_PIECE, self.stop - at))) for at in cuts)
        return sum(len(piece) - piece.count(0) for piece in pieces)


def facts(first: File, second: File, tensors: tuple[Tensors, Tensors]) -> list[Fact]:
    """The properties that differ; tensors: those of both files."""
    mine, theirs = _properties(first, tensors[0]), _properties(second, tensors[1])
    found = [
        Fact(name, mine.get(name), theirs.get(name))
        for name in dict.fromkeys([*mine, *theirs])
        if mine.get(name) != theirs.get(name)
    ]
    for what, before, after in (
        ("order of keys", first.metadata, second.metadata),
        ("order of tensors", *tensors),
    ):
        moved = first_moved(before, after)
        if moved is not None:
            found.append(Fact(what, *moved))
    return [*found, *_places(tensors, in_files=len(first.parts) == len(second.parts))]


def _properties(file: File, tensors: Tensors) -> dict[str, Any]:
    runs = [run for part in file.parts for run in unused(part, tensors)]
    padding = [run for run in runs if not run.tail]
    return {
        "version": file.version,
        "byte order": file.byte_order,
        "alignment": file.alignment,
        "dialect": file.dialect,
        "files": len(file.parts),
        "bytes": file.size,
        **_unknown_fields(file.parts[0]),
        f"blanks under {FILLER}": _blanks(file),
        "bytes of padding": sum(run.count for run in padding),
        "padding bytes that are not zero": sum(run.other() for run in padding),
        "bytes behind the data": sum(run.count for run in runs if run.tail),
    }


def _unknown_fields(part: Part) -> dict[str, Any]:
    """Header fields that mean nothing yet."""
    fields = part.form.layout.sections[0]
    known = {"version", *(field.name for field in fields if field.counts)}
    header = part.scan.header.items()
    return {f"header field {name}": value for name, value in header if name not in known}


def _blanks(file: File) -> int | None:
    if FILLER not in file.metadata:
        return None
    stored = file.metadata.stored(FILLER)
    return stored.end - stored.offset


def unused(part: Part, tensors: Tensors) -> Iterator[Run]:
    """The bytes of a file that belong to nothing, in their order."""
    scan = part.scan
    size = scan.file_size
    start = min(scan.data_offset, size)
    if scan.metadata_end < start:
        yield Run(part, scan.metadata_end, start)
    own = sorted(
        (tensor.file_offset, tensor.nbytes) for tensor in tensors.values() if tensor.part is part
    )
    end = start
    for offset, nbytes in own:
        if offset > end:
            yield Run(part, end, offset)
        end = max(end, offset + nbytes)
    padded = min(start + pad_up(end - start, scan.alignment), size) if own else end
    if end < padded:
        yield Run(part, end, padded)
    if padded < size:
        yield Run(part, padded, size, tail=True)


def _places(tensors: tuple[Tensors, Tensors], *, in_files: bool) -> Iterator[Fact]:
    """How many tensors lie elsewhere, or have another number for their type.

    in_files: whether both are of as many files, so that places can be compared.
    """
    mine, theirs = tensors
    both = [(mine[name], theirs[name]) for name in mine if name in theirs]
    moved = [pair for pair in both if pair[0].offset != pair[1].offset]
    if moved and in_files:
        yield _fact("offset", moved, "offset")
    other = [pair for pair in both if pair[0].shard != pair[1].shard]
    if other and in_files:
        yield _fact("file of the set", other, "shard")
    renumbered = [
        pair for pair in both if pair[0].type == pair[1].type and pair[0].type_id != pair[1].type_id
    ]
    if renumbered:
        yield _fact("number of the type", renumbered, "type_id")


def _fact(what: str, pairs: Sequence[tuple[Tensor, Tensor]], field: str) -> Fact:
    before, after = pairs[0]
    more = f" and {len(pairs) - 1:,} more" if len(pairs) > 1 else ""
    name = f"{what} of tensor {before.name}{more}"
    return Fact(name, getattr(before, field), getattr(after, field))
