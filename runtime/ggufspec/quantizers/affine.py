"""The affine searches: a scale and a minimum for a block or for each of its sub-blocks.

Sub-blocks are columns inside: sums run along the first axis in ggml's order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arithmetic import ONE, Codes, Floats, Ints, choose, nearest, ratio, running_sum
from .constants import AffineSearch, NestedAffineSearch
from .weights import columns, weigh


@dataclass
class _Fit:
    """Of each sub-block: x = scale * level + minimum, error, levels."""

    scale: Floats
    minimum: Floats
    error: Floats
    level: Ints


def affine_search(x: Floats, importance: Floats | None, c: AffineSearch) -> Codes:
    """One scale and one offset a block, both searched."""
    w = weigh(x, importance, c.weights, c.length, c.length, c.mean_over, c.mean_times)
    fit = _fit(columns(x, c.length), w, c)
    return {
        "scale": fit.scale.astype(np.float16),
        "offset": fit.minimum.astype(np.float16),
        "level": fit.level.T.astype(np.uint8),
    }


def nested_affine_search(x: Floats, importance: Floats | None, c: NestedAffineSearch) -> Codes:
    """A scale and a minimum a sub-block, which are codes under the block's own two."""
    elements = c.sub_blocks * c.length
    w = weigh(x, importance, c.weights, c.length, elements, c.mean_over, c.mean_times)
    fit = _fit(columns(x, c.length), w, c)
    shape = (-1, c.sub_blocks)
    scales, minimums = fit.scale.reshape(shape), -fit.minimum.reshape(shape)
    if c.scales == "search":
        weight = running_sum(w).reshape(shape)
        scale, sub_scale = _searched_codes(scales, weight, c.sub_top)
        minimum, sub_minimum = _searched_codes(minimums, weight, c.sub_top)
        _spill(sub_scale, sub_minimum, c)
    else:
        scale, sub_scale = _largest_codes(scales, c.sub_top)
        minimum, sub_minimum = _largest_codes(minimums, c.sub_top)
    step, shift = _scaled(scale, sub_scale), _scaled(minimum, sub_minimum)
    again = np.clip(nearest((x.reshape(*step.shape[:2], -1) + shift) / step), 0, c.top)
    level = np.where(step != 0, again, fit.level.T.reshape(again.shape))
    return {
        "scale": scale,
        "minimum": minimum,
        "sub_scale": sub_scale,
        "sub_minimum": sub_minimum,
        "level": level.astype(np.uint8),
    }


