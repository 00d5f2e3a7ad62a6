"""The ternary grid search: x = scale * (level +- shift), levels -1, 0 and 1 being rows of a grid.

Levels count from 0 here. Sub-blocks are columns: sums run along the first axis in ggml's order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..generated.numpy import tables
from .arithmetic import Codes, Floats, Ints, choose, odd_scale_codes, ratio, running_sum
from .constants import TernaryGrid
from .neighbours import Neighbours, neighbours
from .weights import columns, weigh

Mask = NDArray[np.bool_]

_MOST = np.float32(np.finfo(np.float32).max)
_BITS = 2
"""A level's, in a code of the grid."""
_TOGETHER = 4096
"""Groups whose rows are looked for at a time."""


@dataclass
class _Fit:
    """Of each sub-block (a column): scale, rows of the grid and their levels, shifts down.

    ``values`` are each element's for the three levels; ``lost`` is where no arithmetic finds a
    scale or a row, and ggml aborts.
    """

    scale: Floats
    rows: Ints
    level: Ints
    down: Mask
    values: Floats
    lost: Mask


def ternary_grid(x: Floats, importance: Floats | None, c: TernaryGrid) -> Codes:
    """A scale a block, a code for it and shifts a sub-block, a row of the grid a group.

    What ggml aborts on has NaN for a scale.
    """
    elements = c.sub_blocks * c.length
    subs = columns(x, c.length)
    w = weigh(x, importance, c.weights, c.length, elements, c.mean_over, c.mean_times)
    fit = _fit(subs, w, c)
    scales = fit.scale.reshape(-1, c.sub_blocks)
    d, code, some = odd_scale_codes(scales, c.scale_top)
    if c.fit == "block":
        odd = (2 * code + 1).astype(np.float32).reshape(-1)
        q = _picked(fit.values, fit.level) * odd
        xq, q2 = _sums(*(part.T.reshape(-1, elements).T for part in (subs, w, q)))
        d = choose(some & (q2 > 0), ratio(xq, q2), d)
    d *= np.float32(c.fudge)
    d[fit.lost.reshape(scales.shape).any(axis=1)] = np.nan
    down = fit.down & np.repeat(some, c.sub_blocks)
    return {
        "scale": d.astype(np.float16),
        "sub_scale": code,
        "row": fit.rows.T.reshape(len(d), -1),
        "shift": down.T.reshape(len(d), -1).astype(np.uint8),
    }


