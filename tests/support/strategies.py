"""Hypothesis strategies for valid GGUF files, made from the container's own tables.

A value type, a version or a field that the specification gets is drawn from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from ggufspec.container.scan import ByteOrder
from ggufspec.dialects import dialects
from ggufspec.generated import container as tables
from ggufspec.generated.shards import COUNT_KEY, NUMBER_KEY, TENSORS_KEY
from ggufspec.generated.types import TYPES, TypeInfo
from support import crafted
from support.crafted import padded
from support.forks import Entry, model


@dataclass(frozen=True)
class Pair:
    """A key and its value: the type's name, the element type's if it is an array, the bytes."""

    key: bytes
    kind: str
    element: str
    count: int
    payload: bytes


@dataclass(frozen=True)
class Tensor:
    """A tensor with its data; `dims` has the fastest axis first."""

    name: bytes
    type: TypeInfo
    dims: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class Sample:
    """A file and what is in it."""

    version: int
    byte_order: ByteOrder
    alignment: int
    header: Mapping[str, int]
    pairs: tuple[Pair, ...]
    tensors: tuple[Tensor, ...]
    nested: bool
    data: bytes

    @property
    def suits_ggml(self) -> bool:
        """Whether ggml reads it too: no old version, no other byte order, no nested array."""
        return self.version > 1 and self.byte_order == "little" and not self.nested


class Encoder:
    """Fields to bytes, as one version and byte order have them."""

    def __init__(self, version: int, byte_order: ByteOrder) -> None:
        self.layout = tables.LAYOUTS[version]
        self.byte_order = byte_order

    def number(self, value: int, width: int) -> bytes:
        """An unsigned number."""
        return value.to_bytes(width, self.byte_order)

    def string(self, text: bytes) -> bytes:
        """A length and the text."""
        return self.number(len(text), self.layout.string_length) + text

    def array(self, element: int, count: int, elements: bytes) -> bytes:
        """The head of an array and its elements."""
        numbers = {"element_type": element, "count": count}
        head = (self.number(numbers[name], width) for name, width in self.layout.array)
        return b"".join(head) + elements

    def record(self, section: str, values: Mapping[str, Any]) -> bytes:
        """One record; `values` by field, for a value field its type's id and its bytes."""
        fields = self.layout.sections[tables.SECTIONS.index(section)]
        return b"".join(self._field(field, values) for field in fields)

    def _field(self, field: tables.Field, values: Mapping[str, Any]) -> bytes:
        if field.kind == "literal":
            return field.literal
        value = values[field.name]
        if field.kind == "string":
            return self.number(len(value), field.width) + bytes(value)
        if field.kind == "value":
            return self.number(value[0], field.width) + bytes(value[1])
        numbers = value if field.repeat >= 0 else (value,)
        return b"".join(self.number(number, field.width) for number in numbers)


VERSIONS = st.sampled_from(tables.VERSIONS)
BYTE_ORDERS: st.SearchStrategy[ByteOrder] = st.sampled_from(("little", "big"))
_WORDS = st.text(tables.WORD, min_size=1, max_size=6)
_KEYS = st.lists(_WORDS, min_size=1, max_size=4).map(tables.SEPARATOR.join).map(str.encode)
_TEXTS = st.text(st.characters(codec="utf-8"), max_size=12).map(str.encode)
_NAMES = st.text(tables.WORD + ".-/ ", min_size=1, max_size=20).map(str.encode)
_LAID_OUT = [kind for kind in TYPES if kind.id is not None and kind.elements]


