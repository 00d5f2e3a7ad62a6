"""Values in the terms of JSON and YAML and back, without losing a bit.

Text that is not UTF-8 is ``{"base64": ...}``; NaN and infinities are the strings ``NaN``,
``Infinity`` and ``-Infinity``; numbers whose bits these do not tell (a NaN with a payload, a BOOL
byte of 2) are ``{"bits": "7fa00001"}``, the most significant byte first. Arrays are lists; where
the types of inner arrays differ, each is ``{"type": ..., "value": ...}``.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Sequence
from typing import Any

from ..files.arrays import Form, NestedArray, Stored, StringArray, array_type, float_code, value_of
from ..files.source import Source
from ..files.values import Value, array_element
from ..generated.container import CURRENT_VERSION, LAYOUTS, ValueType
from .json_text import brief

Entry = Stored | Value
"""A metadata value of a file, or one to be written."""

_FORM = Form(CURRENT_VERSION, "little")
_TYPES = {kind.name: kind for kind in LAYOUTS[CURRENT_VERSION].value_types}
_HAVE_BITS = ("float", "bool")
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NAMES = {math.inf: "Infinity", -math.inf: "-Infinity"}
_PYTHON: dict[str, tuple[type, ...]] = {
    "uint": (int,), "int": (int,), "float": (int, float), "bool": (bool,), "string": (str, bytes),
}  # fmt: skip


def type_of(entry: Entry) -> str:
    """The value type of an entry: `UINT32`, `ARRAY[STRING]`."""
    if isinstance(entry, Value):
        return entry.type
    return array_type(entry) if entry.is_array else entry.kind.name


def check_type(name: str) -> None:
    """ValueError where there is no value type of that name."""
    element = name
    while (inner := array_element(element)) is not None and inner:
        element = inner
    if element not in _TYPES or name == "ARRAY":
        known = ", ".join(kind for kind in _TYPES if kind != "ARRAY")
        what = f"{element!r:.60} for elements" if element != name else f"{name!r:.60}"
        raise ValueError(f"there is no type {what}; there are {known}, ARRAY[...] of these")


def to_plain(stored: Stored) -> Any:
    """A stored value in plain terms; `type_of` says of which type."""
    kind = stored.kind
    if not stored.is_array:
        return _text(value_of(stored)) if kind.kind == "string" else _numbers(stored)[0]
    if kind.kind == "string":
        return [_text(item) for item in StringArray(stored)]
    if kind.kind != "array":
        return _numbers(stored)
    nested = NestedArray(stored)
    inner = [nested.inner(number) for number in range(stored.count)]
    if array_element(nested.type) == "ARRAY":
        return [{"type": type_of(item), "value": to_plain(item)} for item in inner]
    return [to_plain(item) for item in inner]


def from_plain(type_name: str, plain: Any) -> Entry:
    """The value that plain terms stand for; ValueError for what is none of the type."""
    check_type(type_name)
    element = array_element(type_name)
    if element is None:
        kind = _TYPES[type_name]
        if _is_bits(plain):
            return _stored(kind, [_bits(kind, plain)], is_array=False)
        return Value(type_name, _item(kind, plain))
    items = _list(plain)
    inner = _TYPES.get(element)
    if inner is not None and inner.kind in _HAVE_BITS and any(map(_is_bits, items)):
        return _stored(inner, [_packed(inner, item) for item in items], is_array=True)
    return Value(type_name, _elements(element, items))


def _elements(element: str, items: Sequence[Any]) -> Any:
    """The elements of `ARRAY[element]`, for the encoder."""
    inner = array_element(element)
    if inner is None:
        kind = _TYPES[element]
        if kind.kind == "float" and any(map(_is_bits, items)):
            import numpy as np

            data = b"".join(_packed(kind, item) for item in items)
            return np.frombuffer(data, f"<f{kind.bytes}")
        return [_item(kind, item) for item in items]
    if inner:
        return [_elements(inner, _list(item)) for item in items]
    return [_tagged(item) for item in items]


def _tagged(item: Any) -> Value:
    """An inner array that says its own type."""
    if not isinstance(item, dict) or set(item) != {"type", "value"}:
        raise ValueError(f'an inner array is {{"type": ..., "value": ...}} here, not {brief(item)}')
    name = item["type"]
    element = array_element(name) if isinstance(name, str) else None
    if not element:
        raise ValueError(f"{brief(name)} is no type of an array")
    check_type(name)
    return Value(name, _elements(element, _list(item["value"])))


def _list(plain: Any) -> Sequence[Any]:
    if not isinstance(plain, list):
        raise ValueError(f"an array is [...], not {brief(plain)}")
    return plain


def _item(kind: ValueType, plain: Any) -> Any:
    """A scalar or string in Python's terms."""
    if kind.kind == "float" and isinstance(plain, str) and plain in _SPECIAL:
        return _SPECIAL[plain]
    if kind.kind == "string" and isinstance(plain, dict) and set(plain) == {"base64"}:
        return bytes_of(plain["base64"])
    wanted = _PYTHON[kind.kind]
    if not isinstance(plain, wanted) or (isinstance(plain, bool) and kind.kind != "bool"):
        raise ValueError(f"{brief(plain)} is no {kind.name}")
    if isinstance(plain, int) and kind.kind != "float" and plain.bit_length() > 8 * kind.bytes:
        raise ValueError(f"{kind.name} cannot hold {brief(plain)}")
    if kind.kind != "float":
        return plain
    number: Any = plain
    try:
        return float(number)
    except OverflowError:
        raise ValueError(f"{kind.name} cannot hold {brief(plain)}") from None


