"""What ``valid`` asks, in C: how many values of a run of blocks break each condition."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ... import expr as E
from ...affine import Affine
from ...loops.dequantize import Loops, shifting_axes
from ...model import BlockType, Region
from ...scalars import Scalar
from ...validity import axes_of, conditions
from . import storage as S
from .text import Body

_MANY = 16
"""Values of a block from which on it pays to see first whether any of them is broken."""


@dataclass(frozen=True)
class Check:
    """One type's function: ``texts`` of its conditions, ``body`` counts those of a block.

    ``counter`` is the C type of the counts ``n_0``, ``n_1`` ...: as wide as the values of a plain
    type, so that they are counted in lanes.
    """

    name: str
    bytes: int
    texts: tuple[str, ...]
    counter: str
    body: str


def check(kind: BlockType) -> Check:
    """The function of a type; one without conditions has no text to compile."""
    found = conditions(kind, "block")
    body = Body()
    for place, one in enumerate(found):
        for number, node in one.nodes:
            _count(kind, kind.regions[number], node, body, f"n_{place}")
    bits = kind.fields[0].scalar.bits if kind.plain and kind.fields else 32
    counter = f"uint{max(bits, 16)}_t"
    texts = tuple(one.text for one in found)
    return Check(kind.name.lower(), kind.bytes, texts, counter, body.text())


def _count(kind: BlockType, region: Region, node: E.Node, body: Body, target: str) -> None:
    if _values(node, region) < _MANY:
        _Conditions(kind, region, body, node, f"{target} +=").run()
        return
    flag = body.fresh("any")
    body.line(f"uint8_t {flag} = 0;")
    _Conditions(kind, region, body, node, f"{flag} |=").run()
    body.open(f"if ({flag})")
    _Conditions(kind, region, body, node, f"{target} +=").run()
    body.close()


def _values(node: E.Node, region: Region) -> int:
    """How many values of a block a condition is held against."""
    return prod(region.extents[axis] for axis in node.axes)


class _Conditions(Loops):
    """A loop over the values of one condition; ``target`` takes a 1 for each that breaks it."""

    def __init__(
        self, kind: BlockType, region: Region, body: Body, node: E.Node, target: str
    ) -> None:
        super().__init__(kind, region, body)
        self.node, self.target = node, target
        self.unrolled = shifting_axes(region) if _values(node, region) >= _MANY else set(node.axes)

    def run(self) -> None:
        """Loops outside, what is unrolled inside: then each loop is one of vectors."""
        axes = axes_of(self.node, self.region)
        axes.sort(key=lambda axis: axis in self.unrolled)
        self.descend(tuple((axis, self.region.extents[axis]) for axis in axes))

    def leaf(self) -> None:
        self.body.line(f"{self.target} {self.test()};")

    def test(self) -> str:
        """1 where the condition is broken."""
        match self.node:
            case E.Compare(op=op, left=left, right=E.Literal(value=value)):
                return f"!({self.stored(left)} {op} {value})"
            case E.Finite(arg=E.Half(arg=arg)):
                return _not_finite(f"(uint32_t){self.value(arg)}", 5, 10)
            case E.Finite(arg=E.FieldRef(field=field) as arg) if field.scalar.ieee:
                return self.scalar_test(field.scalar, arg)
            case E.Finite(arg=E.CodeRef(name=name) as arg):
                scalar = self.region.code(name).scalar
                if scalar and scalar.ieee:
                    return self.scalar_test(scalar, arg)
                return _not_finite(f"single_bits({self.value(arg)})", 8, 23)
            case E.Finite(arg=arg):
                return _not_finite(f"single_bits({self.value(arg)})", 8, 23)
        raise S.NoForm(f"{type(self.node).__name__} as a condition")

    def scalar_test(self, scalar: Scalar, node: E.Node) -> str:
        return _not_finite(self.stored(node), scalar.exponent, scalar.mantissa)

    def stored(self, node: E.Node) -> str:
        """A field or code as it is stored, floats as their bits."""
        if isinstance(node, E.FieldRef):
            return S.load(node.field.scalar, "src", Affine(node.field.offset))
        assert isinstance(node, E.CodeRef)
        code = self.region.code(node.name)
        text = self.stored_code(code)
        return self.body.bind(S.array_type(code), f"c_{node.name}", text, node.axes)


def _not_finite(bits: str, exponent: int, mantissa: int) -> str:
    """Whether all bits of the exponent are set."""
    mask = f"0x{((1 << exponent) - 1) << mantissa:x}u" + ("ll" if exponent + mantissa > 31 else "")
    return f"({bits} & {mask}) == {mask}"
