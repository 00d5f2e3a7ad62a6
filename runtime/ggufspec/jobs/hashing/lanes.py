"""One pass over the bytes for all hashes together, on several processors.

Bytes are read once, in batches; each lane takes every batch and hashes what concerns it. Lanes
run beside each other (the hash functions let go of Python's lock), and the next batch is read
while they do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

from .algorithms import Algorithm, Hasher

CHUNK = 4 << 20
"""Bytes read at a time."""

BATCH = 8 << 20
"""Bytes that lanes take at a time."""


class Piece(NamedTuple):
    """Some bytes: of which file, and of which tensor, None between tensors; `last` ends one."""

    file: int
    tensor: int | None
    data: Any
    last: bool = False


class Lane(Protocol):
    """One hash of something."""

    def take(self, pieces: Sequence[Piece]) -> None:
        """Hash what concerns it."""


class TensorLane:
    """Hashes of one algorithm of each tensor by itself; `texts` in the order of the tensors."""

    def __init__(self, algorithm: Algorithm) -> None:
        self.algorithm = algorithm
        self.texts: dict[int, str] = {}
        self._hasher: Hasher | None = None

    def take(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece.tensor is None:
                continue
            hasher = self._hasher or self.algorithm.new()
            hasher.update(piece.data)
            self._hasher = hasher
            if piece.last:
                self.texts[piece.tensor] = hasher.text()
                self._hasher = None


class DataLane:
    """One hash of the data of all tensors but some."""

    def __init__(self, algorithm: Algorithm, left_out: Collection[int] = ()) -> None:
        self.algorithm = algorithm
        self.left_out = left_out
        self._hasher = algorithm.new()

    def take(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            if piece.tensor is not None and piece.tensor not in self.left_out:
                self._hasher.update(piece.data)

    def text(self) -> str:
        """The hash of what was taken."""
        return self._hasher.text()


class FileLane:
    """A hash of every byte of each file."""

    def __init__(self, algorithm: Algorithm, files: int) -> None:
        self.algorithm = algorithm
        self._hashers = [algorithm.new() for _ in range(files)]

    def take(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            self._hashers[piece.file].update(piece.data)

    def texts(self) -> list[str]:
        """The hashes, in the order of the files."""
        return [hasher.text() for hasher in self._hashers]


def run(
    pieces: Iterable[Piece],
    lanes: Sequence[Lane],
    threads: int,
    advance: Callable[[int], object] = lambda _: None,
) -> None:
    """Let every lane take all pieces in their order."""
    batches = _batches(pieces)
    if min(threads, len(lanes)) < 2:
        for batch in batches:
            for lane in lanes:
                lane.take(batch)
            advance(_size(batch))
        return
    with ThreadPoolExecutor(min(threads, len(lanes))) as pool:
        running: list[Future[None]] = []
        told = 0
        for batch in batches:  # read while the one before is hashed
            _finish(running)
            advance(told)
            running = [pool.submit(lane.take, batch) for lane in lanes]
            told = _size(batch)
        _finish(running)
        advance(told)


def _finish(running: list[Future[None]]) -> None:
    for future in running:
        future.result()


def _batches(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    batch: list[Piece] = []
    size = 0
    for piece in pieces:
        batch.append(piece)
        size += len(piece.data)
        if size >= BATCH or len(batch) >= 4096:
            yield batch
            batch, size = [], 0
    yield batch


def _size(batch: Sequence[Piece]) -> int:
    return sum(len(piece.data) for piece in batch)
