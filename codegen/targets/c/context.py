"""What a formula in lanes stands in: the type, the lanes, and what was computed before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ... import expr as E
from ...affine import Affine
from ...loops.text import index, row_major
from ...model import BlockType, Code, Region
from .gather import BLOCK, Memory
from .lanes import LANES, View
from .tables import CTable


@dataclass(frozen=True)
class Stage:
    """A value of all lanes, computed for all of a block beforehand: an array over its axes."""

    array: str
    order: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Plane:
    """Finished codes of a whole region, a byte each, in the order of its elements."""

    formula: E.Node
    array: str


@dataclass(frozen=True)
class Context:
    """What formulas of one region need besides the lanes.

    ``derived`` collects the tables that the text asks for. With ``strict`` lanes that only
    one scalar load each could fill raise NoForm.
    """

    kind: BlockType
    region: Region
    memory: Memory
    derived: list[CTable]
    stages: Mapping[str, Stage]
    planes: tuple[Plane, ...] = ()
    strict: bool = False

    def let(self, name: str) -> E.Node:
        """The formula called ``name``."""
        return next(let.expr for let in self.region.decode if let.name == name)

    def resolved(self, node: E.Node) -> E.Node:
        """A named formula as the formula itself."""
        return self.resolved(self.let(node.name)) if isinstance(node, E.LetRef) else node

    def constant(self, ctype: str, text: str) -> str:
        """Name a value that no block changes."""
        return self.memory.body.bind(ctype, "k", text, ())


@dataclass(frozen=True)
class Lanes:
    """Eight lanes of a run, from its lane ``start`` on.

    ``chosen`` is a code that stands for its values 0, 1, 2, 3 in the lanes instead.
    """

    context: Context
    run: View
    start: int = 0
    chosen: str | None = None

    @property
    def view(self) -> View:
        """The eight lanes alone."""
        return self.run.part(self.start, LANES)

    def varies(self, node: E.Node) -> bool:
        """Whether a node may differ between the lanes."""
        return self.view.varies(node.axes)

    def code(self, name: str) -> Code:
        """The region's code called ``name``."""
        return self.context.region.code(name)

    def bind(self, ctype: str, hint: str, text: str, axes: frozenset[str]) -> str:
        """Name a value as far out as the loops that it depends on allow."""
        loops = {BLOCK, *self.view.loops(axes)}
        return self.context.memory.body.bind(ctype, hint, text, loops)

    def staged(self, node: E.Node, lane: int = 0) -> str | None:
        """The array element that holds a value computed beforehand."""
        if not isinstance(node, E.LetRef | E.CodeRef):
            return None
        stage = self.context.stages.get(node.name)
        if stage is None:
            return None
        place = self.at(row_major(stage.order), lane)
        return f"{stage.array}[{index(place)}]"

    def at(self, affine: Affine, lane: int = 0) -> Affine:
        """An affine map in one lane, as loops have it."""
        return self.view.base(affine) + Affine(self.view.offsets(affine)[lane])
