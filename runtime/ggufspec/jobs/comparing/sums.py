"""What the measures of an error are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sums:
    """What the measures are made of, summed in float64; parts of tensors add up.

    error: sum of (file - reference)^2; signal and power: sums of squares of reference and
    file; product: sum of reference * file; largest: max |file - reference|; nbytes: of the
    file's tensors. weighted_error and weighted_signal: error and signal with each element's
    square multiplied by its importance, of which `importance` is the sum; 0 without a matrix.
    """

    count: int = 0
    nbytes: int = 0
    error: float = 0.0
    signal: float = 0.0
    power: float = 0.0
    product: float = 0.0
    largest: float = 0.0
    weighted_error: float = 0.0
    weighted_signal: float = 0.0
    importance: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.count + other.count,
            self.nbytes + other.nbytes,
            self.error + other.error,
            self.signal + other.signal,
            self.power + other.power,
            self.product + other.product,
            larger(self.largest, other.largest),
            self.weighted_error + other.weighted_error,
            self.weighted_signal + other.weighted_signal,
            self.importance + other.importance,
        )

    @property
    def rmse(self) -> float:
        """Root of the mean squared error, in the unit of the weights."""
        return math.sqrt(self.error / self.count) if self.count else 0.0

    @property
    def relative(self) -> float:
        """The RMSE divided by the reference's own root mean square; see `relative_error`."""
        return relative_error(self.error, self.signal)

    @property
    def cosine(self) -> float:
        """Cosine of the angle between both as vectors; NaN where one of them is zero."""
        norm = math.sqrt(self.signal) * math.sqrt(self.power)
        return self.product / norm if norm else math.nan

    @property
    def snr(self) -> float:
        """Signal to noise in dB; infinite for equal values, NaN where all is zero."""
        if self.error == 0:
            return math.inf if self.signal else math.nan
        if self.signal == 0:
            return -math.inf
        return 10 * math.log10(self.signal / self.error)

    @property
    def bits_per_weight(self) -> float:
        """Stored bits a weight in the file."""
        return 8 * self.nbytes / self.count if self.count else 0.0

    @property
    def weighted_rmse(self) -> float:
        """The RMSE with squares weighted by importance; NaN where there is none."""
        return math.sqrt(self.weighted_error / self.importance) if self.importance else math.nan

    @property
    def weighted_relative(self) -> float:
        """The relative RMSE with squares weighted by importance; NaN where there is none."""
        if not self.importance:
            return math.nan
        return relative_error(self.weighted_error, self.weighted_signal)


def relative_error(error: float, signal: float) -> float:
    """The root of error / signal: 0 without any error, infinite where the signal is zero."""
    if error == 0:
        return 0.0
    return math.sqrt(error / signal) if signal else error * math.inf


def larger(a: float, b: float) -> float:
    """The maximum, in which a NaN stays."""
    return a if math.isnan(a) or a > b else b
