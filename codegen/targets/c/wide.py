"""The wide form of dequantize: what is computed beforehand, which axes loop, what is stored.

First the values that all lanes of a vector share (scales, minimums, grid indices of several
parts) are computed for the whole block, eight at a time, into small arrays. Then each run of
elements is computed and stored. An axis of runs is a loop unless something needs its value:
a shift, a case, a digit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ... import expr as E
from ...affine import Affine
from ...model import BlockType, Code, Region
from .gather import BLOCK, Memory
from .lanes import LANES, Order, Run, Unroll, View, run_of, slices, trit_lanes, widest_run
from .lanewise import Context, Lanes, Stage
from .storage import NoForm
from .tables import CTable
from .text import Body, index, plus, row_major

MOST_VECTORS = 8
"""Values computed beforehand take at most so many vectors; more would not stay near."""


def dequantize(kind: BlockType, derived: list[CTable]) -> str | None:
    """The whole body of the function, or None where a plain loop has to serve.

    Tables that the text uses besides the codebooks are added to ``derived``.
    """
    unrolled: frozenset[str] = frozenset()
    while True:
        found: list[CTable] = []
        try:
            text = _function(kind, unrolled, found)
        except Unroll as need:
            if need.axes <= unrolled:
                return None
            unrolled |= need.axes
        except NoForm:
            return None
        else:
            derived += found
            return text


def _function(kind: BlockType, unrolled: frozenset[str], derived: list[CTable]) -> str:
    if kind.plain:
        raise NoForm("plain numbers: compilers do it as well")
    body = Body()
    head = f"for (size_t b = 0; b < n; b++, src += {kind.bytes}, dst += {kind.elements})"
    body.open(head, BLOCK)
    for region in kind.regions:
        memory = Memory(body, kind.bytes, _extents(region))
        context = Context(kind, region, memory, derived, {})
        run = widest_run(region.order)
        context = _stages(context, run)
        _runs(context, run, unrolled)
    body.close()
    return body.text()


def _extents(region: Region) -> dict[str, int]:
    """Extents of the loops; an axis at a run's edge counts runs instead of its own values."""
    return {**region.extents, **dict(widest_run(region.order).outer)}


# ---- runs


def _runs(context: Context, run: Run, unrolled: frozenset[str]) -> None:
    _nest(context, run, list(run.outer), {}, unrolled)


def _nest(
    context: Context,
    run: Run,
    rest: list[tuple[str, int]],
    bases: dict[str, Affine],
    unrolled: frozenset[str],
) -> None:
    if not rest:
        _store(context, View(bases, run.deltas))
        return
    (axis, extent), *inner = rest
    step = run.steps[axis]
    if axis in unrolled or extent == 1:
        for value in range(extent):
            _nest(context, run, inner, {**bases, axis: Affine(step * value)}, unrolled)
        return
    body = context.memory.body
    body.open(f"for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)", axis)
    loop = Affine.of(0, {axis: step})
    _nest(context, run, inner, {**bases, axis: loop}, unrolled)
    body.close()


def _store(context: Context, view: View) -> None:
    region = context.region
    place = Affine(region.start) + row_major(region.order)
    for start in range(0, len(view.deltas), LANES):
        lanes = Lanes(context, view, start)
        at = view.base(place) + Affine(view.offsets(place)[start])
        context.memory.body.line(f"store({plus('dst', at)}, {lanes.element()});")


# ---- values of all lanes, beforehand


def _stages(context: Context, run: Run) -> Context:
    """Compute what is worth it into arrays; the context then knows them."""
    stages: dict[str, Stage] = {}
    body = context.memory.body
    for name, node in _shared(context, run):
        order = tuple((a, n) for a, n in context.region.order if a in node.axes)
        is_float = isinstance(node.type, E.Float)
        try:
            texts = _vectors(context, name, node, order)
        except NoForm:
            continue
        array = body.array("float" if is_float else "int32_t", f"all_{name}", LANES * len(texts))
        how = "stage_floats" if is_float else "stage_ints"
        for number, text in enumerate(texts):
            body.line(f"{how}({plus(array, Affine(LANES * number))}, {text});")
        body.line(f"SETTLED({array});")
        stages[name] = Stage(array, order)
    return Context(
        context.kind, context.region, context.memory, context.derived, stages
    )


def _vectors(context: Context, name: str, node: E.Node, order: Order) -> list[str]:
    """The node over all its axes, eight values a vector."""
    cut = run_of(order, LANES)
    count = 1
    for _, extent in order:
        count *= extent
    if cut is None or count > LANES * MOST_VECTORS:
        raise NoForm(f"{name} does not fill vectors")
    strict = Context(
        context.kind, context.region, context.memory, context.derived, {}, strict=True
    )
    texts = []
    for values in product(*(range(extent) for _, extent in cut.outer)):
        bases = {
            axis: Affine(cut.steps[axis] * value)
            for (axis, _), value in zip(cut.outer, values, strict=True)
        }
        lanes = Lanes(strict, View(bases, cut.deltas))
        texts.append(lanes.real(node) if isinstance(node.type, E.Float) else lanes.integer(node))
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
    return all(len({lane.get(axis, 0) for lane in four}) == 1 for four in fours for axis in code.axes)


__all__ = ["dequantize", "index", "slices", "trit_lanes"]