def bytes_of(text: Any) -> bytes:
    """What base64 stands for; ValueError for anything else."""
    try:
        return base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        raise ValueError(f"{brief(text)} is no base64") from None


def _is_bits(plain: Any) -> bool:
    return isinstance(plain, dict) and set(plain) == {"bits"}


def _bits(kind: ValueType, plain: Any) -> bytes:
    text = plain["bits"]
    try:
        data = bytes.fromhex(text) if isinstance(text, str) else b""
    except ValueError:
        data = b""
    if len(data) != kind.bytes or kind.kind not in ("float", "bool"):
        raise ValueError(f"{brief(text)} is no bits of a {kind.name}")
    return data[::-1]


def _packed(kind: ValueType, plain: Any) -> bytes:
    """A number as stored in `_FORM`."""
    if _is_bits(plain):
        return _bits(kind, plain)
    value = _item(kind, plain)
    try:
        if kind.kind == "float":
            return struct.pack(float_code(kind, "little"), value)
        return int(value).to_bytes(kind.bytes, "little", signed=kind.kind == "int")
    except OverflowError:
        raise ValueError(f"{kind.name} cannot hold {brief(plain)}") from None


def _stored(kind: ValueType, numbers: Sequence[bytes], *, is_array: bool) -> Stored:
    data = b"".join(numbers)
    return Stored(Source(data), _FORM, kind, is_array, len(numbers), 0, len(data))


def _text(value: str | bytes) -> Any:
    if isinstance(value, str):
        return value
    return {"base64": base64.b64encode(value).decode()}


def _numbers(stored: Stored) -> list[Any]:
    """The numbers of a value, one of a scalar."""
    kind, data = stored.kind, bytes(stored.bytes())
    order, width = stored.form.byte_order, kind.bytes
    parts = [data[at : at + width] for at in range(0, len(data), width)]
    if kind.kind in ("uint", "int"):
        return [int.from_bytes(one, order, signed=kind.kind == "int") for one in parts]
    big = parts if order == "big" else [one[::-1] for one in parts]
    read = _bool if kind.kind == "bool" else _float
    return [read(kind, one) for one in big]


def _bool(_: ValueType, bits: bytes) -> Any:
    number = int.from_bytes(bits, "big")
    return bool(number) if number <= 1 else {"bits": bits.hex()}


def _float(kind: ValueType, bits: bytes) -> Any:
    """The shortest number that makes these bits."""
    code = float_code(kind, "big")
    (value,) = struct.unpack(code, bits)
    if math.isnan(value):
        return "NaN" if bits == struct.pack(code, math.nan) else {"bits": bits.hex()}
    if math.isinf(value):
        return _NAMES[value]
    if kind.bytes == 4:
        for digits in (6, 7, 8, 9):
            short = float(f"{value:.{digits}g}")
            try:
                if struct.pack(code, short) == bits:
                    return short
            except OverflowError:
                continue
    return value
