"""What a type's ``valid`` asks, by the storage that each condition looks at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import expr as E
from .affine import Affine, points
from .model import BlockType, Code, Field, Region

Place = Literal["block", "row", "tensor"]


@dataclass(frozen=True)
class Condition:
    """One line of ``valid``: what it looks at, and in each region that has it an expression."""

    text: str
    place: Place
    nodes: tuple[tuple[int, E.Node], ...]
    """Numbers of regions; a condition without codes is the first one's alone."""


def conditions(kind: BlockType, place: Place) -> tuple[Condition, ...]:
    """The conditions on what is stored in a block, once a row, or once a tensor."""
    made = []
    for number, text in enumerate(kind.regions[0].valid_text if kind.regions else ()):
        nodes = [region.valid[number] for region in kind.regions]
        if place_of(nodes[0], kind.prefix, kind.suffix) != place:
            continue
        of_codes = any(isinstance(node, E.CodeRef) for node in E.walk(nodes[0]))
        kept = enumerate(nodes if of_codes else nodes[:1])
        made.append(Condition(str(text), place, tuple(kept)))
    return tuple(made)


def place_of(node: E.Node, prefix: tuple[Field, ...], suffix: tuple[Field, ...]) -> Place | None:
    """Where all that a condition looks at is stored; None where it is nothing, or several."""
    places: set[Place] = set()
    for part in E.walk(node):
        if isinstance(part, E.CodeRef):
            places.add("block")
        if isinstance(part, E.FieldRef):
            stored = part.field
            places.add("row" if stored in prefix else "tensor" if stored in suffix else "block")
    return places.pop() if len(places) == 1 else None


def offsets(condition: Condition, kind: BlockType) -> list[int]:
    """The first word of each value that a condition is held against, in order, in bytes."""
    return [
        word_at(node, kind.regions[number], point).at(point)
        for number, node in condition.nodes
        for point in points(axes_of(node, kind.regions[number]), kind.regions[number].extents)
    ]


def axes_of(node: E.Node, region: Region) -> list[str]:
    """The axes over which a condition's values lie, the last one fastest."""
    return [axis for axis in region.axes if axis in node.axes]


def word_at(node: E.Node, region: Region, point: dict[str, int]) -> Affine:
    """The place of the first word behind a node, at a point of its axes."""
    for part in E.walk(node):
        if isinstance(part, E.FieldRef):
            return Affine(part.field.offset)
        if isinstance(part, E.CodeRef):
            return _first(region.code(part.name), point)
    raise ValueError("a condition on nothing")


def _first(code: Code, point: dict[str, int]) -> Affine:
    case = next(c for c in code.cases if all(point[axis] == value for axis, value in c.fixed))
    return case.slices[0].word.offset
