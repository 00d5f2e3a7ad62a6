"""The algorithms: their names on the command line and in manifests, and what computes them."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import ConversionError

NAMESPACE = uuid.UUID("ef001206-dadc-5f6d-a15f-3359e577d4e5")
"""What gguf-py and llama.cpp start their UUIDs of models from."""


class Hasher(Protocol):
    """What takes bytes one piece after the other."""

    def update(self, data: Any, /) -> None:
        """Take more bytes."""

    def text(self) -> str:
        """The hash of what was taken, as tools write it."""


@dataclass(frozen=True)
class Algorithm:
    """One way to hash. `digits`: those of its text; `of_data`: it is of a model's data alone."""

    name: str
    digits: int
    new: Callable[[], Hasher]
    of_data: bool = False


class _Hex:
    def __init__(self, state: Any) -> None:
        self._state = state
        self.update = state.update

    def text(self) -> str:
        return str(self._state.hexdigest())


class _Uuid:
    """A UUID of version 5 whose name is all the data."""

    def __init__(self) -> None:
        self._state = hashlib.sha1(NAMESPACE.bytes, usedforsecurity=False)
        self.update = self._state.update

    def text(self) -> str:
        return str(uuid.UUID(bytes=self._state.digest()[:16], version=5))


def _xxhash(name: str) -> Callable[[], Hasher]:
    def new() -> Hasher:
        try:
            import xxhash
        except ImportError:
            raise ConversionError(
                f"{name} needs the library xxhash", "usage", file="",
                hint="pip install 'ggufspec[hash]' brings it; sha256 needs nothing",
            ) from None  # fmt: skip
        return _Hex(getattr(xxhash, name)())

    return new


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        Algorithm("sha256", 64, lambda: _Hex(hashlib.sha256(usedforsecurity=False))),
        Algorithm("sha1", 40, lambda: _Hex(hashlib.sha1(usedforsecurity=False))),
        Algorithm("xxh64", 16, _xxhash("xxh64")),
        Algorithm("xxh3", 16, _xxhash("xxh3_64")),
        Algorithm("uuid", 36, _Uuid, of_data=True),
    )
}
"""By name, the default first. xxh64 and xxh3 are fast and no protection against intent."""

ALL = ("xxh64", "sha1", "sha256", "uuid")
"""Those that `--all` takes."""


def find_algorithm(name: str) -> Algorithm:
    """The algorithm with a name in any case; ValueError says which there are."""
    try:
        return ALGORITHMS[name.lower()]
    except KeyError:
        known = ", ".join(ALGORITHMS)
        raise ValueError(f"unknown algorithm {name!r}; known: {known}") from None
