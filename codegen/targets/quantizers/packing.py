"""``pack_<type>`` in C: one block from its codes, every stored word written once.

The unpacking loops run over codes; these run over words, and OR together what a word holds:
no read of what was written, so that a compiler can vectorise them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from ...affine import Affine, points
from ...loops.text import index, row_major
from ...model import BlockType, Code, Field, Region, Trit
from ..c import packing, storage
from ..c.packing import Array
from ..c.storage import plus
from ..c.text import Body

_UNROLLED = 8
"""Up to so many pieces of a word stand in one expression; more are a loop."""


@dataclass(frozen=True)
class _Writer:
    """One slice of a code, and where it goes; axes that its case fixes are set.

    ``value`` is the place in the code's array and ``low`` the slice's first bit there;
    ``where`` is the word's offset in the block, ``shift`` the place in the word (of a trit:
    its digit).
    """

    code: str
    ctype: str
    field: Field
    where: Affine
    shift: Affine
    width: int
    ternary: bool
    value: Affine
    low: int
    extents: Mapping[str, int]

    @property
    def outer(self) -> list[tuple[str, int]]:
        """The axes that choose the word."""
        return [(axis, n) for axis, n in self.extents.items() if axis in self.where.axes]

    @property
    def inner(self) -> list[tuple[str, int]]:
        """The axes whose values share a word."""
        return [(axis, n) for axis, n in self.extents.items() if axis not in self.where.axes]

    @property
    def words(self) -> int:
        """How many words the slice reaches."""
        return _size(self.outer)


def signature(kind: BlockType, wide: Collection[str] = ()) -> str:
    """The function's head; arguments stand in the order of ``unpack``, 16 bits each if wide."""
    made = [replace(a, ctype="uint16_t") if a.name in wide else a for a in packing.arrays(kind)]
    arguments = ", ".join(["uint8_t *restrict dst", *map(_argument, made)])
    return f"static inline void pack_{kind.name.lower()}({arguments})"


def body(kind: BlockType) -> str:
    """The statements that write one block at ``dst``."""
    text = Body()
    for field in kind.fields:
        if field in kind.claimed:
            _store_field(text, field)
        else:
            _store_words(text, field, [w for w in _writers(kind) if w.field == field])
    for offset, size in _pads(kind):
        text.line(f"memset(dst + {offset}, 0, {size});")
    return text.text()


def _argument(array: Array) -> str:
    single = array.count == 1
    return (
        f"{array.ctype} {array.name}" if single else f"const {array.ctype} *restrict {array.name}"
    )


def _store_field(text: Body, field: Field) -> None:
    bits = field.scalar.bits
    order = [(f"n{level}", count) for level, count in enumerate(field.counts)]
    strides = {f"n{level}": stride for level, stride in enumerate(field.strides)}
    where = plus("dst", Affine.of(field.offset, strides))
    value = field.name + (f"[{index(row_major(order))}]" if order else "")
    _loops(text, order, f"store_u{bits}({where}, (uint{bits}_t){value});")


def _store_words(text: Body, field: Field, writers: list[_Writer]) -> None:
    """Fill a field: a writer that reaches every word stores, the others add their bits."""
    whole = next((w for w in writers if w.words == field.total), None)
    if whole is None:
        text.line(f"memset(dst + {field.offset}, 0, {field.total * field.scalar.bytes});")
    for writer in sorted(writers, key=lambda w: w is not whole):
        act = "store" if writer is whole else "or"
        _write(text, writer, act)


def _write(text: Body, writer: _Writer, act: str) -> None:
    bits = writer.field.scalar.bits
    where = plus("dst", writer.where)
    _open(text, writer.outer)
    combinations = list(points([axis for axis, _ in writer.inner], dict(writer.inner)))
    if writer.ternary:
        number = " + ".join(_digit(writer, at) for at in combinations)
        text.line(f"{act}_u8({where}, sealed_trits({number}));")
    elif _is_bit_string(writer):
        value = " | ".join(
            f"(uint{bits}_t)eight_bits({_eight(writer, first)})" + (f" << {first}" if first else "")
            for first in range(0, len(combinations), 8)
        )
        text.line(f"{act}_u{bits}({where}, (uint{bits}_t)({value}));")
    elif len(combinations) <= _UNROLLED:
        value = " | ".join(_bits(writer, at) for at in combinations)
        text.line(f"{act}_u{bits}({where}, (uint{bits}_t)({value}));")
    else:
        text.line(f"uint{bits}_t ored = 0;")
        _loops(text, writer.inner, f"ored |= (uint{bits}_t)({_bits(writer, {})});")
        text.line(f"{act}_u{bits}({where}, ored);")
    _close(text, writer.outer)


