"""The sums over a piece of two tensors, by block and altogether.

All is summed in float64. The squares of a block are added by NumPy's `einsum`, which keeps a few
running sums; the sums of blocks by its pairwise `sum`; those of windows one after the other, in the
order of the tensor, whatever the number of threads. Squares and differences of float32 lose at most
one rounding of float64 each, so figures agree with any other float64 summation to about 1e-13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import local
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks, Floats, Histogram, Ranking, WorstBlock, order_of, relative_squares
from .spans import span
from .sums import Sums, larger
from .windows import Window

if TYPE_CHECKING:
    from ...imatrix import Imatrix

_STEP = 1 << 16
"""Elements whose float64 copies are worked on at once: they stay in cache."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for beside the sums.

    worst: how many of the worst blocks of each tensor are kept, by their relative or absolute RMSE.
    threshold: the relative RMSE above which blocks are counted. imatrix: whose entries weight the
    errors of their tensors. blocks: whether anything is asked of blocks at all.
    """

    worst: int = 0
    ranking: Ranking = "relative"
    threshold: float = 0.1
    imatrix: Imatrix | None = None
    blocks: bool = True


@dataclass(frozen=True)
class Part:
    """What a window came to."""

    window: Window
    sums: Sums
    blocks: Blocks = field(default_factory=Blocks)
    worst: tuple[WorstBlock, ...] = ()


class _Room(local):
    """Arrays that each thread uses again and again."""

    def __init__(self) -> None:
        self.floats = {name: np.empty(0, np.float32) for name in ("reference", "values")}
        self.doubles = {name: np.empty(0) for name in ("signal", "error")}

    def singles(self, name: str, count: int) -> NDArray[np.float32]:
        """Room for floats of a name, with anything in it."""
        if len(self.floats[name]) < count:
            self.floats[name] = np.empty(count, np.float32)
        return self.floats[name][:count]

    def double(self, name: str, values: NDArray[np.float32]) -> Floats:
        """The values as float64."""
        if len(self.doubles[name]) < len(values):
            self.doubles[name] = np.empty(max(_STEP, len(values)))
        copy = self.doubles[name][: len(values)]
        copy[...] = values
        return copy


_room = _Room()


def measure_window(window: Window, wanted: Wanted) -> Part:
    """Measure one window. The tensors have no `obstacle`; OSError when a file was cut."""
    pair = window.pair
    reference = _room.singles("reference", window.count)
    values = _room.singles("values", window.count)
    span(pair.reference, window.first, reference)
    span(pair.tensor, window.first, values)
    importance = _importance(window, wanted.imatrix)
    step = max(window.block, _STEP // window.block * window.block)
    total, errors, signals = Sums(), [], []
    with np.errstate(invalid="ignore", over="ignore"):
        for first in range(0, window.count, step):
            stop = min(first + step, window.count)
            weights = None if importance is None else importance[first:stop]
            sums, error, signal = _measured(
                reference[first:stop], values[first:stop], weights, window.block
            )
            total += sums
            errors.append(error)
            signals.append(signal)
    if not wanted.blocks:
        return Part(window, total)
    found = (np.concatenate(errors), np.concatenate(signals))
    return _by_block(window, wanted, total, *found)


def _measured(
    reference: NDArray[np.float32],
    values: NDArray[np.float32],
    importance: Floats | None,
    block: int,
) -> tuple[Sums, Floats, Floats]:
    """The sums of some elements, and the sums of squared error and reference of their blocks."""
    signal, error = _room.double("signal", reference), _room.double("error", values)
    power = float(np.einsum("i,i->", error, error))
    np.subtract(error, signal, out=error)
    errors, signals = _squares(error, block), _squares(signal, block)
    noise, strength = float(errors.sum()), float(signals.sum())
    weighted = (0.0, 0.0, 0.0) if importance is None else _weighted(error, signal, importance)
    sums = Sums(
        count=len(error),
        error=noise,
        signal=strength,
        power=power,
        # Exact as the sum of products is: (b - a)^2 = a^2 + b^2 - 2ab.
        product=(strength + power - noise) / 2,
        largest=larger(abs(float(np.max(error))), abs(float(np.min(error)))),
        weighted_error=weighted[0],
        weighted_signal=weighted[1],
        importance=weighted[2],
    )
    return sums, errors, signals


def _squares(values: Floats, block: int) -> Floats:
    """The sum of squares of each block; the last may be shorter."""
    whole = len(values) // block * block
    rows = values[:whole].reshape(-1, block)
    sums: Floats = np.einsum("ij,ij->i", rows, rows)
    if whole == len(values):
        return sums
    rest = values[whole:]
    return np.append(sums, np.einsum("i,i->", rest, rest))


def _weighted(error: Floats, signal: Floats, importance: Floats) -> tuple[float, float, float]:
    np.multiply(error, error, out=error)
    np.multiply(signal, signal, out=signal)
    return (
        float(np.einsum("i,i->", error, importance)),
        float(np.einsum("i,i->", signal, importance)),
        float(importance.sum()),
    )


def _importance(window: Window, imatrix: Imatrix | None) -> Floats | None:
    """The importance of each element of a window; None where the matrix has nothing to say."""
    tensor = window.pair.tensor
    if imatrix is None or tensor.name not in imatrix.entries or not tensor.shape:
        return None
    found = imatrix.importance(tensor.name, tensor.shape).values
    if found is None:
        return None
    row = tensor.shape[-1]
    columns = found.astype(np.float64).reshape(-1, row)
    each = math.prod(tensor.shape[-2:]) if len(columns) > 1 else math.prod(tensor.shape)
    result = np.empty(window.count)
    at, end = window.first, window.first + window.count
    while at < end:
        expert = at // each
        stop = min(end, (expert + 1) * each)
        result[at - window.first : stop - window.first] = np.resize(
            np.roll(columns[expert], -(at % row)), stop - at
        )
        at = stop
    return result


def _by_block(window: Window, wanted: Wanted, sums: Sums, errors: Floats, signals: Floats) -> Part:
    squares = relative_squares(errors, signals)
    over = int(np.count_nonzero(~(squares <= wanted.threshold**2)))
    blocks = Blocks(window.block, len(squares), over, Histogram.of(squares))
    if not wanted.worst:
        return Part(window, sums, blocks)
    return Part(window, sums, blocks, _worst(window, wanted, errors, squares))


def _worst(
    window: Window, wanted: Wanted, errors: Floats, squares: Floats
) -> tuple[WorstBlock, ...]:
    lengths = np.full(len(errors), window.block)
    lengths[-1] = window.count - (len(errors) - 1) * window.block
    means = errors / lengths
    ranked = squares if wanted.ranking == "relative" else means
    found = []
    tensor = window.pair.tensor
    row = tensor.shape[-1] if tensor.shape else 1
    for number in _largest(ranked, wanted.worst):
        start = number * window.block
        stop = min(start + window.block, window.count)
        element = window.first + start
        found.append(
            WorstBlock(
                tensor.name,
                element // row,
                element % row // window.block,
                element,
                math.sqrt(squares[number]),
                math.sqrt(means[number]),
                _room.floats["reference"][start:stop].copy(),
                _room.floats["values"][start:stop].copy(),
            )
        )
    found.sort(key=lambda block: order_of(block, wanted.ranking))
    return tuple(found)


def _largest(ranked: Floats, count: int) -> list[int]:
    """Where the largest values above 0 are, NaN before all; of equals the first."""
    keys = np.nan_to_num(ranked, nan=np.inf, posinf=np.finfo(np.float64).max)
    least = np.partition(keys, -count)[-count] if count < len(keys) else 0.0
    above = np.flatnonzero(keys > least)
    found: list[int] = above.tolist()
    if least > 0:
        found += np.flatnonzero(keys == least)[: count - len(above)].tolist()
    return found
