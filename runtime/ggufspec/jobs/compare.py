"""How far a file's tensors are from those of a reference."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..blocks.tiles import tiles
from ..files.reader import open as open_file

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor

_PART = 1 << 13
"""Weights summed at once: their float64 copies stay in cache, and the BLAS behind NumPy does not
start threads for so few, which would take thirty times as long."""

_END = np.empty(0, np.float32)


@dataclass(frozen=True)
class Sums:
    """What the measures are made of, summed in float64; parts of tensors add up.

    error: sum of (file - reference)^2; signal and power: sums of squares of reference and
    file; product: sum of reference * file; largest: max |file - reference|; nbytes: of the
    file's tensors.
    """

    count: int = 0
    nbytes: int = 0
    error: float = 0.0
    signal: float = 0.0
    power: float = 0.0
    product: float = 0.0
    largest: float = 0.0

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.count + other.count,
            self.nbytes + other.nbytes,
            self.error + other.error,
            self.signal + other.signal,
            self.power + other.power,
            self.product + other.product,
            _larger(self.largest, other.largest),
        )

    @property
    def rmse(self) -> float:
        """Root of the mean squared error, in the unit of the weights."""
        return math.sqrt(self.error / self.count) if self.count else 0.0

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


@dataclass(frozen=True)
class Pair:
    """A tensor that both files have in the same shape."""

    reference: Tensor
    tensor: Tensor


@dataclass(frozen=True)
class Matching:
    """The tensors of two files by name; ``only_*`` in one of them, ``reshaped`` differently."""

    pairs: tuple[Pair, ...]
    only_reference: tuple[str, ...]
    only_file: tuple[str, ...]
    reshaped: tuple[Pair, ...]

    @property
    def complete(self) -> bool:
        """Whether every tensor has its counterpart."""
        return not (self.only_reference or self.only_file or self.reshaped)

    @property
    def nbytes(self) -> int:
        """Bytes to read."""
        return sum(pair.reference.nbytes + pair.tensor.nbytes for pair in self.pairs)


def match(reference: File, file: File) -> Matching:
    """Match the tensors of two files, in the order of the reference."""
    first, second = reference.tensors, file.tensors
    both = [Pair(first[name], second[name]) for name in first if name in second]
    return Matching(
        tuple(pair for pair in both if pair.reference.shape == pair.tensor.shape),
        tuple(name for name in first if name not in second),
        tuple(name for name in second if name not in first),
        tuple(pair for pair in both if pair.reference.shape != pair.tensor.shape),
    )


def measure(
    pair: Pair, *, threads: int | None = None, advance: Callable[[int], None] = lambda _: None
) -> Sums:
    """Sums over both tensors, read in tiles. advance: is told the bytes that were read.

    GGUFError when one of them cannot be decoded.
    """
    total = Sums(nbytes=pair.tensor.nbytes)
    share = (pair.reference.nbytes + pair.tensor.nbytes) / max(1, math.prod(pair.tensor.shape))
    for reference, values in _parts(pair, threads):
        total += _sums(reference, values)
        advance(round(share * len(values)))
    return total


def _parts(
    pair: Pair, threads: int | None
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Pieces of both tensors that hold the same elements, flat."""
    left, right = (
        (tile.reshape(-1) for tile in tiles(tensor, threads=threads) if tile.size)
        for tensor in (pair.reference, pair.tensor)
    )
    a, b = next(left, _END), next(right, _END)
    while len(a) and len(b):
        count = min(len(a), len(b), _PART)
        yield a[:count], b[:count]
        a = a[count:] if count < len(a) else next(left, _END)
        b = b[count:] if count < len(b) else next(right, _END)


def _sums(reference: NDArray[np.float32], values: NDArray[np.float32]) -> Sums:
    a, b = reference.astype(np.float64), values.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        error = b - a
        return Sums(
            count=len(a),
            error=float(np.dot(error, error)),
            signal=float(np.dot(a, a)),
            power=float(np.dot(b, b)),
            product=float(np.dot(a, b)),
            largest=float(np.abs(error).max()),
        )


def _larger(a: float, b: float) -> float:
    """The maximum, in which a NaN stays."""
    return a if math.isnan(a) or a > b else b


def compare(
    reference: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    threads: int | None = None,
) -> Sums:
    """Overall sums of two files' tensors of the same name and shape.

    GGUFError and OSError as `ggufspec.open` raises them.
    """
    with open_file(reference) as first, open_file(file) as second:
        pairs = match(first, second).pairs
        return sum((measure(pair, threads=threads) for pair in pairs), Sums())
