"""Values as they lie in a file, and what Python sees of them: arrays are decoded on demand."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .. import native
from ..container.scan import ByteOrder, index_arrays, index_strings
from ..generated.container import LAYOUTS, Layout, ValueType
from .source import Source

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray

T = TypeVar("T")

_FLOATS = {2: "e", 4: "f", 8: "d"}
_DTYPES = {"uint": "u", "int": "i", "float": "f"}
_TOGETHER = 1 << 14  # strings decoded at a time: enough to be fast, little to keep


@dataclass(frozen=True)
class Form:
    """How numbers and lengths are written: container version and byte order."""

    version: int
    byte_order: ByteOrder

    @property
    def layout(self) -> Layout:
        """The tables of the version."""
        return LAYOUTS[self.version]


@dataclass(frozen=True)
class Stored:
    """A value as it lies in a file.

    `kind` is its value type, or that of its elements if `is_array`; `count` the number of
    elements (1 for scalars and strings). It fills the file's bytes from `offset` to `end`,
    without the length, count and type in front of it. `extra` holds fields of its record that
    only newer versions of the container have.
    """

    source: Source
    form: Form
    kind: ValueType
    is_array: bool
    count: int
    offset: int
    end: int
    extra: Mapping[str, int] = field(default_factory=dict)

    def bytes(self) -> memoryview:
        """Its bytes in the file's own form."""
        return self.source.view[self.offset : self.end]


