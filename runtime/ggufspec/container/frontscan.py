"""The cursor for a file of which only the beginning is there."""

from __future__ import annotations

from collections.abc import Sequence

from ..generated import container as tables
from .front import Front
from .pyscan import PyCursor

_LOOKED_AT = max(len(magic) for magic, _ in tables.LOOKALIKES)
"""Bytes that tell what a file is that is no GGUF."""


class FrontCursor(PyCursor):
    """The cursor in Python, which makes bytes be there before it reads them."""

    def __init__(self, front: Front, profile: int, types: Sequence[tuple[int, ...]]) -> None:
        super().__init__(front.view, profile, types)
        self._front = front
        self._size = front.size
        self._there = 0
        self._get(min(front.size, _LOOKED_AT))

    def _need(self, offset: int, size: int) -> None:
        super()._need(offset, size)
        self._get(self.at + size)

    def _walk_strings(self, kind: tables.ValueType, count: int) -> None:
        self._get(min(self._size, self.at + count * self._layout.string_length))
        super()._walk_strings(kind, count)

    def _skip_short(self, count: int, most: int) -> bool:
        start = self.at
        if not super()._skip_short(count, most):
            return False
        if self.at > self._there:  # what it took for lengths is not there yet
            self.at = start
            return False
        return True

    def _get(self, end: int) -> None:
        if end > self._there:
            self._there = self._front.need(end)