@st.composite
def files(
    draw: st.DrawFn,
    versions: st.SearchStrategy[int] = VERSIONS,
    byte_orders: st.SearchStrategy[ByteOrder] = BYTE_ORDERS,
    nested: bool = True,
) -> Sample:
    """A file that every careful reader accepts: unique names, tiled tensors, zero padding."""
    encoder = Encoder(draw(versions), draw(byte_orders))
    depth = draw(st.integers(0, 4)) if nested else 0
    values = _values(encoder, depth)
    keys = draw(st.lists(_KEYS, unique=True, max_size=5))
    reserved = {b"general.architecture", tables.ALIGNMENT_KEY.encode()}
    drawn = [draw(values) for key in keys if key not in reserved]
    alignment = draw(st.sampled_from((None, 8, 16, 32, 64, 4096)))
    pairs = [
        Pair(key, *value[:4])
        for key, value in zip(keys, drawn, strict=False)
        if key not in reserved
    ]
    pairs.insert(0, _text_pair(encoder, b"general.architecture", b"llama"))
    if alignment is not None:
        pairs.insert(draw(st.integers(0, len(pairs))), _alignment_pair(encoder, alignment))
    names = draw(st.lists(_NAMES, unique=True, max_size=4))
    tensors = [draw(_tensors(name)) for name in names]
    extra = _extra(encoder, draw)
    return _assemble(
        encoder,
        alignment or tables.ALIGNMENT_DEFAULT,
        pairs,
        tensors,
        extra,
        nested=any(value[4] for value in drawn),
    )


@st.composite
def files_of_a_dialect(draw: st.DrawFn, alignments: Sequence[int]) -> tuple[str, bytes]:
    """A dialect, and a file whose tensors have its types or float32."""
    name = draw(st.sampled_from(sorted(dialects)))
    dialect = dialects[name]
    sized = {number: kind for number, kind in dialect.kinds.items() if kind.elements}
    entries = []
    for row in range(draw(st.integers(1, 6))):
        number = draw(st.sampled_from([crafted.F32, *sized]))
        kind = dialect.kind_of(number)
        assert kind is not None
        length = kind.elements * draw(st.integers(1, 12))
        rows = draw(st.integers(1, 5))
        size = rows * kind.row_bytes(length) + kind.info.tensor_suffix
        entries.append(Entry(f"t{row}", [length, rows], number, bytes([row + 1]) * size))
    return name, model(entries, alignment=draw(st.sampled_from(alignments)))


@st.composite
def sets(draw: st.DrawFn) -> list[Sample]:
    """The files of a split set, in order: one form, names unique over all of them."""
    encoder = Encoder(draw(VERSIONS), draw(BYTE_ORDERS))
    names = draw(st.lists(_NAMES, unique=True, min_size=2, max_size=6))
    tensors = [draw(_tensors(name)) for name in names]
    count = draw(st.integers(2, 4))
    cuts = sorted(
        draw(st.lists(st.integers(0, len(names)), min_size=count - 1, max_size=count - 1))
    )
    extra = _extra(encoder, draw)
    found = []
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(names)], strict=True)):
        pairs = [
            _number_pair(encoder, NUMBER_KEY, "UINT16", number),
            _number_pair(encoder, COUNT_KEY, "UINT16", count),
            _number_pair(encoder, TENSORS_KEY, "INT32", len(names)),
        ]
        if number == 0:
            pairs.insert(0, _text_pair(encoder, b"general.architecture", b"llama"))
        own = tensors[start:end]
        alignment = tables.ALIGNMENT_DEFAULT
        found.append(_assemble(encoder, alignment, pairs, own, extra, nested=False))
    return found


def _values(encoder: Encoder, depth: int) -> st.SearchStrategy[tuple[str, str, int, bytes, bool]]:
    """Type, element type, count, bytes, and whether an array is in an array."""
    return st.sampled_from(encoder.layout.value_types).flatmap(
        lambda kind: (
            _arrays(encoder, depth)
            if kind.kind == "array"
            else _scalars(encoder, kind).map(lambda data: (kind.name, kind.name, 1, data, False))
        )
    )


def _scalars(encoder: Encoder, kind: tables.ValueType) -> st.SearchStrategy[bytes]:
    if kind.kind == "string":
        return _TEXTS.map(encoder.string)
    if kind.kind == "bool":
        return st.booleans().map(lambda value: encoder.number(value, kind.bytes))
    return st.binary(min_size=kind.bytes, max_size=kind.bytes)


