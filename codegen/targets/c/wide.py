"""The wide form of dequantize: eight elements at a time, in the order in which they are stored."""

from __future__ import annotations

from ...affine import Affine
from ...loops.text import row_major
from ...model import BlockType
from .beforehand import prepared
from .context import Context, Lanes
from .gather import BLOCK, Memory
from .lanes import LANES, View, widest_run
from .plain import batch
from .reals import element
from .schedule import nest
from .storage import NoForm, plus
from .tables import CTable
from .text import Body


def dequantize(kind: BlockType, derived: list[CTable]) -> str | None:
    """The whole body of the function, or None where a plain loop has to serve.

    For plain numbers it leaves the last few to that loop.
    Tables that the text uses besides the codebooks are added to ``derived``.
    """
    found: list[CTable] = []
    try:
        text = _function(kind, found)
    except NoForm:
        return None
    derived += found
    return text


def _function(kind: BlockType, derived: list[CTable]) -> str:
    body = Body()
    head = f"for (size_t b = 0; b < n; b++, src += {kind.bytes}, dst += {kind.elements})"
    if kind.plain:
        kind = batch(kind)
        step = f"n -= {kind.elements}, src += {kind.bytes}, dst += {kind.elements}"
        head = f"for (; n >= {kind.elements}; {step})"
    body.open(head, BLOCK)
    for region in kind.regions:
        run = widest_run(region.order)
        # An axis at a run's edge counts runs instead of its own values.
        extents = {**region.extents, **dict(run.outer)}
        context = Context(kind, region, Memory(body, kind.bytes, extents), derived, {})
        nest(prepared(context, run), run, _store)
    body.close()
    return body.text()


def _store(context: Context, view: View) -> None:
    region = context.region
    place = Affine(region.start) + row_major(region.order)
    for start in range(0, len(view.deltas), LANES):
        lanes = Lanes(context, view, start)
        at = view.base(place) + Affine(view.offsets(place)[start])
        context.memory.body.line(f"store({plus('dst', at)}, {element(lanes)});")
