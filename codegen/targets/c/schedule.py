"""Loops over runs: an axis is a loop unless a shift, a case or a digit needs its value."""

from __future__ import annotations

from collections.abc import Callable

from ...affine import Affine
from .context import Context
from .lanes import Run, Unroll, View
from .storage import NoForm

Leaf = Callable[[Context, View], None]


def nest(context: Context, run: Run, leaf: Leaf) -> None:
    """Say ``leaf`` for each run: in loops, but over axes whose value it needs one by one."""
    unrolled: frozenset[str] = frozenset()
    body = context.memory.body
    while True:
        mark = body.mark()
        try:
            _descend(context, run, list(run.outer), {}, unrolled, leaf)
        except Unroll as need:
            body.reset(mark)
            if need.axes <= unrolled:
                raise NoForm(str(need)) from None
            unrolled |= need.axes
        else:
            return


def _descend(
    context: Context,
    run: Run,
    rest: list[tuple[str, int]],
    bases: dict[str, Affine],
    unrolled: frozenset[str],
    leaf: Leaf,
) -> None:
    if not rest:
        leaf(context, View(bases, run.deltas))
        return
    (axis, extent), *inner = rest
    step = run.steps[axis]
    if axis in unrolled or extent == 1:
        for value in range(extent):
            fixed = {**bases, axis: Affine(step * value)}
            _descend(context, run, inner, fixed, unrolled, leaf)
        return
    with context.memory.body.loops([(axis, extent)]):
        loop = {**bases, axis: Affine.of(0, {axis: step})}
        _descend(context, run, inner, loop, unrolled, leaf)
