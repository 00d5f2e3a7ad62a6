"""Formulas as MathML, which browsers show by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ... import expr as E
from ...affine import Affine
from ...model import Derived, Region

MINUS = "&#8722;"


def formulas(region: Region) -> list[str]:
    """Each formula of a region as a block of its own, the element last."""
    writer = _Writer(region.axes)
    lefts = (_name(let.name, _ordered(region.axes, let.expr)) for let in region.decode)
    return [
        _math(f"{left}<mo>=</mo>{writer.text(let.expr)}")
        for left, let in zip(lefts, region.decode, strict=True)
    ]


def element(region: Region) -> str:
    """Where an element of the region stands in the block."""
    place, stride = Affine(region.start), 1
    for axis, extent in reversed(region.order):
        place += Affine.of(0, {axis: stride})
        stride *= extent
    ordered = sorted(place.terms, key=lambda term: -term[1])
    return _math(f"<mi>i</mi><mo>=</mo>{_affine(place.const, ordered)}")


def derived(item: Derived, axes: Sequence[str]) -> str:
    """The formula of a field that the quantizer fills."""
    return _math(f"{_word(item.field.name)}<mo>=</mo>{_Writer(axes).text(item.expr)}")


def _math(inside: str) -> str:
    return f'<div class="formula"><math display="block"><mrow>{inside}</mrow></math></div>'


def _ordered(axes: Sequence[str], node: E.Node) -> list[str]:
    return [axis for axis in axes if axis in node.axes]


def _word(text: str) -> str:
    variant = "" if len(text) == 1 else ' mathvariant="normal"'
    return f"<mi{variant}>{escape(text)}</mi>"


def _number(value: float) -> str:
    return f"<mn>{value}</mn>" if value >= 0 else f"<mo>{MINUS}</mo><mn>{-value}</mn>"


def _name(text: str, axes: Sequence[str]) -> str:
    if not axes:
        return _word(text)
    below = "<mo>,</mo>".join(f"<mi>{axis}</mi>" for axis in axes)
    return f"<msub>{_word(text)}<mrow>{below}</mrow></msub>"


def _affine(const: int, terms: Sequence[tuple[str, int]]) -> str:
    parts: list[str] = []
    for axis, factor in terms:
        size = "" if abs(factor) == 1 else f"<mn>{abs(factor)}</mn>"
        sign = f"<mo>{MINUS}</mo>" if factor < 0 else "<mo>+</mo>" if parts else ""
        parts.append(f"{sign}{size}<mi>{axis}</mi>")
    if const or not parts:
        parts.append(("<mo>+</mo>" if parts and const > 0 else "") + _number(const))
    return "".join(parts)


class _Writer:
    """Nodes to MathML; a sum inside of a product gets parentheses.

    axes: those of the region, in the order in which indices name them.
    """

    def __init__(self, axes: Sequence[str]) -> None:
        self.axes = axes

    def text(self, node: E.Node) -> str:
        match node:
            case E.Literal(value=value):
                return _number(value)
            case E.FieldRef(field=field):
                return _word(field.name)
            case E.CodeRef(name=name) | E.LetRef(name=name):
                return _name(name, _ordered(self.axes, node))
            case E.Convert(arg=arg):
                return self.text(arg)
            case E.Negate(arg=arg):
                return f"<mo>{MINUS}</mo>{self.factor(arg)}"
            case E.Binary():
                return self.binary(node)
            case E.Lookup(table=table, row=row, column=column):
                place = self.text(row)
                if column is not None:
                    place += f"<mo>,</mo>{_affine(column.const, column.terms)}"
                return f"{_word(table.name)}<mo>[</mo>{place}<mo>]</mo>"
            case E.Sign(arg=arg):
                return (
                    f"<msup><mrow><mo>(</mo><mo>{MINUS}</mo><mn>1</mn><mo>)</mo></mrow>"
                    f"<mrow>{self.text(arg)}</mrow></msup>"
                )
            case E.Bit() | E.Select() | E.Half():
                return self.call(node)
            case E.Sum(arg=arg, axis=axis):
                return f"<munder><mo>∑</mo><mi>{axis}</mi></munder>{self.factor(arg)}"
        raise TypeError(f"{type(node).__name__} in a formula of an element")

    def factor(self, node: E.Node) -> str:
        inner = node
        while isinstance(inner, E.Convert):
            inner = inner.arg
        text = self.text(inner)
        bare = isinstance(inner, E.Binary) and inner.op != "*"
        negative = isinstance(inner, E.Literal) and inner.value < 0
        if bare or negative or isinstance(inner, E.Negate):
            return f"<mo>(</mo>{text}<mo>)</mo>"
        return text

    def binary(self, node: E.Binary) -> str:
        if node.op == "*":
            return f"{self.factor(node.left)}<mo>·</mo>{self.factor(node.right)}"
        if node.op == "+":
            return f"{self.text(node.left)}<mo>+</mo>{self.text(node.right)}"
        return f"{self.text(node.left)}<mo>{MINUS}</mo>{self.factor(node.right)}"

    def call(self, node: E.Bit | E.Select | E.Half) -> str:
        match node:
            case E.Bit(arg=arg, shift=shift):
                name, arguments = "bit", [self.text(arg), _affine(shift.const, shift.terms)]
            case E.Select(cond=cond, yes=yes, no=no):
                name, arguments = "select", [self.text(part) for part in (cond, yes, no)]
            case E.Half(arg=arg):
                name, arguments = "f16", [self.text(arg)]
        return f"{_word(name)}<mo>(</mo>{'<mo>,</mo>'.join(arguments)}<mo>)</mo>"
