"""The NumPy back end: a type's strategy on a tile of rows, then the generated ``pack``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import blocks
from ..blocks.rows import TILE
from ..blocks.view import bfloat
from ..generated.quantizers import QUANTIZERS
from ..registry import TensorType
from .affine import affine_search, nested_affine_search
from .arithmetic import Codes, Floats
from .codebook import codebook_search
from .constants import (
    Absmax,
    AffineSearch,
    CodebookSearch,
    Convert,
    GridSearch,
    MeanSign,
    MinMax,
    NearestValue,
    NestedAffineSearch,
    NestedSymmetricSearch,
    Recipe,
    ReciprocalAbsmax,
    SignedAbsmax,
    SymmetricSearch,
    TernaryGrid,
)
from .fault import Fault
from .grid import grid_search
from .simple import (
    absmax,
    convert,
    mean_sign,
    min_max,
    nearest_value,
    reciprocal_absmax,
    signed_absmax,
)
from .symmetric import nested_symmetric_search, symmetric_search
from .ternary_grid import ternary_grid

STRATEGIES: Mapping[type, Callable[[Floats, Floats | None, Any], Codes]] = {
    Absmax: absmax,
    AffineSearch: affine_search,
    CodebookSearch: codebook_search,
    Convert: convert,
    GridSearch: grid_search,
    MeanSign: mean_sign,
    MinMax: min_max,
    NearestValue: nearest_value,
    NestedAffineSearch: nested_affine_search,
    NestedSymmetricSearch: nested_symmetric_search,
    ReciprocalAbsmax: reciprocal_absmax,
    SignedAbsmax: signed_absmax,
    SymmetricSearch: symmetric_search,
    TernaryGrid: ternary_grid,
}
"""Rows (n, row), an importance (row,) or None, constants: to the numbers of n * row blocks."""


def quantize(
    kind: TensorType, x: Floats, out: NDArray[np.uint8], importance: Floats | None
) -> Fault | None:
    """Quantize rows (n, row) into ``out`` (n, bytes a row) up to the first fault, if any."""
    step = max(1, TILE // max(1, x.shape[1]))
    with np.errstate(all="ignore"):
        for start in range(0, len(x), step):
            tile = slice(start, start + step)
            fault = _tile(kind, x[tile], out[tile], importance)
            if fault:
                return fault.moved(start * x.shape[1])
    return None


def _tile(
    kind: TensorType, x: Floats, out: NDArray[np.uint8], importance: Floats | None
) -> Fault | None:
    odd = np.argwhere(~np.isfinite(x))
    if len(odd):
        row, column = map(int, odd[0])
        here = Fault(row * x.shape[1] + column, "not finite")
        return _tile(kind, x[:row], out[:row], importance) or here
    quantizer = QUANTIZERS[kind.name]
    recipe = quantizer.recipe(importance is not None)
    codes = STRATEGIES[type(recipe)](x, importance, recipe)
    large = np.flatnonzero(_overflows(codes, recipe))
    good = int(large[0]) if large.size else x.size // kind.elements
    if good:
        named = {name: codes[role][:good] for role, name in quantizer.roles.items()}
        packed = blocks.pack(named, kind.name, backend="numpy")
        out.reshape(-1, kind.bytes)[:good] = packed
    return Fault(good * kind.elements, "overflow") if large.size else None


def _overflows(codes: Codes, recipe: Recipe) -> NDArray[np.bool_]:
    """Which blocks have a stored float that is not finite."""
    stored = [array for array in codes.values() if array.dtype.kind == "f"]
    if isinstance(recipe, Convert) and recipe.scalar == "bf16":
        stored = [bfloat(codes["value"])]
    bad = [~np.isfinite(array).reshape(len(array), -1).all(axis=1) for array in stored]
    found: NDArray[np.bool_] = np.any(bad, axis=0) if bad else np.zeros(1, np.bool_)
    return found