def _arrays(encoder: Encoder, depth: int) -> st.SearchStrategy[tuple[str, str, int, bytes, bool]]:
    kinds = [kind for kind in encoder.layout.value_types if kind.kind != "array" or depth]
    return st.sampled_from(kinds).flatmap(lambda kind: _array_of(encoder, kind, depth))


def _array_of(
    encoder: Encoder, kind: tables.ValueType, depth: int
) -> st.SearchStrategy[tuple[str, str, int, bytes, bool]]:
    inner = (
        _arrays(encoder, depth - 1).map(lambda value: value[3])
        if kind.kind == "array"
        else _scalars(encoder, kind)
    )
    name = next(k.name for k in encoder.layout.value_types if k.kind == "array")
    return st.lists(inner, max_size=4).map(
        lambda items: (
            *(name, kind.name, len(items)),
            encoder.array(kind.id, len(items), b"".join(items)),
            kind.kind == "array",
        )
    )


@st.composite
def _tensors(draw: st.DrawFn, name: bytes) -> Tensor:
    kind = draw(st.sampled_from(_LAID_OUT))
    dims = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    dims[0] *= kind.elements
    rows = 1
    for dim in dims[1:]:
        rows *= dim
    row = kind.row_prefix + dims[0] // kind.elements * kind.bytes
    size = rows * row + kind.tensor_suffix if dims[0] else 0
    data = draw(st.binary(min_size=1, max_size=8))
    return Tensor(name, kind, tuple(dims), (data * (size // len(data) + 1))[:size])


def _text_pair(encoder: Encoder, key: bytes, text: bytes) -> Pair:
    kind = next(k for k in encoder.layout.value_types if k.kind == "string")
    return Pair(key, kind.name, kind.name, 1, encoder.string(text))


def _alignment_pair(encoder: Encoder, alignment: int) -> Pair:
    return _number_pair(encoder, tables.ALIGNMENT_KEY, "UINT32", alignment)


def _number_pair(encoder: Encoder, key: str, name: str, number: int) -> Pair:
    kind = next(k for k in encoder.layout.value_types if k.name == name)
    return Pair(key.encode(), name, name, 1, encoder.number(number, kind.bytes))


def _extra(encoder: Encoder, draw: st.DrawFn) -> dict[str, int]:
    """Header fields that mean nothing to a reader of today."""
    fields = encoder.layout.sections[0]
    unknown = [f for f in fields if f.kind == "number" and not f.counts]
    return {field.name: draw(st.integers(0, 256**field.width - 1)) for field in unknown}


def _assemble(
    encoder: Encoder,
    alignment: int,
    pairs: Sequence[Pair],
    tensors: Sequence[Tensor],
    extra: Mapping[str, int],
    *,
    nested: bool,
) -> Sample:
    counts = {"metadata": len(pairs), "tensors": len(tensors)}
    fields = encoder.layout.sections[0]
    header = {field.name: counts[field.counts] for field in fields if field.counts}
    header |= {"version": encoder.layout.version, **extra}
    ids = {kind.name: kind.id for kind in encoder.layout.value_types}
    front = encoder.record("header", header)
    for pair in pairs:
        value = (ids[pair.kind], pair.payload)
        front += encoder.record("metadata", {"key": pair.key, "value": value})
    data = b""
    for tensor in tensors:
        shape = {"n_dims": len(tensor.dims), "dims": tensor.dims}
        place = {"type": tensor.type.id, "offset": len(data)}
        front += encoder.record("tensors", {"name": tensor.name, **shape, **place})
        data = padded(data + tensor.data, alignment)
    return Sample(
        version=encoder.layout.version,
        byte_order=encoder.byte_order,
        alignment=alignment,
        header=header,
        pairs=tuple(pairs),
        tensors=tuple(tensors),
        nested=nested,
        data=padded(front, alignment) + data if tensors else front,
    )
