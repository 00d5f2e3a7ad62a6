"""The portable form of dequantize: plain loops, right for every type of the language."""

from __future__ import annotations

from ... import expr as E
from ...affine import Affine
from ...model import BlockType, Case, Code, Region
from . import storage as S
from .text import Body, index, row_major


def dequantize(kind: BlockType) -> str:
    """The body of the block loop: ``src`` at a block, ``dst`` at its elements."""
    body = Body()
    for region in kind.regions:
        if len(kind.regions) > 1:
            body.open("")
        _Loops(kind, region, body).run()
        if len(kind.regions) > 1:
            body.close()
    return body.text()


class _Loops:
    """One region: a loop an axis, every value as far out as its axes allow."""

    def __init__(self, kind: BlockType, region: Region, body: Body) -> None:
        self.region = region
        self.body = body
        self.lets = {let.name: let.expr for let in region.decode}
        self.pointers = {f.name: "row" for f in kind.prefix} | {f.name: "tail" for f in kind.suffix}

    def run(self) -> None:
        for number, (axis, extent) in enumerate(self.region.order):
            inner = number == len(self.region.order) - 1
            rolled = "GGUFSPEC_ROLLED " if inner and extent <= 16 else ""
            loop = f"for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)"
            self.body.open(rolled + loop, axis)
        place = Affine(self.region.start) + row_major(self.region.order)
        self.body.line(f"dst[{index(place)}] = {self.value(self.region.x)};")
        for _ in self.region.order:
            self.body.close()

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
                stored = S.field_value(field, self.pointers.get(field.name, "src"))
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
                return f"(({self.part(arg, node)} >> ({index(shift)})) & 1)"
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
        return f"table_{name}[{shape[1]} * {row} + {index(column)}]"

    def code(self, code: Code) -> str:
        *rest, last = [(self.fixed(case), self.joined(case, code)) for case in code.cases]
        text = last[1]
        for condition, value in reversed(rest):
            text = f"{condition} ? {value} : {text}"
        return S.as_float(code.scalar, text) if code.is_float and code.scalar else text

    def fixed(self, case: Case) -> str:
        return " && ".join(f"i_{axis} == {value}" for axis, value in case.fixed)

    def joined(self, case: Case, code: Code) -> str:
        if code.scalar and code.scalar.kind == "int":
            (piece,) = case.slices
            return S.load(code.scalar, "src", piece.word.offset)
        parts, low = [], 0
        for piece in case.slices:
            word = S.word_bits(piece.word, "src")
            if self.body.level(piece.word.axes) < self.body.level(code.axes):
                word = self.body.bind(
                    f"uint{piece.word.scalar.bits}_t", "w", word, piece.word.axes
                )
            text = S.cut(piece, word)
            cast = "(uint32_t)" if low + piece.width > 31 else ""
            parts.append(f"{cast}{text} << {low}" if low else text)
            low += piece.width
        return " | ".join(parts)


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
