"""Importance matrices of the older form, `imatrix.dat`: numbers and names without a magic.

int32 entries, then for each: int32 length, name, int32 calls, int32 columns, float32 values.
Optionally at the end: int32 chunks, int32 length, name of the dataset. All in the byte order
of the machine that wrote it.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .entry import Entry, Floats
from .error import ImatrixError
from .matrix import Imatrix

_SMALLEST = 16
"""Bytes of an entry at least: three numbers and one value."""


def read_legacy(path: str, data: memoryview) -> Imatrix:
    """Read the matrix; ImatrixError for what the file holds."""
    cursor = _Cursor(data, path)
    count = cursor.number("the number of entries")
    if not 1 <= count <= cursor.left // _SMALLEST:
        raise cursor.error(f"{count} entries in {len(data)} bytes")
    entries = dict(_entry(cursor, number) for number in range(count))
    chunks = cursor.number("the number of chunks") if cursor.left else 0
    return Imatrix(path, _dataset(cursor), max(0, chunks), MappingProxyType(entries))


def _entry(cursor: _Cursor, number: int) -> tuple[str, Entry]:
    where = f"entry {number}"
    name = cursor.text(cursor.number(f"{where}: the length of its name"), f"{where}: its name")
    where = f"{where} ({name!r})"
    calls = cursor.number(f"{where}: its calls")
    columns = cursor.number(f"{where}: the number of its values")
    if columns < 1:
        raise cursor.error(f"{where} has {columns} values")
    values = cursor.floats(columns, f"{where}: its values")
    # The values are means times calls. Without calls llama-quantize takes them as they are.
    return name, Entry(values[None], np.array([max(1, calls)], np.int64))


def _dataset(cursor: _Cursor) -> tuple[str, ...]:
    if not cursor.left:
        return ()
    length = cursor.number("the length of the dataset's name")
    return (cursor.text(length, "the dataset's name"),) if length > 0 else ()


@dataclass
class _Cursor:
    """A place in the file; whatever reaches beyond its end is an ImatrixError."""

    data: memoryview
    path: str
    at: int = 0

    @property
    def left(self) -> int:
        """Bytes that follow."""
        return len(self.data) - self.at

    def number(self, what: str) -> int:
        """An int32."""
        value: int = struct.unpack("=i", self.take(4, what))[0]
        return value

    def text(self, length: int, what: str) -> str:
        """A string, up to a NUL if there is one."""
        data = bytes(self.take(length, what))
        return data.partition(b"\0")[0].decode(errors="surrogateescape")

    def floats(self, count: int, what: str) -> Floats:
        """A copy of float32 values, wherever they lie."""
        return np.array(np.frombuffer(self.take(4 * count, what), np.float32))

    def take(self, size: int, what: str) -> memoryview:
        """Bytes of the file, none of them copied."""
        if not 0 <= size <= self.left:
            raise self.error(f"{what}: {size} bytes, {self.left} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def error(self, what: str) -> ImatrixError:
        """What speaks against the file."""
        return ImatrixError(
            f"no importance matrix: neither a GGUF file nor the older form ({what})",
            file=self.path,
            hint="llama-imatrix writes both; a file of the older form has its machine's byte order",
        )
