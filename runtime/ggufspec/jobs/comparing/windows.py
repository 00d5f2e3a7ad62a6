"""Pieces of a pair of tensors that are measured at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import lcm, prod

from .ordered import batches
from .pairs import Pair
from .spans import unit

ELEMENTS = 1 << 18
"""Elements a window: 1 MB of float32 for each of the two files."""

UNBLOCKED = 256
"""Elements that count as a block where neither of the types has blocks."""


@dataclass(frozen=True)
class Window:
    """Elements of a pair from number `first` on: whole blocks of both types."""

    number: int  # of the pair
    pair: Pair
    block: int
    first: int
    count: int


def block_size(pair: Pair) -> int:
    """Elements a block: those of the file's type, else of the reference's, else `UNBLOCKED`."""
    kinds = (pair.tensor.kind, pair.reference.kind)
    sizes = (kind.elements for kind in kinds if kind is not None and kind.elements > 1)
    return next(sizes, UNBLOCKED)


def windows(pairs: Iterable[Pair], elements: int = ELEMENTS) -> Iterator[list[Window]]:
    """All elements of the pairs in order, in lists that are worth a thread's while."""
    each = (_of_pair(number, pair, elements) for number, pair in enumerate(pairs))
    return batches(chain.from_iterable(each), elements)


def _of_pair(number: int, pair: Pair, elements: int) -> Iterator[Window]:
    total = prod(pair.tensor.shape)
    if not total:
        return
    block = block_size(pair)
    whole = lcm(block, unit(pair.reference), unit(pair.tensor))
    step = max(whole, elements // whole * whole)
    for first in range(0, total, step):
        yield Window(number, pair, block, first, min(step, total - first))
