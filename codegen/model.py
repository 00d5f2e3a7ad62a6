"""The checked model of a block type: what every emitter reads, and nothing else.

A field is storage, a code is a small integer (or a stored scale) cut out of storage, a
region is a run of elements with its own axes. All positions are affine in the axes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .affine import Affine
from .expr import Lookup, Node, walk
from .scalars import Scalar


@dataclass(frozen=True)
class Field:
    """Stored values of one scalar type: ``counts`` of them at ``offset`` + strides.

    ``counts`` and ``strides`` (bytes) hold one entry for each level: none for a single
    value, one for ``name[i]``, two for ``name[i].member[j]``.
    """

    name: str
    scalar: Scalar
    offset: int
    counts: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """How many values the field holds."""
        result = 1
        for count in self.counts:
            result *= count
        return result

    @property
    def places(self) -> list[int]:
        """The byte offset of each value, in order of the indices."""
        places = [self.offset]
        for count, stride in zip(self.counts, self.strides, strict=True):
            places = [place + index * stride for place in places for index in range(count)]
        return places

    def word_at(self, offset: int) -> str:
        """The value at byte ``offset`` of the block, as a spec writes it: ``qs[3].grid[1]``."""
        parts, left = self.name.split("."), offset - self.offset
        for level, stride in enumerate(self.strides):
            index, left = divmod(left, stride)
            parts[level] += f"[{index}]"
        return ".".join(parts)

    @property
    def runs(self) -> list[tuple[int, int]]:
        """The values as runs over the last index, each (offset, stride in bytes).

        A single value is a run of one.
        """
        outer = Field(self.name, self.scalar, self.offset, self.counts[:-1], self.strides[:-1])
        stride = self.strides[-1] if self.strides else self.scalar.bytes
        return [(place, stride) for place in outer.places]


@dataclass(frozen=True)
class Word:
    """One stored value, at byte ``offset`` of the block (affine in axes)."""

    field: Field
    indices: tuple[Affine, ...]

    @property
    def offset(self) -> Affine:
        result = Affine(self.field.offset)
        for index, stride in zip(self.indices, self.field.strides, strict=True):
            result += index.scaled(stride)
        return result

    @property
    def scalar(self) -> Scalar:
        return self.field.scalar

    @property
    def axes(self) -> frozenset[str]:
        return self.offset.axes


@dataclass(frozen=True)
class Bits:
    """``width`` bits of a word, from bit ``shift`` up; a whole word has shift 0."""

    word: Word
    shift: Affine
    width: int

    @property
    def axes(self) -> frozenset[str]:
        return self.word.axes | self.shift.axes

    @property
    def is_word(self) -> bool:
        return self.width == self.word.scalar.bits


@dataclass(frozen=True)
class Trit:
    """Base-3 digit ``digit`` (0 is the most significant) of a byte: ((b*3^digit & 255)*3) >> 8."""

    word: Word
    digit: Affine
    width: int = 2

    @property
    def axes(self) -> frozenset[str]:
        return self.word.axes | self.digit.axes


@dataclass(frozen=True)
class Case:
    """The slices (low bits first) that hold while some axes have fixed values."""

    fixed: tuple[tuple[str, int], ...]
    slices: tuple[Bits | Trit, ...]


@dataclass(frozen=True)
class Code:
    """A number cut out of storage, for each combination of its ``axes``.

    ``scalar`` is set when the code is one whole stored scalar (an integer array element,
    or a stored float such as a scale byte); ``low`` and ``high`` bound an integer code.
    """

    name: str
    axes: tuple[str, ...]
    cases: tuple[Case, ...]
    width: int
    low: int
    high: int
    scalar: Scalar | None = None

    @property
    def is_float(self) -> bool:
        return self.scalar is not None and self.scalar.is_float

    @property
    def has_digits(self) -> bool:
        """Whether it is stored in base-3 digits of bytes."""
        return any(isinstance(piece, Trit) for case in self.cases for piece in case.slices)


@dataclass(frozen=True)
class Let:
    """A named formula of ``decode``; the one named ``x`` is the element."""

    name: str
    expr: Node


@dataclass(frozen=True)
class Region:
    """``size`` elements from element ``start``: axes outermost first, codes, formulas."""

    start: int
    order: tuple[tuple[str, int], ...]
    codes: tuple[Code, ...]
    decode: tuple[Let, ...]
    valid: tuple[Node, ...]
    valid_text: tuple[str, ...]

    @property
    def axes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.order)

    @property
    def extents(self) -> dict[str, int]:
        return dict(self.order)

    @property
    def size(self) -> int:
        result = 1
        for _, extent in self.order:
            result *= extent
        return result

    def code(self, name: str) -> Code:
        return next(code for code in self.codes if code.name == name)

    @property
    def x(self) -> Node:
        return self.decode[-1].expr


@dataclass(frozen=True)
class Derived:
    """A stored field that the quantizer computes from the codes (checked by nobody's reader)."""

    field: Field
    expr: Node
    text: str


@dataclass(frozen=True)
class BlockType:
    """One ggml type (or a fork's, whose ``id`` is None).

    ``fields`` are the block's storage in order, ``scalars`` those single fields that
    formulas use by name; ``prefix`` and ``suffix`` are stored once a row and once a tensor.
    A removed type has no fields and no regions.
    """

    id: int | None
    name: str
    status: str
    elements: int
    bytes: int
    fields: tuple[Field, ...]
    prefix: tuple[Field, ...]
    prefix_bytes: int
    suffix: tuple[Field, ...]
    suffix_bytes: int
    regions: tuple[Region, ...]
    derived: tuple[Derived, ...]
    decode_text: Mapping[str, str]
    quantize: Mapping[str, Any]
    removed: Mapping[str, Any]
    doc: str
    since: str
    file: str

    @property
    def plain(self) -> bool:
        """True for one-element types: numbers stored as themselves, not blocks."""
        return self.elements == 1

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the tables that its formulas look up, those of ``valid`` too."""
        asked = [let.expr for region in self.regions for let in region.decode]
        asked += [node for region in self.regions for node in region.valid]
        nodes = (node for expr in asked for node in walk(expr))
        return tuple(sorted({node.table.name for node in nodes if isinstance(node, Lookup)}))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The spec files that its kernels come from."""
        return (self.file, "scalars.yaml", *(f"tables/{name}.yaml" for name in self.tables))

    @property
    def claimed(self) -> tuple[Field, ...]:
        """Fields that no code cuts up: single values, derived fields."""
        cut = {
            piece.word.field.name
            for region in self.regions
            for code in region.codes
            for case in code.cases
            for piece in case.slices
        }
        return tuple(field for field in self.fields if field.name not in cut)


def wide_words(fields: Iterable[Field]) -> list[tuple[int, int, int, int]]:
    """Runs of words that byte order reverses, each (offset, stride, count, bytes of a word)."""
    return [
        (offset, stride, (field.counts or (1,))[-1], field.scalar.bytes)
        for field in fields
        if field.scalar.bytes > 1
        for offset, stride in field.runs
    ]