def _fit(x: Floats, w: Floats, c: TernaryGrid) -> _Fit:
    split = _search(x, w, c)
    live = (np.abs(x).max(axis=0) >= np.float32(c.empty)) & (split.parts >= 0)
    scale, level, down = choose(live, split.scale, 0), _levels(x, split), _shifts(split.parts, c)
    turned = scale < 0
    scale = choose(turned, -scale, scale)
    level = np.where(turned, 2 - level, level)
    down = np.where(live, down ^ turned, False)
    values = _values(c)[np.repeat(down, c.length // len(down), axis=0).astype(np.int32)]
    rows, level, off, lost = _on_grid(x, w, scale, level, values, live, c)
    xq, q2 = _sums(x, w, _picked(values, level))
    scale = choose(off & (xq > 0) & (q2 > 0), ratio(xq, q2), scale)
    return _Fit(scale, rows, level, down, values, lost | np.isnan(scale))


def _values(c: TernaryGrid) -> Floats:
    """What the levels stand for: (shifted up or down, level)."""
    shift, level = np.float32(c.shift), np.arange(-1, 2, dtype=np.float32)
    return np.stack([level + shift, level - shift])


# ---- the best split of a sub-block's sorted elements into levels


@dataclass
class _Split:
    """Of each column the best so far: levels 0 below rank ``first``, 2 from ``second`` on.

    ``parts`` numbers the combinations of shifts, -1 for none.
    """

    count: int
    best: Floats = field(init=False)
    scale: Floats = field(init=False)
    first: Ints = field(init=False)
    second: Ints = field(init=False)
    parts: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.best = np.full(self.count, -_MOST, np.float32)
        self.scale = np.zeros(self.count, np.float32)
        self.first = np.zeros(self.count, np.int32)
        self.second = np.zeros(self.count, np.int32)
        self.parts = np.full(self.count, -1, np.int32)

    def offer(self, xq: Floats, q2: Floats, first: int, second: int, parts: int) -> None:
        """Take a split, of which these are the sums, where it is better."""
        better = (q2 > 0) & (xq * xq > self.best * q2)
        self.scale = choose(better, ratio(xq, q2), self.scale)
        self.best = choose(better, self.scale * xq, self.best)
        self.first[better] = first
        self.second[better] = second
        self.parts[better] = parts


def _search(x: Floats, w: Floats, c: TernaryGrid) -> _Split:
    order = np.argsort(x, axis=0, kind="stable")
    split = _Split(x.shape[1])
    wx, w = (np.take_along_axis(terms, order, axis=0) for terms in (w * x, w))
    sums = _spans(wx, w, c) if c.sums == "spans" else _totals(wx, w, order, c)
    for first, second, parts, xq, q2 in sums:
        split.offer(xq, q2, first, second, parts)
    return split


Sums = Iterator[tuple[int, int, int, Floats, Floats]]


def _splits(length: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for i in range(length + 1) for j in range(i, length + 1))


def _spans(wx: Floats, w: Floats, c: TernaryGrid) -> Sums:
    """The sums of each level's run; shifted up, then down."""
    sx, sw = _prefixes(wx), _prefixes(w)
    for i, j in _splits(c.length):
        x = (sx[i] - sx[0], sx[j] - sx[i], sx[-1] - sx[j])
        n = (sw[i] - sw[0], sw[j] - sw[i], sw[-1] - sw[j])
        for parts, v in enumerate(_values(c)):
            xq = x[0] * v[0] + x[1] * v[1] + x[2] * v[2]
            q2 = n[0] * v[0] * v[0] + n[1] * v[1] * v[1] + n[2] * v[2] * v[2]
            yield i, j, parts, xq, q2


def _totals(wx: Floats, w: Floats, order: NDArray[np.intp], c: TernaryGrid) -> Sums:
    """Each half all at the top level, less what the borders take; up and up, up and down, ..."""
    late = order >= c.length // 2
    halves = [
        (_prefixes(choose(mine, wx, 0)), _prefixes(choose(mine, w, 0))) for mine in (~late, late)
    ]
    values = _values(c)
    squares = values * values
    for i, j in _splits(c.length):
        xq, q2 = [], []
        for sx, sw in halves:
            taken = sx[i] + sx[j]
            for v, square in zip(values, squares, strict=True):
                xq.append(sx[-1] * v[2] - taken)
                by_first = sw[i] * (square[0] - square[1])
                by_second = sw[j] * (square[1] - square[2])
                q2.append(sw[-1] * v[2] * v[2] + by_first + by_second)
        for parts in range(4):
            one, other = parts >> 1, 2 + (parts & 1)
            yield i, j, parts, xq[one] + xq[other], q2[one] + q2[other]


def _prefixes(terms: Floats) -> Floats:
    """Sums of the first 0, 1, ... terms, one addition after the other."""
    start = np.zeros((1, terms.shape[1]), np.float32)
    sums: Floats = np.add.accumulate(np.concatenate([start, terms]), axis=0, dtype=np.float32)
    return sums


def _levels(x: Floats, split: _Split) -> Ints:
    rank = np.argsort(np.argsort(x, axis=0, kind="stable"), axis=0)
    return (rank >= split.first).astype(np.int32) + (rank >= split.second)


def _shifts(parts: Ints, c: TernaryGrid) -> Mask:
    """Which parts (one or two, sub-blocks) are shifted down."""
    bits = [parts] if c.sums == "spans" else [parts >> 1, parts]
    return np.stack([bit & 1 == 1 for bit in bits])


# ---- rows of the grid


def _on_grid(
    x: Floats,
    w: Floats,
    scale: Floats,
    level: Ints,
    values: Floats,
    live: Mask,
    c: TernaryGrid,
) -> tuple[Ints, Ints, Mask, Mask]:
    """Rows (groups, sub-blocks) and their levels; where there was no row, or now is none."""
    near = neighbours(c.grid, _BITS, c.distances)
    bits = _BITS * np.arange(c.group)[:, None]
    rows = np.zeros((c.length // c.group, x.shape[1]), np.int32)
    off, lost = np.zeros((2, x.shape[1]), np.bool_)
    found = level.copy()
    for k in range(len(rows)):
        part = slice(k * c.group, (k + 1) * c.group)
        row = np.where(live, near.map[(level[part] << bits).sum(axis=0)], 0)
        for column in np.array_split(np.flatnonzero(row < 0), 1 + x.shape[1] // _TOGETHER):
            group = (x[part, column], w[part, column], scale[column], values[part, column])
            row[column] = _nearest_rows(near, -row[column], group, c)
            off[column] = True
        lost |= row < 0
        rows[k] = np.maximum(row, 0)
        found[part] = near.codes[rows[k]] >> bits & 3
    return rows, found, off, lost


def _nearest_rows(
    near: Neighbours, starts: Ints, group: tuple[Floats, Floats, Floats, Floats], c: TernaryGrid
) -> Ints:
    """Of each group the first near row of the least weighted squares, else of all rows.

    ``starts`` are the places of the lists; -1 is for squares that are not finite.
    """
    counts = near.lists[starts - 1].astype(np.int64)
    owner = np.repeat(np.arange(len(starts)), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts - starts, counts)
    rows = _least(near.lists[place].astype(np.int32), owner, group, c)
    for column in np.flatnonzero(rows < 0):
        one = tuple(terms[..., column : column + 1] for terms in group[:3])
        every = np.arange(len(near.codes), dtype=np.int32)
        whole = (*one, group[3][:, column : column + 1])
        rows[column] = _least(every, np.zeros_like(every), whole, c)[0]
    return rows


def _least(
    candidates: Ints,
    owner: NDArray[np.int_],
    group: tuple[Floats, ...],
    c: TernaryGrid,
) -> Ints:
    """The first of each owner's candidates with the least weighted squares, or -1."""
    x, w, scale, values = group
    levels = getattr(tables, c.grid)[candidates].T + 1
    squares = np.zeros(len(candidates), np.float32)
    for i, level in enumerate(levels):
        away = scale[owner] * values[i, owner, level] - x[i, owner]
        squares += w[i, owner] * away * away
    least = np.full(x.shape[1], _MOST, np.float32)
    np.fmin.at(least, owner, squares)
    first = np.flatnonzero((squares == least[owner]) & (squares < _MOST))[::-1]
    rows = np.full(x.shape[1], -1, np.int32)
    rows[owner[first]] = candidates[first]
    return rows


# ---- scales


def _picked(values: Floats, level: Ints) -> Floats:
    """Each element's value (of three) at its level."""
    found: Floats = np.take_along_axis(values, level[..., None].astype(np.intp), axis=-1)[..., 0]
    return found


def _sums(x: Floats, w: Floats, q: Floats) -> tuple[Floats, Floats]:
    """The sums whose quotient is the scale of least weighted squares of each column."""
    return running_sum(w * q * x), running_sum(w * q * q)
