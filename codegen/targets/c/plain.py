"""Plain numbers in lanes: a row of them is one long block of whole words."""

from __future__ import annotations

from dataclasses import replace

from ... import expr as E
from ...affine import Affine
from ...model import Bits, BlockType, Case, Code, Field, Let, Region, Word
from .storage import NoForm

COUNT = 32
"""Numbers that are taken at once."""


def batch(kind: BlockType) -> BlockType:
    """A type of one stored number an element, as a block of 32; NoForm for other plain types."""
    (region,) = kind.regions
    (stored, *others) = kind.fields
    node = region.x.arg if isinstance(region.x, E.Convert) else region.x
    if others or kind.prefix or kind.suffix or not isinstance(node, E.FieldRef):
        raise NoForm("not one stored number an element")
    field = Field(stored.name, stored.scalar, stored.offset, (COUNT,), (kind.bytes,))
    axis = frozenset({"e"})
    word = Bits(Word(field, (Affine.of(0, {"e": 1}),)), Affine(0), stored.scalar.bits)
    low, high = stored.scalar.low, stored.scalar.high
    code = Code(stored.name, ("e",), (Case((), (word,)),), word.width, low, high, stored.scalar)
    x: E.Node = E.CodeRef(node.type, axis, stored.name)
    if isinstance(region.x, E.Convert):
        x = E.Convert(E.F32, axis, x)
    made = Region(0, (("e", COUNT),), (code,), (Let("x", x),), (), ())
    return replace(kind, elements=COUNT, bytes=COUNT * kind.bytes, fields=(field,), regions=(made,))
