"""What a scan keeps of each record: plain columns of numbers, no object a key or tensor."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, fields

from ..generated import container as tables
from .cursor import METADATA, TENSORS

Column = array  # of one number a record: typecode Q, or q where it says so


@dataclass(frozen=True)
class KeyColumns:
    """One row a key-value pair, in file order. Offsets and ends are file offsets in bytes.

    `count` is 1 for scalars and strings, the number of elements for arrays;
    `element_type` is the value type's id again for scalars and strings.
    `value_offset` is the first byte of a scalar, of a string's text (behind its length)
    or of an array's first element; `value_end` the byte behind the value.
    """

    start: Column[int]
    key_offset: Column[int]
    key_length: Column[int]
    value_type: Column[int]
    element_type: Column[int]
    count: Column[int]
    value_offset: Column[int]
    value_end: Column[int]
    extra: Mapping[str, Column[int]]  # fields of newer versions, by name

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class TensorColumns:
    """One row a tensor, in file order. `offset` counts from the data section.

    `dims` has one column an axis, fastest axis first; it holds 1 beyond `n_dims`.
    `nbytes` (typecode q) is -1 for an unknown or removed type, a row that the block
    does not divide, and sizes beyond 2**63-1.
    """

    start: Column[int]
    name_offset: Column[int]
    name_length: Column[int]
    n_dims: Column[int]
    dims: tuple[Column[int], ...]
    type: Column[int]
    offset: Column[int]
    nbytes: Column[int]
    extra: Mapping[str, Column[int]]

    def __len__(self) -> int:
        return len(self.start)

    def dims_of(self, index: int) -> tuple[int, ...]:
        """The tensor's dimensions as stored: fastest axis first, `n_dims` of them."""
        return tuple(column[index] for column in self.dims[: self.n_dims[index]])


@dataclass(frozen=True)
class ArrayColumns:
    """One row an inner array: its element type, count, first byte and end (file offsets)."""

    element_type: Column[int]
    count: Column[int]
    value_offset: Column[int]
    value_end: Column[int]


def split_rows(section: int, rows: Column[int]) -> dict[str, Column[int]]:
    """The columns of rows that lie end to end, by name."""
    names = tables.COLUMNS[section]
    return {name: rows[column :: len(names)] for column, name in enumerate(names)}


def key_columns(rows: Column[int]) -> KeyColumns:
    """Columns of the metadata section."""
    columns = split_rows(METADATA, rows)
    known = {field.name: columns.pop(field.name) for field in fields(KeyColumns)[:-1]}
    return KeyColumns(**known, extra=columns)


def tensor_columns(rows: Column[int]) -> TensorColumns:
    """Columns of the tensor infos."""
    columns = split_rows(TENSORS, rows)
    dims = tuple(columns.pop(f"dims_{axis}") for axis in range(tables.MOST_DIMS))
    nbytes = array("q", columns.pop("nbytes").tobytes())  # the same bits: -1 where unknown
    names = [field.name for field in fields(TensorColumns) if field.name in columns]
    known = {name: columns.pop(name) for name in names}
    return TensorColumns(**known, dims=dims, nbytes=nbytes, extra=columns)
