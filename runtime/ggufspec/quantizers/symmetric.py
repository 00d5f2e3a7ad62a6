"""The symmetric searches: x = scale * level for levels -zero..zero - 1.

Sub-blocks are columns inside: sums run along the first axis in ggml's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arithmetic import ONE, Codes, Floats, Ints, choose, first_largest, nearest, ratio, running_sum
from .constants import NestedSymmetricSearch, SymmetricSearch
from .weights import columns, weigh

_EPS = np.float32(1e-15)
_TRIALS = (*range(-9, 0), *range(1, 10))


@dataclass
class _Fit:
    """Of each column: the scale, and levels plus zero (all 0 where there is nothing to fit)."""

    scale: Floats
    level: Ints


def symmetric_search(x: Floats, importance: Floats | None, c: SymmetricSearch) -> Codes:
    """One searched scale a block."""
    w = weigh(x, importance, c.weights, c.length, c.length, c.mean_over, c.mean_times)
    fit = _trials(columns(x, c.length), w, c.zero)
    return {"scale": fit.scale.astype(np.float16), "level": fit.level.T.astype(np.uint8)}


def nested_symmetric_search(
    x: Floats, importance: Floats | None, c: NestedSymmetricSearch
) -> Codes:
    """A scale a sub-block, which is a code under the block's scale."""
    elements = c.sub_blocks * c.length
    subs = columns(x, c.length)
    w = weigh(x, importance, c.weights, c.length, elements, c.mean_over, c.mean_times)
    fit = _sweeps(subs, c.zero) if c.search == "sweeps" else _trials(subs, w, c.zero)
    scales = fit.scale.reshape(-1, c.sub_blocks)
    if c.scales == "search":
        weight = running_sum(w).reshape(-1, c.sub_blocks)
        outer = _trials(scales.T, weight.T, c.scale_reach)
        scale, codes = outer.scale, outer.level.T - c.scale_reach
        empty = np.zeros(len(scale), np.bool_)
    else:
        scale, codes, empty = _largest_codes(scales, c)
    d = scale.astype(np.float16)
    step = (d.astype(np.float32)[:, None] * codes.astype(np.float32))[:, :, None]
    blocks = x.reshape(len(d), c.sub_blocks, c.length)
    again = np.clip(nearest(blocks / step), -c.zero, c.zero - 1) + c.zero
    level = np.where(step != 0, again, fit.level.T.reshape(again.shape))
    return {
        "scale": d,
        "sub_scale": codes + c.scale_zero,
        "level": np.where(empty[:, None, None], 0, level).astype(np.uint8),
    }


def _largest_codes(
    scales: Floats, c: NestedSymmetricSearch
) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    """The step, codes that take the largest scale to the lowest code, and what is all zeros."""
    most = first_largest(scales)
    none = (most == 0) | (np.abs(most) < np.float32(c.empty))
    steps = ratio(np.float32(-c.scale_reach), most)
    codes = np.clip(nearest(steps[:, None] * scales), -c.scale_reach, c.scale_reach - 1)
    codes = np.where(none[:, None], -c.scale_zero, codes)
    return choose(~none, ratio(ONE, steps), 0), codes, none & (c.empty > 0)


def _trials(x: Floats, w: Floats, zero: int) -> _Fit:
    """The best of 19 trial scales; the first takes the largest element to level -zero."""
    most = first_largest(x.T)
    live = ~(np.abs(most) < _EPS)
    level, sum_xl, sum_l2 = _trial(x, w, ratio(np.float32(-zero), most), zero)
    scale = choose(sum_l2 != 0, ratio(sum_xl, sum_l2), 0)
    best = scale * sum_xl
    for number in _TRIALS:
        reach = -(np.float32(zero) + np.float32(0.1) * np.float32(number))
        other, sum_xl, sum_l2 = _trial(x, w, ratio(reach, most), zero)
        better = (sum_l2 > 0) & (sum_xl * sum_xl > best * sum_l2)
        level = np.where(better, other, level)
        scale = choose(better, ratio(sum_xl, sum_l2), scale)
        best = choose(better, scale * sum_xl, best)
    return _Fit(choose(live, scale, 0), np.where(live, level + zero, 0))


def _trial(x: Floats, w: Floats, steps: Floats, zero: int) -> tuple[Ints, Floats, Floats]:
    """Levels, and the sums that fit the scale to them."""
    level = np.clip(nearest(steps * x), -zero, zero - 1)
    q = level.astype(np.float32)
    return level, running_sum(w * x * q), running_sum(w * q * q)


def _sweeps(x: Floats, zero: int) -> _Fit:
    """The first trial with squares as weights, then up to five sweeps over single levels."""
    most = first_largest(x.T)
    live = ~(np.abs(most) < _EPS)
    w = x * x
    level, sum_xl, sum_l2 = _trial(x, w, ratio(np.float32(-zero), most), zero)
    for _ in range(5):
        for i, (xi, wi) in enumerate(zip(x, w, strict=True)):
            l = level[i].astype(np.float32)  # noqa: E741
            a, b = sum_xl - wi * xi * l, sum_l2 - wi * l * l
            other = np.clip(nearest(ratio(xi * b, a)), -zero, zero - 1)
            o = other.astype(np.float32)
            better = (a > 0) & (other != level[i])
            a, b = a + wi * xi * o, b + wi * o * o
            better &= (b > 0) & (a * a * sum_l2 > sum_xl * sum_xl * b)
            level[i] = np.where(better, other, level[i])
            sum_xl, sum_l2 = choose(better, a, sum_xl), choose(better, b, sum_l2)
    scale = choose(live & (sum_l2 > 0), ratio(sum_xl, sum_l2), 0)
    return _Fit(scale, np.where(live, level + zero, 0))
