"""How far a file's tensors are from those of a reference: by tensor, role, layer and block."""

from __future__ import annotations

from .blocks import Blocks, Histogram, WorstBlock
from .measuring import Wanted
from .models import (
    Comparison,
    Group,
    Grouping,
    Measured,
    Undecoded,
    compare,
    compare_models,
    measure,
    measure_pairs,
)
from .pairs import Matching, Pair, match
from .places import Place, place_of
from .sums import Sums

__all__ = [
    "Blocks", "Comparison", "Group", "Grouping", "Histogram", "Matching", "Measured", "Pair",
    "Place", "Sums", "Undecoded", "Wanted", "WorstBlock", "compare", "compare_models", "match",
    "measure", "measure_pairs", "place_of",
]  # fmt: skip
