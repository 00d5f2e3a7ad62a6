"""The grid search: x = sign * scale * (2 * level + 1), a group's levels being a row of a grid.

Sub-blocks are columns inside: sums run along the first axis in ggml's order. A sub-block's
groups lie one behind the other in its column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .affine import positive_search
from .arithmetic import (
    ONE,
    Codes,
    Floats,
    Ints,
    choose,
    nearest,
    odd_scale_codes,
    ratio,
    running_sum,
)
from .constants import GridSearch, MeanOver
from .neighbours import neighbours
from .weights import columns, weigh

_FLOAT_MAX = np.finfo(np.float32).max


@dataclass
class _Fit:
    """A scale for each of n sub-blocks, and rows for their groups (groups, n).

    ``on_grid``: whether levels were rows, or had to become one.
    """

    scale: Floats
    row: Ints
    on_grid: NDArray[np.bool_]


def grid_search(x: Floats, importance: Floats | None, c: GridSearch) -> Codes:
    """The block's scale, codes for its sub-blocks' scales, rows of the grid, and signs.

    Levels are chosen by the scales before they get codes.
    """
    w = _weights(x, importance, c)
    magnitude, signs = _signs(columns(x, c.length), w, c)
    most = magnitude.max(axis=0)
    empty = (most == 0) | (most < np.float32(c.empty))
    first = ratio(most, np.float32(2 * c.levels - 1))
    if c.first_top:
        first, _ = positive_search(magnitude, w, c.first_top)
        most = first * np.float32(c.levels)
        empty |= most <= 0
    grid = _Grid(c)
    fit = _trials(grid, magnitude, w, most, first)
    _refine(grid, magnitude, w, fit)

    signs = np.where(fit.scale < 0, ~signs, signs)
    scale = choose(~empty, np.abs(fit.scale), 0)
    row, signs = np.where(empty, 0, fit.row), np.where(empty, 0, signs)
    return _codes(scale, row, signs, empty, c)


def _weights(x: Floats, importance: Floats | None, c: GridSearch) -> Floats:
    elements = c.sub_blocks * c.length
    if c.weights != "square_plus_mean":
        over: MeanOver = "block" if c.mean_times else "none"
        return weigh(x, importance, c.weights, c.length, elements, over, c.mean_times)
    blocks = columns(x, elements)
    mean = ratio(np.float32(c.mean_times) * running_sum(blocks * blocks), np.float32(elements))
    v = columns(x, c.length)
    weights: Floats = np.float32(c.mean_share) * np.repeat(mean, c.sub_blocks) + v * v
    return weights


def _signs(x: Floats, w: Floats, c: GridSearch) -> tuple[Floats, NDArray[np.uint8]]:
    """Magnitudes, and the signs of each eight elements, the first lowest.

    With even signs the element that matters least is negated where their number is odd.
    """
    magnitude = np.abs(x)
    negative = ~(x >= 0)
    if c.even_signs:
        shape = (-1, 8, x.shape[1])
        least = (w * x * x).reshape(shape).argmin(axis=1)
        odd = negative.reshape(shape).sum(axis=1) % 2 == 1
        turned = (np.arange(8)[:, None] == least[:, None]) & odd[:, None]
        magnitude = np.where(turned.reshape(x.shape), -magnitude, magnitude)
        negative ^= turned.reshape(x.shape)
    return magnitude, np.packbits(negative.reshape(-1, 8, x.shape[1]), axis=1, bitorder="little")[
        :, 0
    ]


class _Grid:
    """The rows of a grid, and those near to levels that are none."""

    def __init__(self, c: GridSearch) -> None:
        self.c = c
        bits = (c.levels - 1).bit_length()
        self.near = neighbours(c.grid, bits, c.distances)
        self.shifts = bits * np.arange(c.group)
        self.levels = self.near.codes[:, None] >> self.shifts & (1 << bits) - 1

    def project(
        self, x: Floats, w: Floats, steps: Floats, scale: Floats
    ) -> tuple[Ints, NDArray[np.bool_]]:
        """Rows for elements (length, n) at so many steps a unit, and which they fell on."""
        level = np.clip(nearest(np.float32(0.5) * (steps * x - ONE)), 0, self.c.levels - 1)
        groups = level.reshape(-1, self.c.group, x.shape[1])
        code = (groups << self.shifts[:, None]).sum(axis=1)
        row = self.near.map[code]
        off = row < 0
        group, column = np.nonzero(off)
        if group.size:
            v, root = (a.reshape(-1, self.c.group, x.shape[1]) for a in (x, np.sqrt(w)))
            places = -(row[off] + 1)
            at = (group, slice(None), column)
            row[off] = self._nearest(places, v[at], root[at], scale[column])
        return row, ~off

    def _nearest(self, places: Ints, x: Floats, w: Floats, scale: Floats) -> Ints:
        """Of the lists at ``places`` the row of least weighted squares from x (n, group).

        The first of equals; also where no sum is a number below the largest float.
        """
        count = self.near.lists[places].astype(np.intp)
        start = np.cumsum(count) - count
        entry = np.arange(count.sum()) - np.repeat(start - places - 1, count)
        row = self.near.lists[entry]
        q = (2 * self.levels[row] + 1).astype(np.float32)
        diff = np.repeat(scale, count)[:, None] * q - np.repeat(x, count, axis=0)
        distance = running_sum((np.repeat(w, count, axis=0) * diff * diff).T)
        distance = choose(distance < _FLOAT_MAX, distance, _FLOAT_MAX)
        least = np.repeat(np.minimum.reduceat(distance, start), count)
        order = np.where(distance == least, np.arange(len(entry)), len(entry))
        nearest_row: Ints = row[np.minimum.reduceat(order, start)].astype(np.int32)
        return nearest_row

    def sums(self, x: Floats, w: Floats, row: Ints) -> tuple[Floats, Floats]:
        """What fits a scale to rows (groups, n): the sums of w * x * q and w * q * q."""
        q = np.moveaxis(2 * self.levels[row] + 1, 2, 1).reshape(x.shape).astype(np.float32)
        return running_sum(w * x * q), running_sum(w * q * q)


def _trials(grid: _Grid, x: Floats, w: Floats, most: Floats, first: Floats) -> _Fit:
    """The best of the trial scales; without any good one the first scale and levels of 0."""
    c = grid.c
    shape = (c.length // c.group, x.shape[1])
    best = np.zeros(x.shape[1], np.float32)
    fit = _Fit(first, np.full(shape, grid.near.map[0]), np.full(shape, c.untried_on_grid))
    for trial in range(-c.reach, c.reach + 1):
        top = np.float32(2 * c.levels - 1) + np.float32(trial) * np.float32(c.step)
        steps = ratio(top, most)
        row, on_grid = grid.project(x, w, steps, ratio(ONE, steps))
        sum_xq, sum_q2 = grid.sums(x, w, row)
        better = (sum_q2 > 0) & (sum_xq * sum_xq > best * sum_q2)
        fit.scale = choose(better, ratio(sum_xq, sum_q2), fit.scale)
        best = choose(better, fit.scale * sum_xq, best)
        fit.row = np.where(better, row, fit.row)
        fit.on_grid = np.where(better, on_grid, fit.on_grid)
    return fit


def _refine(grid: _Grid, x: Floats, w: Floats, fit: _Fit) -> None:
    """Rows anew from the scale found, and a scale anew from them."""
    again = fit.scale > 0
    if grid.c.refine != "always":
        again &= ~fit.on_grid.all(axis=0)
    row, _ = grid.project(x, w, ratio(ONE, fit.scale), fit.scale)
    groups = again & ~fit.on_grid if grid.c.refine == "where_off_grid" else again
    fit.row = np.where(groups, row, fit.row)
    sum_xq, sum_q2 = grid.sums(x, w, fit.row)
    fit.scale = choose(again & (sum_q2 > 0), ratio(sum_xq, sum_q2), fit.scale)


def _codes(
    scale: Floats, row: Ints, signs: NDArray[np.uint8], empty: NDArray[np.bool_], c: GridSearch
) -> Codes:
    """Codes for the scales (blocks * sub_blocks,), and everything in the order of storage."""
    scales = scale.reshape(-1, c.sub_blocks)
    d, code, some = odd_scale_codes(scales, c.scale_top)
    cleared = ~some[:, None] & (not c.keep_scaleless)
    row = np.where(cleared, 0, row.T.reshape(len(scales), -1))
    signs = np.where(cleared, 0, signs.T.reshape(len(scales), -1))
    if c.shifted_bits:
        low = (1 << c.shifted_bits) - 1
        gaps = empty.reshape(scales.shape)
        row = row & ~low | _closed(row & low, gaps)
        signs = _closed(signs, gaps).astype(np.uint8)
    return {
        "scale": (d * np.float32(c.fudge)).astype(np.float16),
        "sub_scale": code.astype(np.uint8),
        "row": row.astype(np.uint16),
        "signs": (signs & (0x7F if c.even_signs else 0xFF)).astype(np.uint8),
    }


def _closed(values: NDArray[Any], gaps: NDArray[np.bool_]) -> NDArray[Any]:
    """Values of sub-blocks moved up over gaps, which are 0 and come to stand behind."""
    order = np.argsort(np.repeat(gaps, values.shape[1] // gaps.shape[1], axis=1), kind="stable")
    return np.take_along_axis(values, order, axis=1)
