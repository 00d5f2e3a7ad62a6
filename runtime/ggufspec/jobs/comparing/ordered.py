"""Work on several threads whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

from ...blocks.kernels import at_most_processors

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 2
"""Results a thread that wait for their turn at most."""

_SMALL = 64
"""Items of few elements that one thread takes at once."""


class Counted(Protocol):
    """Work on `count` elements."""

    @property
    def count(self) -> int:
        """How many there are."""


C = TypeVar("C", bound=Counted)


def batches(items: Iterable[C], elements: int) -> Iterator[list[C]]:
    """All items in order, in lists that are worth a thread's while: of so many elements at most.

    An item with more is in a list of its own.
    """
    waiting: list[C] = []
    size = 0
    for item in items:
        if waiting and (size + item.count > elements or len(waiting) == _SMALL):
            yield waiting
            waiting, size = [], 0
        waiting.append(item)
        size += item.count
    if waiting:
        yield waiting


def ordered(work: Callable[[T], R], items: Iterable[T], threads: int | None) -> Iterator[R]:
    """``map(work, items)`` on threads (None: all processors), with few results waiting.

    What the work raises is raised where its result would come.
    """
    count = at_most_processors(threads)
    if count < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(count) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > _AHEAD * count:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
