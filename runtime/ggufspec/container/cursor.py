"""What the two cursors have in common: the one in C and the one in Python give the same answers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cache
from typing import Protocol

from .findings import LeftOut, Raw

HEADER, METADATA, TENSORS = range(3)


class TypeSize(Protocol):
    """What the size of a tensor follows from; a removed type has no elements."""

    @property
    def id(self) -> int | None: ...
    @property
    def elements(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    @property
    def row_prefix(self) -> int: ...
    @property
    def tensor_suffix(self) -> int: ...


class Cursor(Protocol):
    """Walks a file's records from its first byte; a context manager, since C needs an address."""

    at: int  # the next byte to read
    version: int
    big_endian: bool
    stopped: bool  # nothing behind `at` can be found
    partial: array[int]  # the row of the record that could not be read to its end

    def __enter__(self) -> Cursor: ...
    def __exit__(self, *exception: object) -> None: ...
    def records(self, section: int, count: int) -> array[int]:
        """Rows (see COLUMNS of the tables) of the records that could be read, end to end."""

    def tiled(self, rows: array[int], alignment: int, room: int) -> bool:
        """Whether all tensors lie in order, without gaps and within `room` bytes."""

    def findings(self) -> tuple[list[Raw], LeftOut]:
        """What the walk found so far."""

    def index_strings(self, count: int) -> array[int] | None:
        """Where `count` strings from `at` start, and the end plus a length's bytes."""

    def index_arrays(self, count: int) -> array[int] | None:
        """Rows of element type, count, first byte and end of `count` arrays from `at`."""


def type_rows(types: Iterable[TypeSize] | None) -> tuple[tuple[int, int, int, int, int], ...]:
    """Rows of id, elements, bytes, row prefix, tensor suffix by rising id; None: ggml's types."""
    if types is not None:
        return _rows(types)
    from ..registry import types as known

    return _ggml_rows(len(known))


@cache
def _ggml_rows(_count: int) -> tuple[tuple[int, int, int, int, int], ...]:
    """The rows of all types that are known now, of which a user's own specification adds some."""
    from ..registry import types as known

    return _rows(kind.info for kind in known.values())


def _rows(types: Iterable[TypeSize]) -> tuple[tuple[int, int, int, int, int], ...]:
    rows = (
        (kind.id, kind.elements, kind.bytes, kind.row_prefix, kind.tensor_suffix)
        for kind in types
        if kind.id is not None
    )
    return tuple(sorted(rows))
