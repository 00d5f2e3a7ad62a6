"""unpack and pack: every code in an array of its own, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        size = field.scalar.bits
        _nest(body, _field_order(field), lambda f=field, s=size: body.line(  # type: ignore[misc]
            f"a_{_safe(f.name)}[{_at(f.total, _field_place(f))}] = load_u{s}({plus('src', _field_offset(f))});"
        ))
    for piece in _pieces(kind):
        for case in piece.code.cases:
            _loops(body, piece, case, _read)
    return body.text()


def pack(kind: BlockType) -> str:
    """The body of the block loop: ``dst`` at block ``b``, from ``arrays``."""
    body = Body()
    _declare(kind, body, "const ")
    body.line(f"memset(dst, 0, {kind.bytes});")
    for field in kind.claimed:
        size = field.scalar.bits
        _nest(body, _field_order(field), lambda f=field, s=size: body.line(  # type: ignore[misc]
            f"store_u{s}({plus('dst', _field_offset(f))}, a_{_safe(f.name)}[{_at(f.total, _field_place(f))}]);"
        ))
    for piece in _pieces(kind):
        for case in piece.code.cases:
            _loops(body, piece, case, _write)
    for field in _trit_fields(kind):
        _nest(body, _field_order(field), lambda f=field: body.line(  # type: ignore[misc]
            f"seal_trits({plus('dst', _field_offset(f))});"
        ))
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
        ctype = f"{const}{array.ctype}"
        body.line(f"{ctype} *const a_{_safe(array.name)} = ({ctype} *)arrays[{number}] + {_blocks(array.count)};")


def _loops(body: Body, piece: _Piece, case: Case, act: Callable[[Body, _Piece, Case, str], None]) -> None:
    fixed = dict(case.fixed)
    place = Affine(piece.start) + row_major(piece.extents.items()).fix(fixed)
    target = f"a_{_safe(piece.code.name)}[{index(place)}]"
    free = [(axis, n) for axis, n in piece.extents.items() if axis not in fixed]
    _nest(body, free, lambda: act(body, piece, case, target))


def _read(body: Body, piece: _Piece, case: Case, target: str) -> None:
    code = piece.code
    if code.scalar and not code.is_float:
        text = S.load(code.scalar, "src", case.slices[0].word.offset)
    else:
        parts, low = [], 0
        for part in case.slices:
            text = S.cut(part, S.word_bits(part.word, "src"))
            parts.append(f"(uint32_t){text} << {low}" if low else text)
            low += part.width
        text = " | ".join(parts)
    cast = f"({S.array_type(code)})"
    body.line(f"{target} = {cast}({text});")


def _write(body: Body, piece: _Piece, case: Case, target: str) -> None:
    low = 0
    for part in case.slices:
        where = plus("dst", part.word.offset)
        bits = part.word.scalar.bits
        body.line(_put(part, where, bits, target, low))
        low += part.width


def _put(part: Bits | Trit, where: str, bits: int, value: str, low: int) -> str:
    if isinstance(part, Trit):
        return f"add_trit({where}, {value}, {index(part.digit)});"
    if part.is_word and not low:
        return f"store_u{bits}({where}, (uint{bits}_t){value});"
    taken = f"({value} >> {low} & {S.mask(part.width)})" if low else f"({value} & {S.mask(part.width)})"
    if part.shift != Affine():
        taken += f" << ({index(part.shift)})"
    return f"or_u{bits}({where}, (uint{bits}_t)({taken}));"


def _nest(body: Body, order: Iterable[tuple[str, int]], act: Callable[[], None]) -> None:
    order = list(order)
    for axis, extent in order:
        body.open(f"for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)", axis)
    act()
    for _ in order:
        body.close()


def _field_order(field: Field) -> list[tuple[str, int]]:
    return [(f"n{level}", count) for level, count in enumerate(field.counts)]


def _field_offset(field: Field) -> Affine:
    strides = {f"n{level}": stride for level, stride in enumerate(field.strides)}
    return Affine.of(field.offset, strides)


def _field_place(field: Field) -> Affine:
    return row_major(_field_order(field))


def _trit_fields(kind: BlockType) -> list[Field]:
    found = {
        part.word.field.name: part.word.field
        for piece in _pieces(kind)
        for case in piece.code.cases
        for part in case.slices
        if isinstance(part, Trit)
    }
    return list(found.values())


def _at(count: int, place: Affine) -> str:
    return "0" if count == 1 else index(place)


def _blocks(count: int) -> str:
    return "b" if count == 1 else f"{count} * b"


def _safe(name: str) -> str:
    return name.replace(".", "_")


def _product(values: Iterable[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result
