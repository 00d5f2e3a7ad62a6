"""The files that a job on sets writes: what stands in each, and where its bytes come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...container.layout import pad_up
from ...edits.draft import Stamp
from ...edits.moves import Move, spans_of
from ...edits.plain import Entry
from ...files.encode import Encoder, Piece
from ...generated.container import PADDING
from ..errors import ConversionError
from ..unchanged import unchanged

if TYPE_CHECKING:
    from ...files.part import Part
    from ...files.reader import File

ChangeKind = Literal["removed", "replaced", "taken", "places", "alignment", "padding", "bytes"]


@dataclass(frozen=True)
class Change:
    """Something that is not as it was in the source; `file` is the one it was in, or ""."""

    kind: ChangeKind
    text: str
    file: str = ""


@dataclass(frozen=True)
class Item:
    """A tensor to be written: row `row` of a file's tensor infos, `count` bytes at `start`.

    start: from the beginning of that file.
    """

    part: Part
    row: int
    start: int
    count: int

    @property
    def name(self) -> bytes:
        """Its name as stored."""
        columns = self.part.scan.tensors
        start = columns.name_offset[self.row]
        return bytes(self.part.source.view[start : start + columns.name_length[self.row]])

    def info(self, encoder: Encoder, offset: int) -> bytes:
        """Its record, for another place in a data section."""
        return b"".join(encoder.record("tensors", self.part.info_of(self.row, offset)))


@dataclass(frozen=True)
class FilePlan:
    """One file to be written.

    part: the file whose version, byte order and header it has. entries: its keys. alignment: of
    its data section. limit: bytes that were asked for at most, None without. padded: what stands
    in front of the data is, too if no tensor follows, as llama-gguf-split pads the files of a set.
    """

    path: Path
    part: Part
    entries: Mapping[str, Entry]
    items: tuple[Item, ...]
    alignment: int
    limit: int | None = None
    padded: bool = False

    def pieces(self) -> Iterator[Piece]:
        """All that stands in front of the data."""
        yield from head(self.part, self.entries, len(self.items))
        encoder = Encoder(self.part.form)
        for item, offset in zip(self.items, self._offsets, strict=True):
            yield item.info(encoder, offset)
        yield PADDING * self.padding

    @cached_property
    def front(self) -> int:
        """Bytes in front of the data; without tensors there need not be padding."""
        padded = self.items or self.padded
        return pad_up(self._end, self.alignment) if padded else self._end

    @property
    def padding(self) -> int:
        """How many of them are padding."""
        return self.front - self._end

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self.front + sum(pad_up(item.count, self.alignment) for item in self.items)

    @property
    def data(self) -> int:
        """Bytes of its tensors."""
        return sum(item.count for item in self.items)

    @property
    def over(self) -> int:
        """Bytes that it has more than were asked for."""
        return 0 if self.limit is None else max(0, self.size - self.limit)

    def moves(self) -> Iterator[tuple[Item, Move]]:
        """Each tensor, and where its data go."""
        for item, offset in zip(self.items, self._offsets, strict=True):
            yield item, Move(item.start, self.front + offset, item.count)

    @cached_property
    def _end(self) -> int:
        encoder = Encoder(self.part.form)
        records = sum(len(piece) for piece in head(self.part, self.entries, len(self.items)))
        return records + sum(len(item.info(encoder, 0)) for item in self.items)

    @cached_property
    def _offsets(self) -> tuple[int, ...]:
        offsets, offset = [], 0
        for item in self.items:
            offsets.append(offset)
            offset = pad_up(offset + item.count, self.alignment)
        return tuple(offsets)


@dataclass(frozen=True)
class SetPlan:
    """The files to be written, from which, and what is not as it was.

    stamps: of the files that are read, which must not have changed when the work is done.
    dialect: the one that the source is in, None for ggml's own types.
    """

    source: tuple[Part, ...]
    stamps: tuple[Stamp, ...]
    files: tuple[FilePlan, ...]
    changes: tuple[Change, ...]
    dialect: str | None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files that are read."""
        return tuple(Path(part.source.path) for part in self.source if part.source.path)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that are written, in order."""
        return tuple(file.path for file in self.files)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    @property
    def data(self) -> int:
        """Bytes of all tensors."""
        return sum(file.data for file in self.files)


def head(part: Part, entries: Mapping[str, Entry], tensors: int) -> Iterator[Piece]:
    """The header and the keys of a file in the form of `part`, with that many tensors."""
    encoder = Encoder(part.form)
    yield from encoder.record("header", part.header_of(len(entries), tensors))
    for key, entry in entries.items():
        yield from encoder.pair(key, entry, None)


def items_of(parts: Iterable[Part]) -> tuple[Item, ...]:
    """All tensors, in the order of the files and of the infos in them."""
    return tuple(
        Item(part, row, part.scan.data_offset + span.start, span.count)
        for part in parts
        for row, span in enumerate(spans_of(part))
    )


def stamps_of(source: File) -> tuple[Stamp, ...]:
    """Which files are read; ConversionError where the source is none."""
    if len(source.paths) != len(source.parts):
        raise ConversionError("the source is a buffer, not a file", "usage")
    with unchanged(source.parts):
        return tuple(Stamp.of(path.stat()) for path in source.paths)
