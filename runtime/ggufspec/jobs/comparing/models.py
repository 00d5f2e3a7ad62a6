"""All tensors of a file measured against those of a reference."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Literal

from ...files.reader import open as open_file
from .blocks import Blocks, Histogram, WorstBlock, order_of
from .measuring import Part, Wanted, measure_window
from .ordered import ordered
from .pairs import Matching, Pair, match
from .places import Place, place_of
from .spans import obstacle
from .sums import Sums
from .windows import ELEMENTS, Window, block_size, windows

if TYPE_CHECKING:
    from ...files.reader import File

Grouping = Literal["role", "layer", "type"]
Advance = Callable[[int], object]


@dataclass(frozen=True)
class Measured:
    """A tensor and its error; `worst` has the worst block first."""

    pair: Pair
    sums: Sums
    blocks: Blocks
    worst: tuple[WorstBlock, ...] = ()

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.pair.tensor.name

    @property
    def place(self) -> Place:
        """Its role and layer."""
        return place_of(self.name)


@dataclass(frozen=True)
class Undecoded:
    """A tensor that cannot be measured; `code` is the rule that says why."""

    pair: Pair
    reason: str
    code: str


@dataclass(frozen=True)
class Group:
    """Tensors measured as if they were one."""

    sums: Sums = field(default_factory=Sums)
    blocks: Blocks = field(default_factory=Blocks)
    tensors: int = 0

    def plus(self, one: Measured) -> Group:
        """The group with one more in it."""
        return Group(self.sums + one.sums, self.blocks + one.blocks, self.tensors + 1)


@dataclass(frozen=True)
class Comparison:
    """The errors of a file's tensors, in the order of the reference."""

    matching: Matching
    tensors: tuple[Measured, ...]
    undecoded: tuple[Undecoded, ...] = ()

    @property
    def overall(self) -> Sums:
        """All tensors as if they were one."""
        return sum((one.sums for one in self.tensors), Sums())

    @property
    def histogram(self) -> Histogram:
        """The blocks of all tensors."""
        return sum((one.blocks.histogram for one in self.tensors), Histogram())

    def grouped(self, by: Grouping) -> Mapping[str, Group]:
        """Tensors of one role, layer or type together; those outside of layers are not in any."""
        groups: dict[str, Group] = {}
        for one in self.tensors:
            key = one.pair.tensor.type if by == "type" else getattr(one.place, by)
            if key is not None:
                groups[key] = groups.get(key, Group()).plus(one)
        return groups

    def worst(self, count: int, wanted: Wanted) -> list[WorstBlock]:
        """The worst blocks of all tensors, of those that were kept."""
        found = [block for one in self.tensors for block in one.worst]
        found.sort(key=lambda block: order_of(block, wanted.ranking))
        return found[:count]


def compare_models(
    reference: File,
    file: File,
    wanted: Wanted = Wanted(),  # noqa: B008 - it is frozen
    *,
    matching: Matching | None = None,
    threads: int | None = None,
    advance: Advance = lambda _: None,
) -> Comparison:
    """Measure the tensors that both have in the same shape.

    matching: which ones, where it is known already. threads: None for all processors. advance: is
    told the bytes that were read, `Matching.nbytes` altogether. OSError when a file was cut.
    ImatrixError for an entry that does not fit its tensor.
    """
    matching = matching or match(reference, file)
    pairs, undecoded = [], []
    for pair in matching.pairs:
        error = obstacle(pair.reference) or obstacle(pair.tensor)
        if error is None:
            pairs.append(pair)
        else:
            undecoded.append(Undecoded(pair, error.message, error.code))
    measured = measure_pairs(pairs, wanted, threads=threads, advance=advance)
    return Comparison(matching, tuple(measured), tuple(undecoded))


def measure_pairs(
    pairs: Sequence[Pair],
    wanted: Wanted,
    *,
    threads: int | None = None,
    advance: Advance = lambda _: None,
    elements: int = ELEMENTS,
) -> list[Measured]:
    """Measure pairs of tensors without an `obstacle`, some `elements` at a time."""
    tallies = [_Tally(pair, wanted) for pair in pairs]
    work = partial(_measure_all, wanted)
    for parts in ordered(work, windows(pairs, elements), threads):
        for part in parts:
            advance(tallies[part.window.number].add(part))
    return [tally.done() for tally in tallies]


def _measure_all(wanted: Wanted, several: Iterable[Window]) -> list[Part]:
    return [measure_window(window, wanted) for window in several]


class _Tally:
    """What the windows of a pair have come to so far."""

    def __init__(self, pair: Pair, wanted: Wanted) -> None:
        self.pair = pair
        self.wanted = wanted
        self.sums = Sums(nbytes=pair.tensor.nbytes)
        self.blocks = Blocks(block_size(pair))
        self.worst: list[WorstBlock] = []

    def add(self, part: Part) -> int:
        """Add a window; the bytes that were read for it, about."""
        before = self.sums.count
        self.sums += part.sums
        self.blocks += part.blocks
        if part.worst:
            self.worst = sorted(
                [*self.worst, *part.worst], key=lambda block: order_of(block, self.wanted.ranking)
            )[: self.wanted.worst]
        total = max(1, prod(self.pair.tensor.shape))
        return self.pair.nbytes * self.sums.count // total - self.pair.nbytes * before // total

    def done(self) -> Measured:
        """The measures of the whole pair."""
        return Measured(self.pair, self.sums, self.blocks, tuple(self.worst))


def measure(pair: Pair, *, threads: int | None = None, advance: Advance = lambda _: None) -> Sums:
    """Sums over both tensors. advance: is told the bytes that were read.

    GGUFError when one of them cannot be decoded.
    """
    error = obstacle(pair.reference) or obstacle(pair.tensor)
    if error is not None:
        raise error
    wanted = Wanted(blocks=False)
    return measure_pairs([pair], wanted, threads=threads, advance=advance)[0].sums


def compare(
    reference: str | os.PathLike[str],
    file: str | os.PathLike[str],
    *,
    threads: int | None = None,
) -> Sums:
    """Overall sums of two files' tensors of the same name and shape.

    GGUFError, also for tensors that cannot be decoded, and OSError as `ggufspec.open` raises them.
    """
    with open_file(reference) as first, open_file(file) as second:
        pairs = match(first, second).pairs
        return sum((measure(pair, threads=threads) for pair in pairs), Sums())
