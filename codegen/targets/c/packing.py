"""unpack and pack: every code in an array of its own, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ...affine import Affine
from ...model import Bits, BlockType, Case, Code, Field, Region, Trit
from ...scalars import Scalar
from . import storage as S
from .text import Body, index, plus, row_major


@dataclass(frozen=True)
class Array:
    """One array of ``unpack``: its C type, and for a block the shape and range of its numbers.

    ``kind`` is u, i or f as in NumPy. Single fields come first, then codes; a code of several
    regions is one flat array, the regions one behind the other.
    """

    name: str
    kind: str
    ctype: str
    shape: tuple[int, ...]
    low: int
    high: int

    @property
    def count(self) -> int:
        """Numbers for a block."""
        return _product(self.shape)

    @property
    def bounds(self) -> tuple[str, str]:
        """The range as C text that fits int64_t."""
        return _int64(self.low), _int64(self.high)


@dataclass(frozen=True)
class _Piece:
    """A code of one region, from number ``start`` of its array."""

    region: Region
    code: Code
    start: int

    @property
    def extents(self) -> dict[str, int]:
        return {axis: self.region.extents[axis] for axis in self.code.axes}


def arrays(kind: BlockType) -> tuple[Array, ...]:
    """What ``unpack`` gives, in the order of the NumPy back end."""
    made = {f.name: _field_array(f) for f in kind.claimed}
    for piece in _pieces(kind):
        code = piece.code
        shape = tuple(piece.extents.values())
        if len(kind.regions) > 1:
            shape = (piece.start + _product(shape),)
        letter = _letter(code.scalar) if code.scalar else "u"
        ctype = S.array_type(code)
        made[code.name] = Array(code.name, letter, ctype, shape, code.low, code.high)
    return tuple(made.values())


def _field_array(field: Field) -> Array:
    scalar = field.scalar
    ctype = f"uint{scalar.bits}_t"
    return Array(field.name, _letter(scalar), ctype, field.counts, scalar.low, scalar.high)


def _int64(value: int) -> str:
    if value <= -(1 << 63):
        return "INT64_MIN"
    return str(value) if value < (1 << 63) - 1 else "INT64_MAX"


def _letter(scalar: Scalar) -> str:
    """NumPy's letter of a stored scalar; it has neither bfloat16 nor 8-bit floats."""
    if scalar.is_float:
        return "f" if scalar.ieee and scalar.name != "bf16" else "u"
    return "i" if scalar.kind == "int" else "u"


def unpack(kind: BlockType) -> str:
    """The body of the block loop: ``src`` at block ``b``, into ``arrays``."""
    body = Body()
    _declare(kind, body, "")
    for field in kind.claimed:
        with body.loops(_field_order(field)):
            word = f"load_u{field.scalar.bits}({plus('src', _field_offset(field))})"
            body.line(f"{_field_element(field)} = {word};")
    for piece in _pieces(kind):
        for case in piece.code.cases:
            with _loops(body, piece, case) as element:
                body.line(f"{element} = {_read(piece.code, case)};")
    return body.text()


def pack(kind: BlockType) -> str:
    """The body of the block loop: ``dst`` at block ``b``, from ``arrays``."""
    body = Body()
    _declare(kind, body, "const ")
    body.line(f"memset(dst, 0, {kind.bytes});")
    for field in kind.claimed:
        with body.loops(_field_order(field)):
            where = plus("dst", _field_offset(field))
            body.line(f"store_u{field.scalar.bits}({where}, {_field_element(field)});")
    for piece in _pieces(kind):
        for case in piece.code.cases:
            with _loops(body, piece, case) as element:
                low = 0
                for part in case.slices:
                    body.line(_put(part, element, low))
                    low += part.width
    for field in _trit_fields(kind):
        with body.loops(_field_order(field)):
            body.line(f"seal_trits({plus('dst', _field_offset(field))});")
    return body.text()


def _pieces(kind: BlockType) -> list[_Piece]:
    made: list[_Piece] = []
    starts: dict[str, int] = {}
    for region in kind.regions:
        for code in region.codes:
            piece = _Piece(region, code, starts.get(code.name, 0))
            starts[code.name] = piece.start + _product(piece.extents.values())
            made.append(piece)
    return made


def _declare(kind: BlockType, body: Body, const: str) -> None:
    for number, array in enumerate(arrays(kind)):
        pointer = f"{const}{array.ctype} *"
        name = f"const a_{_safe(array.name)}"
        body.line(f"{pointer}{name} = ({pointer})arrays[{number}] + {_blocks(array.count)};")


@contextmanager
def _loops(body: Body, piece: _Piece, case: Case) -> Iterator[str]:
    """The loops over a case's free axes, and the array element in them."""
    fixed = dict(case.fixed)
    place = Affine(piece.start) + row_major(piece.extents.items()).fix(fixed)
    with body.loops((axis, n) for axis, n in piece.extents.items() if axis not in fixed):
        yield f"a_{_safe(piece.code.name)}[{index(place)}]"


def _read(code: Code, case: Case) -> str:
    if code.scalar and not code.is_float:
        return S.load(code.scalar, "src", case.slices[0].word.offset)
    parts, low = [], 0
    for part in case.slices:
        text = S.cut(part, S.word_bits(part.word, "src"))
        parts.append(f"(uint32_t){text} << {low}" if low else text)
        low += part.width
    return f"({S.array_type(code)})({' | '.join(parts)})"


def _put(part: Bits | Trit, value: str, low: int) -> str:
    where, bits = plus("dst", part.word.offset), part.word.scalar.bits
    if isinstance(part, Trit):
        return f"add_trit({where}, {value}, {index(part.digit)});"
    if part.is_word and not low:
        return f"store_u{bits}({where}, (uint{bits}_t){value});"
    shifted = f"{value} >> {low}" if low else value
    taken = f"({shifted} & {S.mask(part.width)})"
    if part.shift != Affine():
        taken = f"(uint{max(bits, 32)}_t){taken} << ({index(part.shift)})"  # int lacks bit 31
    return f"or_u{bits}({where}, (uint{bits}_t)({taken}));"


def _field_order(field: Field) -> list[tuple[str, int]]:
    return [(f"n{level}", count) for level, count in enumerate(field.counts)]


def _field_offset(field: Field) -> Affine:
    strides = {f"n{level}": stride for level, stride in enumerate(field.strides)}
    return Affine.of(field.offset, strides)


def _field_element(field: Field) -> str:
    place = "0" if field.total == 1 else index(row_major(_field_order(field)))
    return f"a_{_safe(field.name)}[{place}]"


def _trit_fields(kind: BlockType) -> list[Field]:
    found = {
        part.word.field.name: part.word.field
        for piece in _pieces(kind)
        for case in piece.code.cases
        for part in case.slices
        if isinstance(part, Trit)
    }
    return list(found.values())


def _blocks(count: int) -> str:
    return "b" if count == 1 else f"{count} * b"


def _safe(name: str) -> str:
    return name.replace(".", "_")


def _product(values: Iterable[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result