def _is_bit_string(writer: _Writer) -> bool:
    """One bit of each of the code's consecutive bytes, in consecutive bits of the word."""
    inner = [axis for axis, _ in writer.inner]
    steps = [[m.coefficient(axis) for axis in inner] for m in (writer.value, writer.shift)]
    return (
        writer.width == 1
        and writer.ctype == "uint8_t"
        and steps[0] == steps[1]
        and row_major(writer.inner) == Affine.of(0, dict(zip(inner, steps[0], strict=True)))
        and _size(writer.inner) == writer.field.scalar.bits
    )


def _eight(writer: _Writer, first: int) -> str:
    zeros = {axis: 0 for axis, _ in writer.inner}
    place = writer.value.fix(zeros) + Affine(first)
    return f"{plus(writer.code, place)}, {writer.low}"


def _size(order: Iterable[tuple[str, int]]) -> int:
    result = 1
    for _, extent in order:
        result *= extent
    return result


def _bits(writer: _Writer, at: Mapping[str, int]) -> str:
    """The bits that one number of the code has in the word, in place."""
    value = _value(writer, at)
    if not writer.low and writer.width == writer.field.scalar.bits:
        return value
    if writer.field.scalar.bits > 16:
        value = f"(uint{writer.field.scalar.bits}_t){value}"
    moved = f"{value} >> {writer.low}" if writer.low else value
    masked = f"({moved} & {storage.mask(writer.width)})"
    shift = writer.shift.fix(at)
    if shift.is_const:
        return f"{masked} << {shift.const}" if shift.const else masked
    return f"{masked} << ({index(shift)})"


def _digit(writer: _Writer, at: Mapping[str, int]) -> str:
    return f"{_value(writer, at)} * {3 ** (4 - writer.shift.at(at))}"


def _value(writer: _Writer, at: Mapping[str, int]) -> str:
    if not writer.extents and writer.value == Affine():
        return writer.code
    return f"{writer.code}[{index(writer.value.fix(at))}]"


def _writers(kind: BlockType) -> Iterable[_Writer]:
    starts: dict[str, int] = {}
    for region in kind.regions:
        for code in region.codes:
            start = starts.get(code.name, 0)
            starts[code.name] = start + _count(region, code)
            yield from _slices(region, code, start)


def _slices(region: Region, code: Code, start: int) -> Iterable[_Writer]:
    extents = {axis: region.extents[axis] for axis in code.axes}
    place = Affine(start) + row_major(extents.items())
    for case in code.cases:
        fixed = dict(case.fixed)
        free = {axis: n for axis, n in extents.items() if axis not in fixed}
        low = 0
        for piece in case.slices:
            yield _Writer(
                code=code.name,
                ctype=storage.array_type(code),
                field=piece.word.field,
                where=piece.word.offset.fix(fixed),
                shift=(piece.digit if isinstance(piece, Trit) else piece.shift).fix(fixed),
                width=piece.width,
                ternary=isinstance(piece, Trit),
                value=place.fix(fixed),
                low=low,
                extents=free,
            )
            low += piece.width


def _count(region: Region, code: Code) -> int:
    return _size((axis, region.extents[axis]) for axis in code.axes)


def _pads(kind: BlockType) -> list[tuple[int, int]]:
    """(offset, bytes) of the storage that no field holds."""
    used = bytearray(kind.bytes)
    for field in kind.fields:
        order = {f"n{level}": count for level, count in enumerate(field.counts)}
        strides = {f"n{level}": stride for level, stride in enumerate(field.strides)}
        where = Affine.of(field.offset, strides)
        for at in points(order, order):
            start = where.at(at)
            used[start : start + field.scalar.bytes] = b"\1" * field.scalar.bytes
    pads: list[tuple[int, int]] = []
    for offset, taken in enumerate(used):
        if taken:
            continue
        if pads and sum(pads[-1]) == offset:
            pads[-1] = (pads[-1][0], pads[-1][1] + 1)
        else:
            pads.append((offset, 1))
    return pads


def _loops(text: Body, order: Iterable[tuple[str, int]], line: str) -> None:
    order = list(order)
    _open(text, order)
    text.line(line)
    _close(text, order)


def _open(text: Body, order: Iterable[tuple[str, int]]) -> None:
    order = list(order)
    for number, (axis, extent) in enumerate(order):
        rolled = "GGUFSPEC_ROLLED " if number == len(order) - 1 and extent <= 16 else ""
        text.open(f"{rolled}for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)", axis)


def _close(text: Body, order: Iterable[tuple[str, int]]) -> None:
    for _ in order:
        text.close()