class Lazy(Sequence[T], Generic[T]):
    """An array in a file, read-only; equal to any sequence with equal elements."""

    __slots__ = ("stored",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, stored: Stored) -> None:
        self.stored = stored

    def __len__(self) -> int:
        return self.stored.count

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            numbers = range(*index.indices(len(self)))
            if numbers.step == 1:
                return self._some(numbers.start, max(numbers.start, numbers.stop))
            return [self._one(number) for number in numbers]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"index {index} of an array of {len(self)}")
        return self._one(number)

    def __iter__(self) -> Iterator[T]:
        for first in range(0, len(self), _TOGETHER):
            yield from self._some(first, min(first + _TOGETHER, len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = [repr(item) for item in self[:3]] + ["..."] * (len(self) > 3)
        return f"<{self.type} of {len(self)}: {', '.join(shown)}>"

    @property
    def type(self) -> str:
        """The array's value type: `ARRAY[STRING]`."""
        return f"ARRAY[{self.stored.kind.name}]"

    def _one(self, number: int) -> T:
        return self._some(number, number + 1)[0]

    def _some(self, first: int, last: int) -> list[T]:
        raise NotImplementedError


class StringArray(Lazy["str | bytes"]):
    """Strings: str, or bytes where they are not UTF-8."""

    __slots__ = ("_index",)

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored)
        self._index: array[int] | None = None

    def raw(self, number: int) -> memoryview:
        """The bytes of string `number`, counted from 0."""
        index = self._offsets()
        return self.stored.source.view[index[number] : index[number + 1] - self._width]

    def ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The bytes of the file at which each string starts, and ends."""
        import numpy as np

        index = np.frombuffer(self._offsets(), np.uint64).astype(np.int64)
        return index[:-1], index[1:] - self._width

    @property
    def _width(self) -> int:
        return self.stored.form.layout.string_length

    def _offsets(self) -> array[int]:
        if self._index is None:
            stored = self.stored
            self._index = index_strings(
                stored.source.view,
                stored.offset,
                stored.count,
                version=stored.form.version,
                byte_order=stored.form.byte_order,
            )
        return self._index

    def _one(self, number: int) -> str | bytes:
        return text_of(self.raw(number))

    def _some(self, first: int, last: int) -> list[str | bytes]:
        return self._joined(first, last) or [self._one(n) for n in range(first, last)]

    def _joined(self, first: int, last: int) -> list[str | bytes] | None:
        """Some strings by one decode and one split; None where that is not exact."""
        library = native.lib()
        if library is None or first == last:
            return None
        index, count = self._offsets(), last - first
        block = bytes(self.stored.source.view[index[first] : index[last] - self._width])
        joined = bytearray(index[last] - index[first] - count * (self._width - 1))
        library.ggufspec_join_strings(
            block,
            (ctypes.c_uint64 * (count + 1)).from_buffer(index, first * index.itemsize),
            ctypes.c_uint64(count),
            ctypes.c_uint64(self._width),
            (ctypes.c_char * len(joined)).from_buffer(joined),
        )
        try:
            parts = joined.decode().split("\0")
        except UnicodeDecodeError:
            return None
        return list(parts[:-1]) if len(parts) == count + 1 else None


class NestedArray(Lazy[Any]):
    """Arrays: each element is what an array of its type is."""

    __slots__ = ("_columns",)
    __hash__ = None

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored)
        self._columns: Any = None

    @property
    def type(self) -> str:
        """`ARRAY[ARRAY[INT32]]`, or `ARRAY[ARRAY]` where the elements' types differ."""
        inner = {array_type(self.inner(number)) for number in range(len(self))}
        return f"ARRAY[{inner.pop() if len(inner) == 1 else self.stored.kind.name}]"

    def inner(self, number: int) -> Stored:
        """Element `number` as it lies in the file."""
        if self._columns is None:
            stored = self.stored
            self._columns = index_arrays(
                stored.source.view,
                stored.offset,
                stored.count,
                version=stored.form.version,
                byte_order=stored.form.byte_order,
            )
        row = self._columns
        return Stored(
            self.stored.source,
            self.stored.form,
            value_type(self.stored.form.version, row.element_type[number]),
            True,
            row.count[number],
            row.value_offset[number],
            row.value_end[number],
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return bool(_nested_list(self) == _nested_list(other))

    def _some(self, first: int, last: int) -> list[Any]:
        return [value_of(self.inner(number)) for number in range(first, last)]


class NumberArray(Lazy[Any]):
    """Numbers of a width that NumPy does not know."""

    __slots__ = ()

    def _some(self, first: int, last: int) -> list[Any]:
        stored, width = self.stored, self.stored.kind.bytes
        data = stored.bytes()
        return [
            _scalar(stored.kind, data[n * width : (n + 1) * width], stored.form.byte_order)
            for n in range(first, last)
        ]


@cache
def value_type(version: int, number: int) -> ValueType:
    """The value type with id `number` in a container version."""
    return next(kind for kind in LAYOUTS[version].value_types if kind.id == number)


def name_of(raw: memoryview) -> str:
    """A key or tensor name as str, reversibly."""
    return str(raw, "utf-8", "surrogateescape")


def text_of(raw: memoryview) -> str | bytes:
    """A string value: str, or bytes if it is not UTF-8."""
    try:
        return str(raw, "utf-8")
    except UnicodeDecodeError:
        return bytes(raw)


def value_of(stored: Stored) -> Any:
    """The Python value, arrays lazily."""
    if not stored.is_array:
        data = stored.bytes()
        return text_of(data) if stored.kind.kind == "string" else _number(stored, data)
    match stored.kind.kind:
        case "string":
            return StringArray(stored)
        case "array":
            return NestedArray(stored)
        case _:
            dtype = dtype_of(stored.kind, stored.form.byte_order)
            return NumberArray(stored) if dtype is None else _ndarray(stored, dtype)


def dtype_of(kind: ValueType, byte_order: ByteOrder) -> str | None:
    """The NumPy dtype of a number as stored (a bool's is of its bytes), None if there is none."""
    letter = "u" if kind.kind == "bool" else _DTYPES[kind.kind]
    known = _FLOATS if letter == "f" else (1, 2, 4, 8)
    if kind.bytes not in known:
        return None
    return f"{'<' if byte_order == 'little' else '>'}{letter}{kind.bytes}"


def float_code(kind: ValueType, byte_order: ByteOrder) -> str:
    """The struct format of a float."""
    return ("<" if byte_order == "little" else ">") + _FLOATS[kind.bytes]


def _nested_list(values: Any) -> Any:
    """Arrays of any kind as lists, which compare without NumPy's broadcasting."""
    if hasattr(values, "tolist"):
        return values.tolist()
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return [_nested_list(item) for item in values]
    return values


def array_type(stored: Stored) -> str:
    """The value type of a stored array."""
    if stored.kind.kind == "array":
        return NestedArray(stored).type
    return f"ARRAY[{stored.kind.name}]"


def _number(stored: Stored, data: memoryview) -> bool | int | float:
    return _scalar(stored.kind, data, stored.form.byte_order)


def _scalar(kind: ValueType, data: memoryview, byte_order: ByteOrder) -> bool | int | float:
    if kind.kind == "bool":
        return any(data)
    if kind.kind == "float":
        value: float = struct.unpack(float_code(kind, byte_order), data)[0]
        return value
    return int.from_bytes(data, byte_order, signed=kind.kind == "int")


def _ndarray(stored: Stored, dtype: str) -> Any:
    import numpy as np

    values = np.frombuffer(stored.bytes(), dtype)
    if stored.kind.kind == "bool":
        values = values != 0
    elif stored.kind.bytes > 1 and stored.form.byte_order != sys.byteorder:
        values = values.astype(values.dtype.newbyteorder("="))
    values.flags.writeable = False
    return values
