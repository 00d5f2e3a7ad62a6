"""Container files made byte by byte from values, with their content as JSON beside them."""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from support.crafted import Form, padded

from . import blocks
from .storage import Kind, Row


class ValueType(NamedTuple):
    """A value type as spec/container/values.yaml has it."""

    id: int
    kind: str
    bytes: int = 0
    since: int = 1


@cache
def value_types(spec: Path) -> Mapping[str, ValueType]:
    """Every value type by name, straight from the YAML."""
    entries = yaml.safe_load((spec / "container/values.yaml").read_text(encoding="utf-8"))
    return {name: ValueType(**entry) for name, entry in entries.items()}


class Array(NamedTuple):
    """An array of values of a type; arrays in it are `Array`s."""

    element: str
    items: Sequence[Any]


class Bits(NamedTuple):
    """A float given by its bits."""

    raw: int


class Tensor(NamedTuple):
    """A tensor to be; `dims` has the fastest axis first.

    `nbytes` is what a reader should say of it, None where nobody knows; `row` and `kind` give the
    elements of one that can be decoded; `offset` claims another place than the next free one.
    """

    name: bytes
    dims: Sequence[int]
    type: int
    data: bytes
    nbytes: int | None
    kind: Kind | None = None
    row: Row | None = None
    offset: int | None = None


@dataclass
class Content:
    """What is in a file, in the order of the file."""

    spec: Path
    form: Form
    pairs: list[tuple[bytes, str, Any]] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    alignment: int = 32

    def add(self, key: str | bytes, kind: str, value: Any) -> None:
        """Add a pair."""
        self.pairs.append((key.encode() if isinstance(key, str) else key, kind, value))

    def types(self) -> Mapping[str, ValueType]:
        """The value types of the file's version."""
        every = value_types(self.spec)
        return {name: t for name, t in every.items() if t.since <= self.form.version}

    def front(self, offsets: Sequence[int]) -> bytes:
        """Header, keys and tensor infos."""
        made = self.form.header(len(self.tensors), len(self.pairs))
        for key, kind, value in self.pairs:
            made += self.form.pair(key, self.types()[kind].id, self._value(kind, value))
        for tensor, offset in zip(self.tensors, offsets, strict=True):
            made += self.form.tensor(tensor.name, tensor.dims, tensor.type, offset)
        return made

    def offsets(self) -> list[int]:
        """Where each tensor says that it is."""
        found, free = [], 0
        for tensor in self.tensors:
            start = free if tensor.offset is None else tensor.offset
            found.append(start)
            free = max(free, start + len(tensor.data))
            free += -free % self.alignment
        return found

    def file(self, *, last_padding: bool = True) -> bytes:
        """The whole file."""
        return self._assembled(self.offsets(), last_padding=last_padding)

    def canonical(self) -> bytes:
        """The file that a writer makes of it: tensors in their order, no gaps, padded."""
        offsets, free = [], 0
        for tensor in self.tensors:
            offsets.append(free)
            free += len(tensor.data) + -len(tensor.data) % self.alignment
        return self._assembled(offsets, last_padding=True)

    def data_offset(self) -> int:
        """Where the data section starts."""
        front = self.front(self.offsets())
        return len(padded(front, self.alignment)) if self.tensors else len(front)

    def _assembled(self, offsets: Sequence[int], *, last_padding: bool) -> bytes:
        front = self.front(offsets)
        if not self.tensors:
            return front
        data = bytearray()
        for tensor, offset in zip(self.tensors, offsets, strict=True):
            data.extend(bytes(max(0, offset + len(tensor.data) - len(data))))
            data[offset : offset + len(tensor.data)] = tensor.data
        made = padded(front, self.alignment) + data
        return padded(made, self.alignment) if last_padding else made

    def _value(self, name: str, value: Any) -> bytes:
        kind = self.types()[name]
        if kind.kind == "array":
            element = self.types()[value.element]
            inner = b"".join(self._value(value.element, item) for item in value.items)
            return self.form.array(element.id, len(value.items), inner)
        if kind.kind == "string":
            return self.form.string(value)
        if kind.kind == "float":
            return self.form.number(_float_bits(value, kind.bytes), kind.bytes)
        return self.form.number(int(value), kind.bytes)

    # ---- as JSON

    def json(self) -> dict[str, Any]:
        """The expected content."""
        offsets = self.offsets()
        return {
            "version": self.form.version,
            "byte_order": self.form.order,
            "alignment": self.alignment,
            "data_offset": self.data_offset(),
            "metadata": [
                {"key": text(key), "type": kind, **self._json(kind, value)}
                for key, kind, value in self.pairs
            ],
            "tensors": [
                self._tensor_json(tensor, offset)
                for tensor, offset in zip(self.tensors, offsets, strict=True)
            ],
        }

    def _json(self, name: str, value: Any) -> dict[str, Any]:
        if name == "ARRAY":
            items = [self._json(value.element, item) for item in value.items]
            short = [item["value"] for item in items] if value.element != "ARRAY" else items
            return {"element": value.element, "value": short}
        kind = self.types()[name]
        if kind.kind == "string":
            return {"value": text(value)}
        if kind.kind == "bool":
            return {"value": bool(value)}
        if kind.kind == "float":
            return {"value": float_text(_float_bits(value, kind.bytes), kind.bytes)}
        return {"value": int(value)}

    def _tensor_json(self, tensor: Tensor, offset: int) -> dict[str, Any]:
        found = {
            "name": text(tensor.name),
            "type": tensor.type,
            "dims": list(tensor.dims),
            "offset": offset,
            "nbytes": tensor.nbytes,
        }
        if tensor.kind is not None and tensor.row is not None:
            row = tensor.kind.swapped(tensor.row) if self.form.order == "big" else tensor.row
            values = blocks.elements(tensor.kind, row, self.form.order)
            found["x"] = " ".join(blocks.bits(values))
        return found


def tensor_of(kind: Kind, name: str, dims: Sequence[int], row: Row, order: str) -> Tensor:
    """A tensor that holds these blocks, little-endian as given, in the byte order of the file."""
    stored = kind.swapped(row) if order == "big" else row
    data = stored.data + stored.suffix
    assert kind.number is not None
    return Tensor(name.encode(), dims, kind.number, data, len(data), kind, row)


def text(data: bytes | str) -> str | dict[str, str]:
    """A string for JSON; bytes that are not UTF-8 as {"base64": ...}."""
    raw = data.encode() if isinstance(data, str) else data
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}


def float_text(raw: int, width: int) -> str:
    """The bits of a float as hexadecimal digits, every NaN as nan."""
    fraction = (1 << {4: 23, 8: 52}[width]) - 1
    infinity = (1 << 8 * width - 1) - 1 - fraction
    if raw & infinity == infinity and raw & fraction:
        return "nan"
    return f"{raw:0{2 * width}x}"


def _float_bits(value: float | Bits, width: int) -> int:
    if isinstance(value, Bits):
        return value.raw
    if math.isnan(value):
        return {4: 0x7FC00000, 8: 0x7FF8000000000000}[width]
    return int.from_bytes(struct.pack({4: "<f", 8: "<d"}[width], value), "little")
