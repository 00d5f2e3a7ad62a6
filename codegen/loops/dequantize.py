"""dequantize as plain loops: right for every type of the block language."""

from __future__ import annotations

from dataclasses import replace

from .. import expr as E
from ..affine import Affine
from ..model import Bits, BlockType, Case, Code, Region, Trit
from .language import Language, Part
from .text import Body, index, row_major


def dequantize(kind: BlockType, language: Language) -> str:
    """The body of the loop over blocks: ``src`` at a block, ``dst`` at its elements."""
    body = Body(language)
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
        self.language = body.language
        self.lets = {let.name: let.expr for let in region.decode}
        self.bases = {f.name: "row" for f in kind.prefix} | {f.name: "tail" for f in kind.suffix}
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
        with self.body.loops([(axis, extent)], short=not inner and extent <= 16):
            self.descend(tuple(inner))

    def leaf(self) -> None:
        """What is done for each value, innermost."""
        place = Affine(self.region.start) + row_major(self.region.order)
        self.body.line(self.language.store(self.at(place), self.value(self.region.x)))

    def at(self, affine: Affine) -> str:
        return index(affine.fix(self.fixed))

    def value(self, node: E.Node) -> str:
        """The text of a node; parts that belong to an outer loop are named there."""
        say = self.language
        match node:
            case E.Literal(value=value):
                return say.literal(value, node.type)
            case E.LetRef(name=name):
                return self.bind(node, name, self.value(self.lets[name]))
            case E.CodeRef(name=name):
                return self.bind(node, name, self.code(self.region.code(name)))
            case E.FieldRef(field=field):
                base, offset = self.bases.get(field.name, "src"), str(field.offset)
                if field.scalar.is_float:
                    word = say.load(field.scalar.bits, base, offset)
                    stored = say.real(field.scalar, word, many=self.plain)
                else:
                    stored = say.integer(field.scalar, base, offset)
                return self.bind(node, field.name, stored)
            case E.Convert(arg=arg):
                return say.to_float(self.part(arg, node), arg.type)
            case E.Negate(arg=arg):
                return say.negate(self.part(arg, node), node.type)
            case E.Binary(op=op, left=left, right=right):
                return say.binary(op, self.part(left, node), self.part(right, node), node.type)
            case E.Lookup(table=table, row=row, column=column):
                at = None if column is None else self.at(column)
                return say.lookup(table, self.part(row, node), at)
            case E.Bit(arg=arg, shift=shift):
                return say.bit(self.part(arg, node), self.at(shift))
            case E.Sign(arg=arg):
                return say.sign(self.part(arg, node))
            case E.Select(cond=cond, yes=yes, no=no):
                return say.select(*(self.part(part, node) for part in (cond, yes, no)))
            case E.Half(arg=arg):
                return say.half(self.part(arg, node))
        raise TypeError(f"{type(node).__name__} in a decode formula")

    def part(self, node: E.Node, whole: E.Node) -> str:
        text = self.value(node)
        outer = self.body.level(node.axes) < self.body.level(whole.axes)
        composite = not isinstance(node, E.Literal | E.LetRef | E.CodeRef | E.FieldRef)
        return self.bind(node, "t", text) if outer and composite else text

    def bind(self, node: E.Node, hint: str, text: str) -> str:
        return self.body.bind(self.language.type(node.type), f"v_{hint}", text, node.axes)

    def code(self, code: Code) -> str:
        text = self.stored_code(code)
        if code.is_float and code.scalar:
            return self.language.real(code.scalar, text, many=True)
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
            text = self.language.choose(condition, value, text)
        return text

    def condition(self, case: Case) -> str:
        loops = [(axis, value) for axis, value in case.fixed if axis not in self.fixed]
        return self.language.both([self.language.equal(axis, value) for axis, value in loops])

    def joined(self, case: Case, code: Code) -> str:
        if code.scalar and code.scalar.kind == "int":
            (piece,) = case.slices
            return self.language.integer(code.scalar, "src", self.at(piece.word.offset))
        parts, low = [], 0
        for written in case.slices:
            piece = self.here(written)
            bits = piece.word.scalar.bits
            word = self.language.load(bits, "src", index(piece.word.offset))
            if self.body.level(piece.word.axes) < self.body.level(code.axes):
                word = self.body.bind(self.language.word_type(bits), "w", word, piece.word.axes)
            parts.append(Part(self.cut(piece, word), low, piece.width))
            low += piece.width
        if code.is_float:
            return parts[0].text
        return self.language.join(parts, E.Int(code.low, code.high))

    def cut(self, piece: Bits | Trit, word: str) -> str:
        if isinstance(piece, Trit):
            return self.language.trit(word, index(piece.digit))
        if piece.is_word:
            return word
        return self.language.cut(word, piece.word.scalar.bits, piece.shift, piece.width)

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
