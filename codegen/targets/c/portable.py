"""The portable form of dequantize: plain loops, right for every type of the language."""

from __future__ import annotations

from dataclasses import replace

from ... import expr as E
from ...affine import Affine
from ...model import Bits, BlockType, Case, Code, Region, Trit
from . import storage as S
from .text import Body, index, row_major


def dequantize(kind: BlockType) -> str:
    """The body of the block loop: ``src`` at a block, ``dst`` at its elements."""
    body = Body()
    for region in kind.regions:
        if len(kind.regions) > 1:
            body.open("")
        Loops(kind, region, body).run()
        if len(kind.regions) > 1:
            body.close()
    return body.text()


class Loops:
    """One region: a loop an axis, every value as far out as its axes allow.

    Outer axes that appear in a shift, a digit or a case are unrolled instead: constants shift
    faster, and cases need no branch.
    """

    def __init__(self, kind: BlockType, region: Region, body: Body) -> None:
        self.region = region
        self.plain = kind.plain
        self.body = body
        self.lets = {let.name: let.expr for let in region.decode}
        self.pointers = {f.name: "row" for f in kind.prefix} | {f.name: "tail" for f in kind.suffix}
        self.unrolled = shifting_axes(region) - {axis for axis, _ in region.order[-1:]}
        self.fixed: dict[str, int] = {}

    def run(self) -> None:
        self.descend(self.region.order)

    def descend(self, order: tuple[tuple[str, int], ...]) -> None:
        if not order:
            self.leaf()
            return
        (axis, extent), *inner = order
        if axis in self.unrolled:
            for value in range(extent):
                self.fixed[axis] = value
                self.descend(tuple(inner))
            del self.fixed[axis]
            return
        with self.body.loops([(axis, extent)], rolled=not inner and extent <= 16):
            self.descend(tuple(inner))

    def leaf(self) -> None:
        """What is done for each value, innermost."""
        place = Affine(self.region.start) + row_major(self.region.order)
        self.body.line(f"dst[{self.at(place)}] = {self.value(self.region.x)};")

    def at(self, affine: Affine) -> str:
        return index(affine.fix(self.fixed))

    def value(self, node: E.Node) -> str:
        """C text of a node; parts that belong to an outer loop are named there."""
        match node:
            case E.Literal(value=value):
                return literal(value)
            case E.LetRef(name=name):
                return self.bind(node, name, self.value(self.lets[name]))
            case E.CodeRef(name=name):
                return self.bind(node, name, self.code(self.region.code(name)))
            case E.FieldRef(field=field):
                pointer = self.pointers.get(field.name, "src")
                stored = S.field_value(field, pointer, lane=self.plain)
                return self.bind(node, field.name, stored)
            case E.Convert(arg=arg):
                return f"(float){self.part(arg, node)}"
            case E.Negate(arg=arg):
                return f"-{self.part(arg, node)}"
            case E.Binary(op=op, left=left, right=right):
                return f"({self.part(left, node)} {op} {self.part(right, node)})"
            case E.Lookup(table=table, row=row, column=column):
                return self.lookup(table.shape, table.name, self.part(row, node), column)
            case E.Bit(arg=arg, shift=shift):
                return f"(int32_t)(({self.part(arg, node)} >> ({self.at(shift)})) & 1)"
            case E.Sign(arg=arg):
                return f"(float)(1 - 2 * {self.part(arg, node)})"
            case E.Select(cond=cond, yes=yes, no=no):
                parts = [self.part(part, node) for part in (cond, yes, no)]
                return f"({parts[0]} ? {parts[1]} : {parts[2]})"
            case E.Half(arg=arg):
                return f"half_value((uint16_t){self.part(arg, node)})"
        raise S.NoForm(f"{type(node).__name__} in a decode formula")

    def part(self, node: E.Node, whole: E.Node) -> str:
        text = self.value(node)
        outer = self.body.level(node.axes) < self.body.level(whole.axes)
        composite = not isinstance(node, E.Literal | E.LetRef | E.CodeRef | E.FieldRef)
        return self.bind(node, "t", text) if outer and composite else text

    def bind(self, node: E.Node, hint: str, text: str) -> str:
        return self.body.bind(c_type(node), f"v_{hint}", text, node.axes)

    def lookup(self, shape: tuple[int, ...], name: str, row: str, column: Affine | None) -> str:
        if column is None:
            return f"table_{name}[{row}]"
        return f"table_{name}[{shape[1]} * {row} + {self.at(column)}]"

    def code(self, code: Code) -> str:
        text = self.stored_code(code)
        if code.is_float and code.scalar:
            return S.as_float(code.scalar, text, lane=True)
        return text

    def stored_code(self, code: Code) -> str:
        """A code as it is stored: of a float its bits."""
        *rest, last = [
            (self.condition(case), self.joined(case, code))
            for case in code.cases
            if all(self.fixed.get(axis, value) == value for axis, value in case.fixed)
        ]
        text = last[1]
        for condition, value in reversed(rest):
            text = f"{condition} ? {value} : {text}"
        return text

    def condition(self, case: Case) -> str:
        loops = [(axis, value) for axis, value in case.fixed if axis not in self.fixed]
        return " && ".join(f"i_{axis} == {value}" for axis, value in loops)

    def joined(self, case: Case, code: Code) -> str:
        if code.scalar and code.scalar.kind == "int":
            (piece,) = case.slices
            return S.load(code.scalar, "src", piece.word.offset.fix(self.fixed))
        parts, low = [], 0
        for written in case.slices:
            piece = self.here(written)
            word = S.word_bits(piece.word, "src")
            if self.body.level(piece.word.axes) < self.body.level(code.axes):
                ctype = f"uint{piece.word.scalar.bits}_t"
                word = self.body.bind(ctype, "w", word, piece.word.axes)
            text = S.cut(piece, word)
            cast = "(uint32_t)" if low + piece.width > 31 else ""
            parts.append(f"{cast}{text} << {low}" if low else text)
            low += piece.width
        return " | ".join(parts)

    def here(self, piece: Bits | Trit) -> Bits | Trit:
        """A slice with the unrolled axes' values in it."""
        indices = tuple(i.fix(self.fixed) for i in piece.word.indices)
        word = replace(piece.word, indices=indices)
        if isinstance(piece, Trit):
            return replace(piece, word=word, digit=piece.digit.fix(self.fixed))
        return replace(piece, word=word, shift=piece.shift.fix(self.fixed))


def shifting_axes(region: Region) -> set[str]:
    """Axes in shifts, digits and cases."""
    needed: set[str] = set()
    for case in (case for code in region.codes for case in code.cases):
        needed |= {axis for axis, _ in case.fixed}
        for piece in case.slices:
            needed |= piece.digit.axes if isinstance(piece, Trit) else piece.shift.axes
    return needed


def c_type(node: E.Node) -> str:
    """The C type of a node's value."""
    match node.type:
        case E.Int(low=low, high=high):
            return S.int_type(low, high)
        case E.Float(bits=64):
            return "double"
    return "float"


def literal(value: float) -> str:
    """A number as C; floats are exact float32."""
    return f"{value!r}f" if isinstance(value, float) else str(value)
