"""Typed expressions: each node knows its type (integer range or float) and its axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .affine import Affine
from .tables import Table

if TYPE_CHECKING:
    from .model import Field


@dataclass(frozen=True)
class Int:
    """An exact integer between ``low`` and ``high``, both included."""

    low: int
    high: int


@dataclass(frozen=True)
class Float:
    """A binary float; everything computed is 32 bits wide, 64 only as stored."""

    bits: int = 32


@dataclass(frozen=True)
class Bool:
    """A condition, in ``valid`` only."""


Type = Int | Float | Bool
F32 = Float(32)


@dataclass(frozen=True)
class Node:
    type: Type
    axes: frozenset[str]


@dataclass(frozen=True)
class Literal(Node):
    value: int | float


@dataclass(frozen=True)
class FieldRef(Node):
    """A single stored value, or one of the row's or tensor's."""

    field: Field


@dataclass(frozen=True)
class CodeRef(Node):
    name: str


@dataclass(frozen=True)
class LetRef(Node):
    name: str


@dataclass(frozen=True)
class Convert(Node):
    """To float32: exact for integers below 2^24, else (plain types) one nearest-even rounding."""

    arg: Node


@dataclass(frozen=True)
class Negate(Node):
    """Minus: of an integer exact, of a float a flip of the sign bit."""

    arg: Node


@dataclass(frozen=True)
class Binary(Node):
    """``+ - *``: integers exact; float32 one rounding, never fused, never reordered."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Lookup(Node):
    """``table[row]`` or ``table[row, column]``; the column is affine in axes."""

    table: Table
    row: Node
    column: Affine | None


@dataclass(frozen=True)
class Bit(Node):
    """Bit ``shift`` (affine) of an integer: 0 or 1."""

    arg: Node
    shift: Affine


@dataclass(frozen=True)
class Sign(Node):
    """-1.0 where the bit is 1, else 1.0."""

    arg: Node


@dataclass(frozen=True)
class Select(Node):
    cond: Node
    yes: Node
    no: Node


@dataclass(frozen=True)
class Half(Node):
    """The float32 of an IEEE half's 16 bits."""

    arg: Node


@dataclass(frozen=True)
class Sum(Node):
    """Sum over one axis, in ``derived`` only."""

    arg: Node
    axis: str


@dataclass(frozen=True)
class Compare(Node):
    """``<= < == != >= >``; a stored small float against an integer compares its stored byte."""

    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Finite(Node):
    arg: Node


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Convert() | Negate() | Bit() | Sign() | Half() | Sum() | Finite():
            return (node.arg,)
        case Binary() | Compare():
            return (node.left, node.right)
        case Lookup():
            return (node.row,)
        case Select():
            return (node.cond, node.yes, node.no)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """The node and everything below it."""
    pending = [node]
    while pending:
        here = pending.pop()
        yield here
        pending += children(here)
