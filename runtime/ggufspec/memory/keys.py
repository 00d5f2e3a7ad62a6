"""Keys of an architecture as numbers, one or one a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..files.metadata import Metadata

MOST_BLOCKS = 512
"""llama.cpp has room for so many."""

MOST = (1 << 32) - 1
"""llama.cpp reads these keys as UINT32."""


class UncountedError(Exception):
    """What a file needs cannot be counted, and why."""


class Keys:
    """Keys behind the prefix of the architecture. UncountedError for values that are no counts."""

    def __init__(self, metadata: Metadata, architecture: str) -> None:
        self._metadata = metadata
        self._prefix = f"{architecture}."
        self.architecture = architecture

    def __contains__(self, name: str) -> bool:
        return self._prefix + name in self._metadata

    def is_array(self, name: str) -> bool:
        """Whether there is one value a block."""
        return name in self and self._metadata.stored(self._prefix + name).is_array

    def number(self, name: str, default: int | None = None) -> int:
        """One number; UncountedError where there is none and no default."""
        if name not in self:
            if default is None:
                raise UncountedError(f"the key {self._prefix}{name} is missing")
            return default
        return self._count(name, self._metadata[self._prefix + name])

    def called(self, name: str) -> str:
        """What the file calls a key."""
        return self._prefix + name

    def positive(self, name: str, default: int | None = None) -> int:
        """The same as `number`; UncountedError for 0, too."""
        number = self.number(name, default)
        if not number:
            raise UncountedError(f"{self._prefix}{name} is 0")
        return number

    def each(self, name: str, blocks: int, default: list[int], *, exact: bool = False) -> list[int]:
        """One number a block; blocks behind the end of an array have 0.

        exact: UncountedError for an array of another length, which llama.cpp refuses.
        """
        if name not in self:
            return default
        key = self._prefix + name
        stored = self._metadata.stored(key)
        if not stored.is_array:
            return [self.number(name)] * blocks
        if stored.count > MOST_BLOCKS:
            raise UncountedError(
                f"{key} has {stored.count:,} values; llama.cpp takes {MOST_BLOCKS}"
            )
        if exact and stored.count != blocks:
            raise UncountedError(f"{key} has {stored.count:,} values for {blocks:,} blocks")
        values = [self._count(name, value) for value in self._metadata[key]][:blocks]
        return values + [0] * (blocks - len(values))

    def _count(self, name: str, value: object) -> int:
        try:
            number = int(value)  # type: ignore[call-overload]
            if isinstance(value, str) or number != value or number < 0:
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise UncountedError(f"{self._prefix}{name} is no count") from None
        if number > MOST:
            raise UncountedError(f"{self._prefix}{name} is beyond the {MOST:,} of llama.cpp")
        return int(number)
