"""Whole blocks without importance: the search then sees nothing of a block's weights."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..generated.quantizers import QUANTIZERS
from ..registry import find
from .entry import Floats


def fixed(values: Floats, type: str) -> tuple[Floats, int]:  # noqa: A002 - as in ggufspec.quantize
    """The importance with ones in blocks of a type that have none, and how many these are.

    values: (row,) or (experts, row); the same array where there are no such blocks, as for types
    whose search takes no importance. ValueError for an unknown type, or a row that no whole
    blocks fill.
    """
    zero = _zero(values, type)
    count = int(np.count_nonzero(zero))
    if not count:
        return values, 0
    blocks = values.reshape(*zero.shape, values.shape[-1] // zero.shape[-1])
    return np.where(zero[..., None], np.float32(1), blocks).reshape(values.shape), count


def _zero(values: Floats, name: str) -> NDArray[np.bool_]:
    """Which blocks are zero, (..., blocks a row)."""
    kind = find(name)
    kind.row_bytes(values.shape[-1])
    if kind.name in QUANTIZERS and QUANTIZERS[kind.name].weighted is None:
        return np.zeros((*values.shape[:-1], 0), np.bool_)
    blocks = values.reshape(*values.shape[:-1], values.shape[-1] // kind.elements, kind.elements)
    zero: NDArray[np.bool_] = (blocks == 0).all(axis=-1)
    return zero
