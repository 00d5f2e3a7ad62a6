"""What stands in front of the tensors' data, with other metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from ..container.layout import pad_up
from ..files.arrays import Form, Stored, value_of
from ..files.encode import Encoder, name_bytes
from ..files.values import Value
from ..files.writer import checked_alignment
from ..generated.container import ALIGNMENT_DEFAULT, ALIGNMENT_KEY, PADDING
from .errors import EditError
from .plain import Entry, type_of

if TYPE_CHECKING:
    from ..files.encode import Piece
    from ..files.part import Part

_PIECE = 1 << 20  # bytes that are compared at once


@dataclass(frozen=True)
class Blanks:
    """The text of so many blanks, which is never in memory as a whole."""

    count: int

    def __len__(self) -> int:
        return self.count

    def pieces(self) -> Iterator[memoryview]:
        """Its bytes."""
        for start in range(0, self.count, len(_BLANKS)):
            yield _BLANKS[: self.count - start]


_BLANKS = memoryview(b" " * _PIECE)


@dataclass(frozen=True)
class Front:
    """The header, the keys with these values, and the infos of the file's tensors.

    offsets: where the tensors lie in the data section; None: where they did.
    """

    part: Part
    entries: Mapping[str, Entry]
    offsets: tuple[int, ...] | None = None

    def pieces(self) -> Iterator[Piece]:
        """Its bytes, up to the data section. EditError for a value that cannot be stored."""
        yield from self._records()
        yield PADDING * (self.size - self.end)

    @cached_property
    def end(self) -> int:
        """Bytes without the padding."""
        return sum(len(piece) for piece in self._records())

    @cached_property
    def size(self) -> int:
        """Bytes up to the data section; without tensors there is no padding."""
        return pad_up(self.end, self.alignment) if len(self.part.scan.tensors) else self.end

    @cached_property
    def alignment(self) -> int:
        """The alignment that the entries ask for."""
        entry = self.entries.get(ALIGNMENT_KEY)
        if entry is None:
            return ALIGNMENT_DEFAULT
        value = entry.value if isinstance(entry, Value) else value_of(entry)
        try:
            return checked_alignment(value, ALIGNMENT_KEY)
        except (TypeError, ValueError) as error:
            raise EditError(str(error), "usage", file="") from None

    def _records(self) -> Iterator[Piece]:
        encoder, scan = Encoder(self.part.form), self.part.scan
        header = self.part.header_of(len(self.entries), len(scan.tensors))
        yield from encoder.record("header", header)
        for key, entry in self.entries.items():
            yield from pair(encoder, key, entry)
        if self.offsets is None:
            view, starts = self.part.source.view, scan.tensors.start
            yield view[starts[0] : scan.metadata_end] if starts else b""
        else:
            for row, offset in enumerate(self.offsets):
                yield from encoder.record("tensors", self.part.info_of(row, offset))


def pair(encoder: Encoder, key: str, entry: Entry) -> Iterator[Piece]:
    """The record of a key; EditError where the version of the file cannot store it."""
    try:
        if isinstance(entry, Value) and isinstance(entry.value, Blanks):
            yield from _blank_pair(encoder, key, entry.value)
        else:
            yield from encoder.pair(key, entry, None)
    except (TypeError, ValueError) as error:
        raise EditError(str(error), "usage", file="") from None


def _blank_pair(encoder: Encoder, key: str, blanks: Blanks) -> Iterator[Piece]:
    layout = encoder.form.layout
    kind = next(kind for kind in layout.value_types if kind.kind == "string")
    length = encoder.number(len(blanks), layout.string_length, "the length of a string")

    def payload() -> Iterator[Piece]:
        yield length
        yield from blanks.pieces()

    return encoder.record("metadata", {"key": name_bytes(key), "value": (kind.id, payload)})


def same(form: Form, key: str, first: Entry | None, second: Entry | None) -> bool:
    """Whether two values of a key are the same, type and bits; form: that of the bits."""
    if first is second:
        return True
    if first is None or second is None or type_of(first) != type_of(second):
        return False
    if isinstance(first, Stored) and isinstance(second, Stored) and first.form == second.form:
        return _same_stored(first, second)
    encoder = Encoder(form)
    return _digest(encoder, key, first) == _digest(encoder, key, second)


def _same_stored(first: Stored, second: Stored) -> bool:
    """Whether two values of one type lie in files of one form with the same bytes."""
    if (first.count, dict(first.extra)) != (second.count, dict(second.extra)):
        return False
    mine, theirs = first.bytes(), second.bytes()
    if len(mine) != len(theirs):
        return False
    cuts = range(0, len(mine), _PIECE)
    return all(bytes(mine[at : at + _PIECE]) == bytes(theirs[at : at + _PIECE]) for at in cuts)


def _digest(encoder: Encoder, key: str, entry: Entry) -> bytes:
    """What stands for the bytes of a value, which may be many."""
    extra = isinstance(entry, Stored) and dict(entry.extra)
    digest = sha256(repr(extra or {}).encode())
    for piece in pair(encoder, key, entry):
        digest.update(piece)
    return digest.digest()
