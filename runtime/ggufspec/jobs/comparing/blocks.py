"""Errors by block: how they are distributed, and where the worst are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ranking = Literal["relative", "rmse"]

_STEPS = 10
"""Bins a decade: one is 2 dB of signal to noise."""

_LOWEST, _HIGHEST = -7, 1
"""Powers of ten between which there are bins."""

_BINS = (_HIGHEST - _LOWEST) * _STEPS


@dataclass(frozen=True)
class Histogram:
    """How many blocks have which relative RMSE; histograms add up.

    counts: blocks by bin, from `edges` [i] up to and without [i + 1]. exact: blocks that are equal
    value for value; below and above: outside of the bins, `above` with the infinite errors of
    blocks that are zero in the reference alone; nan: blocks whose error is none.
    """

    counts: tuple[int, ...] = (0,) * _BINS
    exact: int = 0
    below: int = 0
    above: int = 0
    nan: int = 0

    @staticmethod
    def edges() -> tuple[float, ...]:
        """Where bins begin and end: ten a decade from 1e-7 to 10, each 2 dB wide."""
        return tuple(10 ** (step / _STEPS + _LOWEST) for step in range(_BINS + 1))

    @staticmethod
    def of(squares: Floats) -> Histogram:
        """That of blocks with these squared relative errors."""
        counts = np.bincount(_bin_of(squares), minlength=_BINS + 4).tolist()
        exact, below, above, nan = counts[0], counts[1], counts[-2], counts[-1]
        return Histogram(tuple(counts[2:-2]), exact, below, above, nan)

    def __add__(self, other: Histogram) -> Histogram:
        return Histogram(
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            self.exact + other.exact,
            self.below + other.below,
            self.above + other.above,
            self.nan + other.nan,
        )

    @property
    def total(self) -> int:
        """All blocks."""
        return sum(self.counts) + self.exact + self.below + self.above + self.nan


def _bin_of(squares: Floats) -> NDArray[np.intp]:
    """Numbers of the bins, with those for exact and below in front, above and NaN behind."""
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = np.floor(np.log10(squares) * (_STEPS / 2)) - (_LOWEST * _STEPS - 2)
    steps = np.clip(steps, 1, _BINS + 2)
    steps[squares == 0] = 0
    steps[np.isnan(squares)] = _BINS + 3
    bins: NDArray[np.intp] = steps.astype(np.intp)
    return bins


@dataclass(frozen=True)
class Blocks:
    """The blocks of a tensor, or of several: `size` is 0 where they have different ones.

    over: blocks with a relative RMSE above the threshold that was asked for, or none at all (NaN).
    """

    size: int = 0
    count: int = 0
    over: int = 0
    histogram: Histogram = field(default_factory=Histogram)

    def __add__(self, other: Blocks) -> Blocks:
        sizes = {blocks.size for blocks in (self, other) if blocks.count}
        return Blocks(
            sizes.pop() if len(sizes) == 1 else 0,
            self.count + other.count,
            self.over + other.over,
            self.histogram + other.histogram,
        )

    @property
    def share_over(self) -> float:
        """The share of blocks above the threshold, 0 to 1."""
        return self.over / self.count if self.count else 0.0


@dataclass(frozen=True, eq=False)
class WorstBlock:
    """A block with a large error.

    row: of the tensor seen as rows of its last axis; block: its number in the row, for types
    without blocks that of its first element divided by the size; element: the number of its first
    element in the tensor. reference, values: float32, what both files hold there.
    """

    tensor: str
    row: int
    block: int
    element: int
    relative: float
    rmse: float
    reference: NDArray[np.float32] = field(repr=False)
    values: NDArray[np.float32] = field(repr=False)


def relative_squares(errors: Floats, signals: Floats) -> Floats:
    """Squared relative errors of blocks: 0 without any error, infinite where a signal is zero."""
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = errors / signals
    squares[errors == 0] = 0
    return squares


def order_of(block: WorstBlock, by: Ranking) -> tuple[bool, float, int]:
    """Sorts the worst first, NaN before all, and equals by their place."""
    value = block.relative if by == "relative" else block.rmse
    return not math.isnan(value), -value, block.element
