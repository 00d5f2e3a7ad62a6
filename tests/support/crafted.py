"""GGUF files made byte by byte, right ones and wrong ones, without the specification.

Every function returns bytes; a `Form` says in which version and byte order. Nothing is
checked: what a field claims and what follows it are separate arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

UINT8, INT8, UINT16, INT16, UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY = range(10)
UINT64, INT64, FLOAT64 = range(10, 13)
F32, F16, Q4_0, Q8_0, I8, I64 = 0, 1, 2, 8, 24, 27


class Form(NamedTuple):
    """How numbers are written."""

    version: int = 3
    order: Literal["little", "big"] = "little"

    def number(self, value: int, width: int) -> bytes:
        """An unsigned number, or a signed one if negative."""
        return value.to_bytes(width, self.order, signed=value < 0)

    def u32(self, value: int) -> bytes:
        """Four bytes."""
        return self.number(value, 4)

    def size(self, value: int) -> bytes:
        """A count, length or dimension: eight bytes, four in version 1."""
        return self.number(value, 4 if self.version == 1 else 8)

    def string(self, text: str | bytes, length: int | None = None) -> bytes:
        """A string; `length` claims another length than it has."""
        data = text.encode() if isinstance(text, str) else text
        return self.size(len(data) if length is None else length) + data

    def header(self, tensors: int, keys: int, version: int | None = None) -> bytes:
        """Magic, version and the two counts."""
        number = self.version if version is None else version
        return b"GGUF" + self.u32(number) + self.size(tensors) + self.size(keys)

    def pair(self, key: str | bytes, kind: int, payload: bytes) -> bytes:
        """A key-value pair whose value is `payload`."""
        return self.string(key) + self.u32(kind) + payload

    def array(self, kind: int, count: int, elements: bytes = b"") -> bytes:
        """The payload of an array."""
        return self.u32(kind) + self.size(count) + elements

    def tensor(
        self,
        name: str | bytes,
        dims: Sequence[int],
        kind: int = F32,
        offset: int = 0,
        n_dims: int | None = None,
    ) -> bytes:
        """A tensor info; `n_dims` claims another number of dimensions."""
        rank = self.u32(len(dims) if n_dims is None else n_dims)
        sizes = b"".join(self.size(dim) for dim in dims)
        return self.string(name) + rank + sizes + self.u32(kind) + self.number(offset, 8)


V3 = Form()


def padded(data: bytes, alignment: int = 32) -> bytes:
    """Zeros behind the data up to a multiple of the alignment."""
    return data + bytes(-len(data) % alignment)


def file(
    pairs: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: bytes = b"",
    alignment: int = 32,
    form: Form = V3,
) -> bytes:
    """A whole file; padded in front of the data when there are tensors."""
    head = form.header(len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    return padded(head, alignment) + data if tensors else head


ARCHITECTURE = V3.pair("general.architecture", STRING, V3.string("llama"))
