"""Counts of blocks by their error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .vega import BAR, Size, Spec, axis, frame, marked


@dataclass(frozen=True)
class Bin:
    """One bar of a histogram, from ``low`` to ``high``."""

    low: float
    high: float
    count: int
    tip: str


def histogram(bins: Sequence[Bin], title: str, size: Size) -> Spec:
    """How many blocks there are of each size of error."""
    left, height = 4.6 * size.font, 220
    width = size.width - left - 16
    return frame(size, height, left=left, right=16, top=8, bottom=3.4 * size.font) | {
        "data": [
            {
                "name": "bins",
                "values": [
                    {"low": b.low, "high": b.high, "count": b.count, "tip": b.tip} for b in bins
                ],
            }
        ],
        "scales": [
            {
                "name": "x",
                "type": "log",
                "domain": [min(b.low for b in bins), max(b.high for b in bins)],
                "range": [0, width],
            },
            {
                "name": "y",
                "type": "linear",
                "domain": [0, max(b.count for b in bins)],
                "range": [height, 0],
                "nice": True,
            },
        ],
        "axes": [
            axis(
                "bottom",
                "x",
                size,
                title=title,
                format="~g",
                labelOverlap="greedy",
                labelSeparation=6,
                labelFlush=True,
            ),
            axis(
                "left",
                "y",
                size,
                title="blocks",
                grid=True,
                tickCount=4,
                encode={"labels": {"update": {"text": {"signal": "format(datum.value, '~s')"}}}},
            ),
        ],
        "marks": [
            {
                "type": "rect",
                "from": {"data": "bins"},
                "encode": {
                    "enter": {
                        "x": {"scale": "x", "field": "low", "offset": 0.5},
                        "x2": {"scale": "x", "field": "high", "offset": -0.5},
                        "y": {"scale": "y", "field": "count"},
                        "y2": {"scale": "y", "value": 0},
                        **marked(),
                        "fill": BAR,
                    }
                },
            }
        ],
    }
