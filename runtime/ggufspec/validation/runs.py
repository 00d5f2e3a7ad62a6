"""Long runs of zeros or of 0xFF in tensor data, without reading all of it.

A run of twice a step holds a whole step that begins at a multiple of it. So eight bytes of each
step tell whether it is worth to look at the rest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..blocks import kernels
from ..blocks.rows import Backend

STEP = 4096
"""Bytes; runs of two steps and more are found."""

_WORD = 8
_EXACT = 1000  # runs of a tensor whose ends are looked for; of more the whole steps count

Bytes = NDArray[np.uint8]


class Run(NamedTuple):
    """Bytes `start` to `end` of a tensor's data all have this value."""

    start: int
    end: int
    value: int

    @property
    def length(self) -> int:
        """In bytes."""
        return self.end - self.start


def whole_steps(data: Bytes, *, backend: Backend = "auto") -> Bytes:
    """Of each whole step of the data: 1 for one of zeros, 2 for one of 0xFF, else 0."""
    if backend != "numpy":
        kinds = kernels.whole_steps(data, STEP)
        if kinds is not None:
            return kinds
    count = len(data) // STEP
    steps = data[: count * STEP].reshape(count, STEP)
    heads = steps[:, :_WORD].copy().view(np.uint64)[:, 0]
    kinds = np.zeros(count, np.uint8)
    for kind, value in ((1, 0), (2, 0xFF)):
        word = np.frombuffer(bytes([value]) * _WORD, np.uint64)[0]
        (alike,) = np.nonzero(heads == word)
        if len(alike):
            words = steps[alike].view(np.uint64)
            kinds[alike[(words == word).all(axis=1)]] = kind
    return kinds


def find_runs(data: Bytes, kinds: Bytes, least: dict[int, int]) -> list[Run]:
    """The runs of a tensor from what `whole_steps` says of all its steps.

    least: for each value, 0 and 0xFF, the bytes of the shortest run that is wanted, two steps at
    the least.
    """
    changes = np.flatnonzero(np.diff(kinds, prepend=0, append=0))
    found: list[Run] = []
    for first, last in zip(changes[:-1].tolist(), changes[1:].tolist(), strict=True):
        if not kinds[first]:
            continue
        value = 0 if kinds[first] == 1 else 0xFF
        if (last - first + 2) * STEP < least[value]:
            continue
        run = Run(first * STEP, last * STEP, value)
        if len(found) < _EXACT:
            run = _to_its_ends(data, run)
        if run.length >= least[value]:
            found.append(run)
    return found


def _to_its_ends(data: Bytes, run: Run) -> Run:
    before = data[max(0, run.start - STEP) : run.start][::-1]
    behind = data[run.end : run.end + STEP]
    return run._replace(
        start=run.start - _alike(before, run.value), end=run.end + _alike(behind, run.value)
    )


def _alike(data: Bytes, value: int) -> int:
    """How many of the first bytes have the value."""
    others = np.flatnonzero(data != value)
    return int(others[0]) if len(others) else len(data)
