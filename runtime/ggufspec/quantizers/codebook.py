"""The codebook search: x = scale * value[level] for an ascending codebook of 16.

Sub-blocks are columns inside: sums run along the first axis in ggml's order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..generated.numpy import tables
from .arithmetic import Codes, Floats, choose, first_largest, inverse, nearest, ratio, running_sum
from .constants import CodebookSearch
from .weights import columns, weigh


def codebook_search(x: Floats, importance: Floats | None, c: CodebookSearch) -> Codes:
    """A scale a block, or a code under the block's scale for each of its sub-blocks.

    Levels are chosen by the scales before they are rounded to halves.
    """
    elements = c.sub_blocks * c.length
    w = weigh(x, importance, c.weights, c.length, elements, c.mean_over, c.mean_times)
    values = getattr(tables, c.values).astype(np.float32)
    scales = _trials(columns(x, c.length), w, values, c.trials).reshape(-1, c.sub_blocks)
    codes: Codes = {}
    d, step = scales[:, 0], scales
    if c.scale_reach:
        d = ratio(-first_largest(scales), np.float32(c.scale_reach))
        code = nearest(inverse(d)[:, None] * scales)
        code = np.clip(code, -c.scale_reach, c.scale_reach - 1)
        step = d[:, None] * code.astype(np.float32)
        codes["sub_scale"] = code + c.scale_reach
    blocks = x.reshape(-1, c.sub_blocks, c.length)
    level = _nearest_level(inverse(step)[:, :, None] * blocks, values)
    return {**codes, "scale": d.astype(np.float16), "level": level.astype(np.uint8)}


def _trials(x: Floats, w: Floats, values: Floats, trials: int) -> Floats:
    """The scale of least weighted squares of each column.

    The first trial takes the largest element to minus the lowest value, the others it and
    its neighbours to about the lowest value.
    """
    most = first_largest(x.T)
    steps = inverse(ratio(-most, values[0]))
    best = scale = np.zeros_like(most)
    for number in (None, *range(-trials, trials + 1)):
        if number is not None:
            steps = ratio(np.float32(number) + values[0], most)
        q = values[_nearest_level(steps * x, values)]
        sum_xq, sum_q2 = running_sum(w * q * x), running_sum(w * q * q)
        better = sum_q2 > 0
        if number is not None:
            better &= sum_xq * sum_xq > best * sum_q2
        scale = choose(better, ratio(sum_xq, sum_q2), scale)
        best = choose(better, scale * sum_xq, best)
    return choose(np.abs(most) >= np.float32(1e-15), scale, 0)


def _nearest_level(v: Floats, values: Floats) -> NDArray[np.intp]:
    """The level whose value is nearest, of two the upper; a NaN takes the last."""
    return np.searchsorted((values[1:] + values[:-1]) / 2, v, side="right")
