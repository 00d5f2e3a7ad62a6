"""Values as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .vega import (
    BAR,
    INK,
    MIDDLE,
    SOFT,
    WIDE,
    Size,
    Spec,
    axis,
    frame,
    label_width,
    labels,
    letters,
    marked,
    row_names,
)


@dataclass(frozen=True)
class Bar:
    """A bar with its value and the text behind it."""

    label: str
    value: float
    note: str
    brief: str  # the note where there is less room
    tip: str


def bars(rows: Sequence[Bar], mean: float, unit: str, size: Size) -> Spec:
    """A horizontal bar a row, with a line where the mean of all is."""
    notes = [bar.note if size is WIDE else bar.brief for bar in rows]
    step = 22
    left = label_width((bar.label for bar in rows), size, 0.34)
    right = label_width(notes, size, 0.32)
    width, height = size.width - left - right, step * len(rows)
    most = max((*(bar.value for bar in rows), mean)) or 1
    y = {"scale": "y", "field": "label"}
    top, bottom = 1.6 * size.font, 3.2 * size.font
    return frame(size, height, left=left, right=right, top=top, bottom=bottom) | {
        "data": [
            {
                "name": "bars",
                "values": [
                    {"label": bar.label, "value": bar.value, "note": note, "tip": bar.tip}
                    for bar, note in zip(rows, notes, strict=True)
                ],
            },
            {"name": "mean", "values": [{"value": mean, "label": f"whole file {mean:.2f}"}]},
        ],
        "scales": [
            {"name": "x", "type": "linear", "domain": [0, most], "range": [0, width]},
            {
                "name": "y",
                "type": "band",
                "domain": [bar.label for bar in rows],
                "range": [0, height],
                "padding": 0.2,
            },
        ],
        "axes": [
            axis("bottom", "x", size, title=unit, grid=True, tickCount=6 if size is WIDE else 4),
            row_names(left, size),
        ],
        "marks": [
            {
                "type": "rect",
                "from": {"data": "bars"},
                "encode": {
                    "enter": {
                        "x": {"value": 0},
                        "x2": {"scale": "x", "field": "value"},
                        "y": y,
                        "height": {"scale": "y", "band": 1},
                        **marked(),
                        "fill": BAR,
                    }
                },
            },
            labels(
                "bars",
                {"x": {"value": width + 8}, "y": {**y, "band": 0.5}},
                size.font - 1,
                "note",
                SOFT,
                f"{letters(right, size)}",
                baseline=MIDDLE,
            ),
            {
                "type": "rule",
                "from": {"data": "mean"},
                "encode": {
                    "enter": {
                        "x": {"scale": "x", "field": "value"},
                        "y": {"value": -3},
                        "y2": {"value": height},
                        "stroke": INK,
                        "strokeDash": {"value": [4, 3]},
                    }
                },
            },
            labels(
                "mean",
                {"x": {"scale": "x", "field": "value"}, "y": {"value": -6}},
                size.font - 1,
                "label",
                INK,
                align={"value": "center"},
            ),
        ],
    }  # fmt: skip
