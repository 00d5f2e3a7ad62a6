"""Which points of a grid are near to levels that are none: what a grid quantizer looks up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..generated.numpy import tables

_CHUNK = 1024
"""Codes whose distances to all points are held at a time."""


@dataclass(frozen=True)
class Neighbours:
    """A grid's points by code: levels side by side, the first lowest.

    codes: (points,) the code of each point, ascending.
    map: int32 by code: its point, or -(offset + 1) of its list in ``lists``.
    lists: uint16 runs: how many neighbours, and those points by distance and then by number.
    Arrays and order are those that ggml builds.
    """

    codes: NDArray[np.int32]
    map: NDArray[np.int32]
    lists: NDArray[np.uint16]


@cache
def neighbours(grid: str, bits: int, distances: int) -> Neighbours:
    """The points at the ``distances`` smallest distances from every code.

    grid: the name of a table (points, length) of generated.numpy.tables, whose values count as
    levels 0, 1, ... in ascending order; ``bits`` a level.
    """
    values: NDArray[np.int8] = getattr(tables, grid)
    levels = np.unique(values, return_inverse=True)[1].reshape(values.shape).astype(np.int32)
    length = values.shape[1]
    codes: NDArray[np.int32] = (levels << bits * np.arange(length)).sum(axis=1, dtype=np.int32)
    size = 43692 if bits == 2 else 4096  # so far ggml's maps go
    half = length // 2
    low, high = _distances(levels[:, :half], bits), _distances(levels[:, half:], bits)

    places = np.full(size, -1, np.int32)
    places[codes] = np.arange(len(codes))
    off = np.flatnonzero(places < 0)
    runs = []
    for start in range(0, len(off), _CHUNK):
        u = off[start : start + _CHUNK]
        runs.append(_nearest(low[u % len(low)] + high[u // len(low)], distances))
    counts = np.concatenate([count for count, _ in runs])
    ends = np.cumsum(counts + 1)
    places[off] = -(ends - counts)
    lists = np.empty(ends[-1], np.uint16)
    is_count = np.zeros(len(lists), np.bool_)
    is_count[ends - counts - 1] = True
    lists[is_count] = counts
    lists[~is_count] = np.concatenate([points for _, points in runs])
    return Neighbours(codes, places, lists)


def _distances(levels: NDArray[np.int32], bits: int) -> NDArray[np.uint8]:
    """Squared distances (codes, points) of all codes of so many levels to those of each point."""
    count = levels.shape[1]
    every = np.arange(1 << bits * count)[:, None] >> bits * np.arange(count) & (1 << bits) - 1
    away = every[:, None, :] - levels
    squares: NDArray[np.uint8] = (away * away).sum(axis=2).astype(np.uint8)
    return squares


def _nearest(
    distance: NDArray[np.uint8], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For rows (codes, points): how many points are near to each, and all of them in order."""
    limit = np.full((len(distance), 1), -1)
    for _ in range(count):
        limit = np.where(distance > limit, distance, 255).min(axis=1, keepdims=True)
    code, point = np.nonzero(distance <= limit)
    order = np.argsort(256 * code + distance[code, point], kind="stable")
    return np.bincount(code, minlength=len(distance)), point[order]
