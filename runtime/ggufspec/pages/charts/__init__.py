"""The plots as Vega specifications, each for a wide page and for a narrow one."""

from __future__ import annotations

from .bars import Bar, bars
from .heat_map import Square, heat_map
from .histogram import Bin, histogram
from .treemap import Leaf, treemap
from .vega import SIZES, Size, Spec

__all__ = [
    "SIZES", "Bar", "Bin", "Leaf", "Size", "Spec", "Square", "bars", "heat_map", "histogram",
    "treemap",
]  # fmt: skip
