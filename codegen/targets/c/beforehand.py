"""What is computed for a whole block before its elements.

Values that all lanes of a vector share (scales, minimums, grid indices of several parts), eight
at a time instead of one by one; and codes put together from several fields, as byte planes.
Both go through small arrays, from which the elements' loops read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from ... import expr as E
from ...affine import Affine
from ...loops.text import row_major
from ...model import Code
from . import planes
from .context import Context, Lanes, Plane, Stage
from .integers import integer
from .lanes import LANES, Order, Run, View, run_of
from .reals import code_ref, few_values, real
from .schedule import nest
from .storage import NoForm, plus

MOST_VECTORS = 8
"""Shared values take at most so many vectors; more would not stay near."""


def prepared(context: Context, run: Run) -> Context:
    """Compute what is worth it into arrays; the context then knows them."""
    return _planes(_stages(context, run), run)


# ---- values that lanes share


def _stages(context: Context, run: Run) -> Context:
    """Compute what is worth it into arrays; the context then knows them."""
    stages: dict[str, Stage] = {}
    body = context.memory.body
    for name, node in _shared(context, run):
        order = tuple((a, n) for a, n in context.region.order if a in node.axes)
        is_float = isinstance(node.type, E.Float)
        mark = body.mark()
        try:
            texts = _vectors(context, name, node, order)
        except NoForm:
            body.reset(mark)
            continue
        array = body.array("float" if is_float else "int32_t", f"all_{name}", LANES * len(texts))
        how = "stage_floats" if is_float else "stage_ints"
        for number, text in enumerate(texts):
            body.line(f"{how}({plus(array, Affine(LANES * number))}, {text});")
        body.line(f"SETTLED({array});")
        stages[name] = Stage(array, order)
    return replace(context, stages=stages)


def _vectors(context: Context, name: str, node: E.Node, order: Order) -> list[str]:
    """The node over all its axes, eight values a vector."""
    cut = run_of(order, LANES)
    count = 1
    for _, extent in order:
        count *= extent
    if cut is None or count > LANES * MOST_VECTORS:
        raise NoForm(f"{name} does not fill vectors")
    strict = replace(context, strict=True)
    texts = []
    for values in product(*(range(extent) for _, extent in cut.outer)):
        bases = {
            axis: Affine(cut.steps[axis] * value)
            for (axis, _), value in zip(cut.outer, values, strict=True)
        }
        lanes = Lanes(strict, View(bases, cut.deltas))
        texts.append(real(lanes, node) if isinstance(node.type, E.Float) else integer(lanes, node))
    return texts


def _shared(context: Context, run: Run) -> Iterator[tuple[str, E.Node]]:
    """Named values that every vector's lanes share but runs do not, and indices of parts."""
    inner = _lane_axes(run)
    seen: set[str] = set()
    pending = [context.region.x]
    while pending:
        node = pending.pop()
        if isinstance(node, E.LetRef) and node.name not in seen:
            seen.add(node.name)
            formula = context.let(node.name)
            if node.axes and not node.axes & inner and isinstance(node.type, E.Float):
                yield node.name, formula
            else:
                pending.append(formula)
        elif isinstance(node, E.CodeRef) and node.name not in seen:
            seen.add(node.name)
            if _many_parts(context.region.code(node.name), run):
                yield node.name, node
        else:
            pending += E.children(node)


def _lane_axes(run: Run) -> frozenset[str]:
    """Axes that differ within some vector of eight."""
    return frozenset(
        axis
        for start in range(0, run.size, LANES)
        for axis in run.deltas[start]
        if len({lane[axis] for lane in run.deltas[start : start + LANES]}) > 1
    )


def _many_parts(code: Code, run: Run) -> bool:
    """Whether a code of several slices is the same for at least four lanes: a grid index."""
    if all(len(case.slices) < 2 for case in code.cases):
        return False
    fours = [run.deltas[at : at + 4] for at in range(0, run.size, 4)]
    return all(
        len({lane.get(axis, 0) for lane in four}) == 1 for four in fours for axis in code.axes
    )


# ---- codes of several fields


def _planes(context: Context, run: Run) -> Context:
    """Put codes together for the whole region where byte planes do it; the context knows them."""
    first = View({axis: Affine() for axis, _ in run.outer}, run.deltas)
    code = few_values(Lanes(context, first))
    wanted: Sequence[E.Node] = [code_ref(code)] if code else _integers(context)
    found = [node for node in wanted if planes.fits(node, context.region, first)]
    for number, node in enumerate(found):
        context = _plane(context, run, node, "codes" if not number else f"codes_{number}")
    return context


def _plane(context: Context, run: Run, node: E.Node, name: str) -> Context:
    body, place = context.memory.body, row_major(context.region.order)
    if len(context.kind.regions) > 1:
        name = f"{name}_from_{context.region.start}"
    array = body.array("uint8_t", name, context.region.size)

    def leaf(context: Context, view: View) -> None:
        text = planes.plane(node, context.region, view, context.memory)
        body.line(f"store_bytes({plus(array, view.base(place))}, {text});")

    nest(context, run, leaf)
    body.line(f"SETTLED({array});")
    return replace(context, planes=(*context.planes, Plane(node, array)))


def _integers(context: Context) -> Sequence[E.Node]:
    """The largest integer formulas in x."""
    found: list[E.Node] = []
    pending = [context.region.x]
    while pending:
        node = context.resolved(pending.pop())
        if isinstance(node.type, E.Int) and not isinstance(node, E.Lookup | E.Bit):
            found.append(node)
        else:
            pending += E.children(node)
    return found
