"""Values to bytes, by the tables of the container version that is written."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..generated.container import DEEPEST, SECTIONS, Field, ValueType
from .arrays import Form, Lazy, NestedArray, Stored, StringArray, dtype_of, float_code
from .values import Value, array_element, known_key, typed

Piece = bytes | bytearray | memoryview
Payload = Callable[[], Iterable[Piece]]

_PIECE = 1 << 20  # bytes of small pieces gathered before they are handed on


class Encoder:
    """Writes records and values in one version and byte order."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self._layout = form.layout
        self._types = {kind.name: kind for kind in form.layout.value_types}

    def record(self, section: str, values: Mapping[str, Any]) -> Iterator[Piece]:
        """The fields of a record in their order.

        values: by field name an int, a sequence of ints where the field repeats, the bytes
        of a string, or (value type, payload). A field that is not among them is 0.
        """
        for field in self._layout.sections[SECTIONS.index(section)]:
            yield from self._field(field, values)

    def value(self, key: str, value: Value) -> tuple[ValueType, Payload]:
        """The type of a value and what makes its bytes; ValueError names the key."""
        inner = array_element(value.type)
        if inner is not None:
            elements = value.value
            return self._type(key, "ARRAY"), lambda: self._array(key, inner, elements, 0)
        kind = self._type(key, value.type)
        data = self._one(key, kind, value.value)
        return kind, lambda: (data,)

    def stored(self, key: str, value: Stored) -> tuple[ValueType, Payload]:
        """The same for a value of an opened file, whose bits it keeps."""
        if value.is_array:
            return self._type(key, "ARRAY"), lambda: self._stored_array(key, value, 0)
        kind = self._type(key, value.kind.name)
        if kind.kind == "string":
            return kind, lambda: (self._length(value.end - value.offset), value.bytes())
        return kind, lambda: self._stored_numbers(value)

    def pair(self, key: str, value: Any, architecture: str | None) -> Iterator[Piece]:
        """The record of a key and its value: `Stored`, `Value` or a plain one."""
        if not isinstance(key, str):
            raise TypeError(f"a key is str, not {type(key).__name__} ({key!r:.60})")
        if not key:
            raise ValueError("a key is empty")
        if isinstance(value, Stored):
            kind, payload = self.stored(key, value)
            extra = value.extra
        else:
            kind, payload = self.value(key, typed(key, value, known_key(key, architecture)))
            extra = {}
        fields = {**extra, "key": name_bytes(key), "value": (kind.id, payload)}
        return self.record("metadata", fields)

    def number(self, value: int, width: int, name: str) -> bytes:
        """An unsigned number; ValueError if it does not fit."""
        try:
            return value.to_bytes(width, self.form.byte_order)
        except OverflowError:
            raise ValueError(
                f"{name} is {value}, version {self.form.version} has {width} bytes for it"
            ) from None

    def _field(self, field: Field, values: Mapping[str, Any]) -> Iterator[Piece]:
        value = values.get(field.name, () if field.repeat >= 0 else 0)
        if field.repeat >= 0 and len(value) > field.most:
            raise ValueError(f"{len(value)} {field.name}, at most {field.most} can be stored")
        if field.kind == "literal":
            yield field.literal
        elif field.kind == "version":
            yield self.number(self.form.version, field.width, field.name)
        elif field.kind == "string":
            yield self.number(len(value), field.width, field.name)
            yield value
        elif field.kind == "value":
            number, payload = value
            yield self.number(number, field.width, field.name)
            yield from payload()
        else:
            for item in value if field.repeat >= 0 else (value,):
                yield self.number(item, field.width, field.name)

    def _type(self, key: str, name: str) -> ValueType:
        kind = self._types.get(name)
        if kind is None:
            known = ", ".join(self._types)
            raise ValueError(
                f"{key}: version {self.form.version} has no value type {name!r}; it has {known}"
            )
        return kind

    def _length(self, count: int) -> bytes:
        return self.number(count, self._layout.string_length, "the length of a string")

    def _string(self, key: str, value: Any) -> bytes:
        if isinstance(value, str):
            try:
                value = value.encode()
            except UnicodeEncodeError:
                raise ValueError(
                    f"{key} holds a lone surrogate: {value!r:.60}; give such text as bytes"
                ) from None
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise _wrong(key, "STRING", value)
        return self._length(len(value)) + bytes(value)

    def _one(self, key: str, kind: ValueType, value: Any) -> bytes:
        if kind.kind == "string":
            return self._string(key, value)
        return self._scalar(key, kind, value)

    def _scalar(self, key: str, kind: ValueType, value: Any) -> bytes:
        order, is_bool = self.form.byte_order, type(value).__name__ in ("bool", "bool_")
        if kind.kind == "bool" and is_bool:
            return int(value).to_bytes(kind.bytes, order)
        if kind.kind in ("uint", "int") and not is_bool and hasattr(value, "__index__"):
            try:
                return int(value).to_bytes(kind.bytes, order, signed=kind.kind == "int")
            except OverflowError:
                raise ValueError(f"{key} is {kind.name}, which cannot hold {value}") from None
        if kind.kind == "float" and not is_bool and hasattr(value, "__float__"):
            try:
                return struct.pack(float_code(kind, order), value)
            except (OverflowError, struct.error):
                raise ValueError(f"{key} is {kind.name}, which cannot hold {value}") from None
        raise _wrong(key, kind.name, value)

    def _head(self, kind: ValueType, count: int) -> bytes:
        numbers = {"element_type": kind.id, "count": count}
        return b"".join(self.number(numbers[n], width, n) for n, width in self._layout.array)

    def _array(self, key: str, inner: str, value: Any, depth: int) -> Iterator[Piece]:
        _check_depth(key, depth)
        if not (_is_sequence(value) or (inner == "UINT8" and isinstance(value, bytes))):
            raise _wrong(key, f"ARRAY[{inner}]" if inner else "ARRAY", value)
        if not inner:
            own = typed(key, value)
            inner, value = array_element(own.type) or "", own.value
        nested = array_element(inner)
        kind = self._type(key, inner if nested is None else "ARRAY")
        if isinstance(value, Lazy) and value.stored.kind.name == kind.name:
            yield from self._stored_array(key, value.stored, depth)
            return
        yield self._head(kind, len(value))
        if nested is not None:
            for item in value:
                item_type, item_value = _inner(nested, item)
                yield from self._array(key, item_type, item_value, depth + 1)
        elif hasattr(value, "dtype"):
            yield from self._ndarray(key, kind, value)
        else:
            yield from _gathered(self._one(key, kind, item) for item in value)

    def _ndarray(self, key: str, kind: ValueType, value: Any) -> Iterator[Piece]:
        if value.ndim != 1:
            raise ValueError(f"{key} has shape {value.shape}; ARRAY[{kind.name}] has one axis")
        letter = "b" if kind.kind == "bool" else {"uint": "u", "int": "i"}.get(kind.kind, "f")
        if value.dtype.str[1:] == f"{letter}{kind.bytes}":
            yield value.astype(dtype_of(kind, self.form.byte_order)).tobytes()
        else:
            yield from _gathered(self._one(key, kind, item) for item in value.tolist())

    def _stored_array(self, key: str, value: Stored, depth: int) -> Iterator[Piece]:
        _check_depth(key, depth)
        kind = self._type(key, value.kind.name)
        yield self._head(kind, value.count)
        if kind.kind == "array":
            nested = NestedArray(value)
            for number in range(value.count):
                yield from self._stored_array(key, nested.inner(number), depth + 1)
        elif kind.kind != "string":
            yield from self._stored_numbers(value)
        elif value.form.layout.string_length == self._layout.string_length:
            yield from self._same_strings(value)
        else:
            strings = StringArray(value)
            raw = (strings.raw(number) for number in range(value.count))
            yield from _gathered(self._length(len(text)) + bytes(text) for text in raw)

    def _same_strings(self, value: Stored) -> Iterator[Piece]:
        """Strings whose lengths are as wide here as there."""
        if value.form.byte_order == self.form.byte_order:
            yield value.bytes()
            return
        import numpy as np

        starts, _ = StringArray(value).ends()
        data, width = np.frombuffer(value.bytes(), np.uint8), self._layout.string_length
        turned, lengths = data.copy(), starts - (value.offset + width)
        for byte in range(width):
            turned[lengths + byte] = data[lengths + width - 1 - byte]
        yield turned.data

    def _stored_numbers(self, value: Stored) -> Iterator[Piece]:
        data, width = value.bytes(), value.kind.bytes
        if value.form.byte_order == self.form.byte_order or width == 1:
            yield data
        elif len(data) == width:
            yield bytes(data)[::-1]
        else:
            import numpy as np

            yield np.frombuffer(data, np.uint8).reshape(-1, width)[:, ::-1].tobytes()


def name_bytes(name: str) -> bytes:
    """A key or tensor name as stored."""
    try:
        return name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise ValueError(f"the name {name!r} holds a surrogate that stands for no byte") from None


def _check_depth(key: str, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"{key} has arrays nested more than {DEEPEST} deep")


def _inner(nested: str, item: Any) -> tuple[str, Any]:
    """Element type and elements of an array inside an array of `ARRAY[nested]`."""
    if isinstance(item, Value):
        own = array_element(item.type)
        if own is None or (nested and own != nested):
            raise ValueError(f"an inner array is {item.type}, not ARRAY[{nested}]")
        return own, item.value
    return nested, item


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, bytearray)):
        return False
    return isinstance(value, Sequence) or getattr(value, "ndim", 0) > 0


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytearray]:
    """The same bytes in fewer pieces."""
    block = bytearray()
    for piece in pieces:
        block += piece
        if len(block) >= _PIECE:
            yield block
            block = bytearray()
    yield block


def _wrong(key: str, kind: str, value: Any) -> ValueError:
    return ValueError(f"{key} is {kind}, not {type(value).__name__} ({value!r:.60})")
