"""What the plots have in common: sizes, frames, axes, labels, as Vega specifies them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..draw import SCHEMA

Spec = dict[str, Any]
INK = {"value": "var(--ink)"}
SOFT = {"value": "var(--soft)"}
BAR = {"value": "var(--bar)"}
MIDDLE = {"value": "middle"}
LETTER = 0.6
"""Width of a letter, in font sizes; on the safe side."""


@dataclass(frozen=True)
class Size:
    """A page's kind: width of plots and size of letters in CSS pixels."""

    name: str
    width: int
    font: float
    most: int  # areas in a treemap


WIDE = Size("wide", 960, 12, 1500)
NARROW = Size("narrow", 400, 12.5, 900)
SIZES = (WIDE, NARROW)


def frame(
    size: Size,
    height: float,
    *,
    left: float = 0,
    right: float = 0,
    top: float = 0,
    bottom: float = 0,
) -> Spec:
    """A drawing of a known size: what is around the plot is given, not found out."""
    return {
        "$schema": SCHEMA,
        "width": size.width - left - right,
        "height": height,
        "padding": {"left": left, "right": right, "top": top, "bottom": bottom},
        "autosize": "none",
        "config": {"text": {"font": "Arial"}, "axis": {"labelFont": "Arial", "titleFont": "Arial"}},
    }


def axis(orient: str, scale: str, size: Size, **more: Any) -> Spec:
    """An axis without lines of its own."""
    return {
        "orient": orient,
        "scale": scale,
        "labelFontSize": size.font - 1,
        "titleFontSize": size.font - 1,
        "titleFontWeight": "normal",
        "labelColor": INK["value"],
        "titleColor": SOFT["value"],
        "gridColor": "var(--line)",
        "domain": False,
        "ticks": False,
        **more,
    }


def row_names(left: float, size: Size) -> Spec:
    """The names of rows, cut to the room that there is."""
    text = f"truncate(datum.label, {letters(left, size)}, 'right', '…')"
    labels = {"update": {"text": {"signal": text}}}
    return axis("left", "y", size, labelLimit=0, labelPadding=6, encode={"labels": labels})


def labels(
    data: str,
    where: Spec,
    font: float,
    field: str,
    fill: Spec,
    most: str = "",
    **more: Spec,
) -> Spec:
    """Labels, cut to ``most`` letters (an expression). Vega measures with fonts of this machine."""
    cut = f"truncate(datum.{field}, max(1, floor({most})), 'right', '…')"
    return {
        "type": "text",
        "from": {"data": data},
        "encode": {
            "enter": {
                **where,
                "text": {"signal": cut} if most else {"field": field},
                "fontSize": {"value": font},
                "fill": fill,
                "aria": {"value": False},
                **more,
            }
        },
    }


def marked() -> Spec:
    """An area with its colour, and the words that belong to it."""
    return {
        "fill": {"field": "fill"},
        "description": {"field": "tip"},
        "ariaRole": {"value": "img"},
    }


def filtered(name: str, source: str, condition: str) -> Spec:
    """Those of ``source`` that an expression holds for."""
    return {"name": name, "source": source, "transform": [{"type": "filter", "expr": condition}]}


def letters(room: float, size: Size) -> int:
    """How many letters fit."""
    return int((room - 8) / (LETTER * (size.font - 1)))


def label_width(labels: Iterable[str], size: Size, most: float) -> float:
    """Room for the longest of the labels, at most a share of the plot's width."""
    longest = max(map(len, labels), default=0)
    return min(most * size.width, longest * LETTER * (size.font - 1) + 12)