def _spill(scale: NDArray[np.uint8], minimum: NDArray[np.uint8], c: NestedAffineSearch) -> None:
    """Bring scale codes to 0..sub_top; what they have above goes where ggml's bytes have it."""
    if c.spill == "top":
        np.minimum(scale, np.uint8(c.sub_top), out=scale)
        return
    above = scale // np.uint8(c.sub_top + 1)
    scale &= np.uint8(c.sub_top)
    if c.spill == "minimum":
        minimum |= above
    else:
        half = c.sub_blocks // 2
        scale[:, half:] |= above[:, :half] * np.uint8((c.sub_top + 1) // 4)


def _scaled(d: NDArray[np.float16], codes: NDArray[np.uint8]) -> Floats:
    return (d.astype(np.float32)[:, None] * codes.astype(np.float32))[:, :, None]


# ---- the search of a sub-block


def _fit(x: Floats, w: Floats, c: AffineSearch | NestedAffineSearch) -> _Fit:
    """The pair of least weighted error among the trials, of each column of x (length, n)."""
    largest = x.max(axis=0)
    minimum = _running_minimum(x)
    minimum = choose(minimum > 0, np.zeros_like(minimum), minimum)
    flat = largest == minimum
    weight, moment = running_sum(w), running_sum(w * x)
    squared = c.error == "square"

    steps = ratio(np.float32(c.top), largest - minimum)
    level = _levels(steps, x, minimum, c.top)
    best = _Fit(ratio(ONE, steps), minimum, np.empty(0, np.float32), level)
    best.error = _error(x, w, level, best.scale, minimum, squared)
    best.scale[flat], best.level[:, flat], best.error[flat] = 0, 0, -np.inf

    for trial in range(c.steps + 1):
        reach = np.float32(c.start) + np.float32(c.step) * np.float32(trial) + np.float32(c.top)
        level = _levels(ratio(reach, largest - best.minimum), x, best.minimum, c.top)
        scale, minimum, solvable = _least_squares(x, w, level, weight, moment)
        error = _error(x, w, level, scale, minimum, squared)
        better = solvable & (error < best.error)
        best.scale = choose(better, scale, best.scale)
        best.minimum = choose(better, minimum, best.minimum)
        best.error = choose(better, error, best.error)
        best.level = np.where(better, level, best.level)
    return best


def _running_minimum(x: Floats) -> Floats:
    """The least along the first axis; of zeros of both signs the first."""
    least: Floats = x[0]
    for row in x[1:]:
        least = choose(row < least, row, least)
    return least


def _levels(steps: Floats, x: Floats, minimum: Floats, top: int) -> Ints:
    return np.clip(nearest(steps * (x - minimum)), 0, top)


def _error(
    x: Floats, w: Floats, level: Ints, scale: Floats, minimum: Floats, squared: bool
) -> Floats:
    diff = scale * level.astype(np.float32) + minimum - x
    return running_sum(w * (diff * diff if squared else np.abs(diff)))


def _least_squares(
    x: Floats, w: Floats, level: Ints, weight: Floats, moment: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Scale and minimum (at most 0) for given levels, and where there is a solution."""
    q = level.astype(np.float32)
    sum_l, sum_l2, sum_xl = running_sum(w * q), running_sum(w * q * q), running_sum(w * q * x)
    det = weight * sum_l2 - sum_l * sum_l
    scale = ratio(weight * sum_xl - moment * sum_l, det)
    minimum = ratio(sum_l2 * moment - sum_l * sum_xl, det)
    above = minimum > 0
    return choose(above, ratio(sum_xl, sum_l2), scale), choose(~above, minimum, 0), det > 0


# ---- codes for the scales of a block's sub-blocks, and the step between codes


def _largest_codes(v: Floats, top: int) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    """Codes 0..top of (blocks, n), the largest value taking top."""
    most = np.maximum(v.max(axis=1), np.float32(0))
    steps = choose(most > 0, ratio(np.float32(top), most), 0)
    codes = nearest(steps[:, None] * v).astype(np.uint8)
    return (most / np.float32(top)).astype(np.float16), np.minimum(codes, np.uint8(top))


def _searched_codes(
    v: Floats, weight: Floats, top: int
) -> tuple[NDArray[np.float16], NDArray[np.uint8]]:
    step, codes = positive_search(np.ascontiguousarray(v.T), np.ascontiguousarray(weight.T), top)
    return step.astype(np.float16), codes.T.astype(np.uint8)


def positive_search(x: Floats, w: Floats, top: int) -> tuple[Floats, Ints]:
    """The step and the codes 0..top of least weighted squares of each column (n, columns).

    Nine trial scales, then up to five sweeps that change one code at a time. Codes are kept
    in bytes: what is negative or too large wraps.
    """
    most = np.zeros(x.shape[1], np.float32)
    for row in x:
        most = choose(most > row, most, row)
    live = ~(most < np.float32(1e-15))

    steps = ratio(np.float32(top), most)
    best = _code_error(x, w, ratio(ONE, steps), nearest(steps * x) & 0xFF)
    for trial in (-4, -3, -2, -1, 1, 2, 3, 4):
        other = ratio(np.float32(0.1) * np.float32(trial) + np.float32(top), most)
        error = _code_error(x, w, ratio(ONE, other), np.minimum(nearest(other * x), top))
        better = error < best
        best, steps = choose(better, error, best), choose(better, other, steps)

    found = np.minimum(nearest(steps * x), top)
    level = found.astype(np.float32)
    sum_xl, sum_l2 = running_sum(w * x * level), running_sum(w * level * level)
    codes = found & 0xFF
    for _ in range(5):
        for i, (xi, wi) in enumerate(zip(x, w, strict=True)):
            l = codes[i].astype(np.float32)  # noqa: E741
            a, b = sum_xl - wi * xi * l, sum_l2 - wi * l * l
            other_code = np.minimum(nearest(ratio(xi * b, a)), top)
            o = other_code.astype(np.float32)
            better = (a > 0) & (b > 0) & (other_code != codes[i])
            a, b = a + wi * xi * o, b + wi * o * o
            better &= a * a * sum_l2 > sum_xl * sum_xl * b
            codes[i] = np.where(better, other_code & 0xFF, codes[i])
            sum_xl, sum_l2 = choose(better, a, sum_xl), choose(better, b, sum_l2)
    step = choose(live & (sum_l2 > 0), ratio(sum_xl, sum_l2), 0)
    return step, np.where(live, codes, 0)


def _code_error(x: Floats, w: Floats, step: Floats, codes: Ints) -> Floats:
    diff = x - step * codes.astype(np.float32)
    return running_sum(w * diff * diff)
