"""Roles as rows, layers as columns, colours as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..colours import Swatch
from .vega import (
    MIDDLE,
    SOFT,
    WIDE,
    Size,
    Spec,
    axis,
    filtered,
    frame,
    label_width,
    labels,
    letters,
    marked,
    row_names,
)


@dataclass(frozen=True)
class Square:
    """A cell of a heat map; ``column`` is None for one that stands for no single layer."""

    row: str
    column: int | None
    tip: str
    colour: Swatch


def heat_map(squares: Sequence[Square], notes: Mapping[str, str], size: Size) -> Spec:
    """Rows of ``notes``, in its order, with layers as columns and the notes behind.

    A square of no layer fills its row.
    """
    rows = list(notes)
    columns = sorted({square.column for square in squares if square.column is not None})
    step = 22 if size is WIDE else 20
    left = label_width(rows, size, 0.2 if size is WIDE else 0.32)
    right = label_width(notes.values(), size, 0.28) if size is WIDE else 4
    width = size.width - left - right
    height = step * len(rows)
    return frame(size, height, left=left, right=right, bottom=3.2 * size.font) | {
        "data": [
            {
                "name": "cells",
                "values": [
                    {
                        "row": square.row,
                        "column": square.column,
                        "fill": square.colour.fill,
                        "tip": square.tip,
                    }
                    for square in squares
                ],
            },
            filtered("inside", "cells", "isValid(datum.column)"),
            filtered("across", "cells", "!isValid(datum.column)"),
            {"name": "notes", "values": [{"row": row, "note": notes[row]} for row in rows]},
        ],
        "scales": [
            {
                "name": "x",
                "type": "band",
                "domain": columns,
                "range": [0, width],
                "paddingInner": min(0.1, len(columns) / width),
            },
            {"name": "y", "type": "band", "domain": rows, "range": [0, height], "padding": 0.08},
        ],
        "axes": [
            row_names(left, size),
            axis(
                "bottom", "x", size, title="layer", labelOverlap="parity", labelSeparation=4,
                labelAngle=0, values=_ticks(columns),
            ),
        ],
        "marks": [
            _cells(
                "inside",
                {"x": {"scale": "x", "field": "column"}, "width": {"scale": "x", "band": 1}},
            ),
            _cells("across", {"x": {"value": 0}, "width": {"value": width}}),
            *([
                labels(
                    "notes",
                    {"x": {"value": width + 8}, "y": {"scale": "y", "field": "row", "band": 0.5}},
                    size.font - 1,
                    "note",
                    SOFT,
                    f"{letters(right, size)}",
                    baseline=MIDDLE,
                )
            ] * (size is WIDE)),
        ],
    }  # fmt: skip


def _cells(data: str, where: Spec) -> Spec:
    return {
        "type": "rect",
        "from": {"data": data},
        "encode": {
            "enter": {
                **where,
                "y": {"scale": "y", "field": "row"},
                "height": {"scale": "y", "band": 1},
                **marked(),
            }
        },
    }


def _ticks(columns: Sequence[int]) -> list[int]:
    """Few enough numbers to stand below their columns."""
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if len(columns) <= 24 * step)
    return [number for number in columns if number % step == 0]
