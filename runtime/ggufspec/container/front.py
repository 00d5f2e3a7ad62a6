"""A file as a scan sees it: all of it, or its beginning and more of that on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Front:
    """The beginning of a file of `size` bytes, or all of it.

    `view` is as long as the beginning may ever become. `reach(end)` makes its bytes up to `end`
    be there and returns how many are, or raises what keeps them away; it is None where everything
    is there.
    """

    view: memoryview
    size: int
    reach: Callable[[int], int] | None = None

    @property
    def whole(self) -> bool:
        """Whether all of the file is there."""
        return self.reach is None

    def need(self, end: int) -> int:
        """Make the bytes up to `end` be there; how many are."""
        return self.size if self.reach is None else self.reach(end)
