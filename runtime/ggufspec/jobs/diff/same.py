"""Files that are equal byte for byte, found out at the speed of reading."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..comparing.ordered import ordered

if TYPE_CHECKING:
    from ...files.part import Part
    from ...files.reader import File

_TILE = 4 << 20
"""Bytes compared at once."""


class Tile(NamedTuple):
    """Bytes of file number `shard` of a set, from `start` up to `stop`."""

    shard: int
    start: int
    stop: int


def same_fronts(first: File, second: File) -> bool:
    """Whether the files have equal sizes, and equal bytes in front of their data."""
    if len(first.parts) != len(second.parts) or first.dialect != second.dialect:
        return False
    pairs = list(zip(first.parts, second.parts, strict=True))
    if any(one.scan.file_size != other.scan.file_size for one, other in pairs):
        return False
    return all(
        one.scan.data_offset == other.scan.data_offset
        and (_is_one(one, other) or not _any_differs(one, other))
        for one, other in pairs
    )


def differing_tiles(
    first: File,
    second: File,
    *,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[Tile]:
    """Where files that have the `same_fronts` are not equal behind them.

    advance: is told the bytes of both that were compared.
    """
    found = []
    for shard, (one, other) in enumerate(zip(first.parts, second.parts, strict=True)):
        start, size = min(one.scan.data_offset, one.scan.file_size), one.scan.file_size
        if _is_one(one, other):
            advance(2 * (size - start))
            continue
        cuts = [Tile(shard, at, min(at + _TILE, size)) for at in range(start, size, _TILE)]
        differs = ordered(partial(_differs, one, other), cuts, threads)
        for tile, is_other in zip(cuts, differs, strict=True):
            advance(2 * (tile.stop - tile.start))
            if is_other:
                found.append(tile)
    return found


def _is_one(first: Part, second: Part) -> bool:
    """Whether both are one file, by any name."""
    if first.source is second.source:
        return True
    paths = first.source.path, second.source.path
    if paths[0] is None or paths[1] is None:
        return False
    try:
        return Path(paths[0]).samefile(paths[1])
    except OSError:
        return False


def _any_differs(first: Part, second: Part) -> bool:
    end = min(first.scan.data_offset, first.scan.file_size)
    tiles = (Tile(0, at, min(at + _TILE, end)) for at in range(0, end, _TILE))
    return any(_differs(first, second, tile) for tile in tiles)


def _differs(first: Part, second: Part, tile: Tile) -> bool:
    count = tile.stop - tile.start
    mine = first.source.read(tile.start, count)
    theirs = second.source.read(tile.start, count)
    return not equal_bytes(np.frombuffer(mine, np.uint8), np.frombuffer(theirs, np.uint8))


def equal_bytes(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    """Whether as many bytes, contiguous in both, are the same; compared eight at a time."""
    whole = len(first) // 8 * 8
    return bool(
        (first[:whole].view(np.uint64) == second[:whole].view(np.uint64)).all()
        and (first[whole:] == second[whole:]).all()
    )
