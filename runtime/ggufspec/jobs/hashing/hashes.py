"""What was hashed, or what a manifest says that it hashes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Texts = Mapping[str, str]
"""Hashes by the name of the algorithm."""


@dataclass(frozen=True)
class TensorHashes:
    """Hashes of the stored bytes of a tensor, without padding, in the file's byte order.

    `shape` is in NumPy order. `type` is "", `shape` and `nbytes` are None where a manifest does
    not say.
    """

    name: str
    hashes: Texts
    type: str = ""
    shape: tuple[int, ...] | None = None
    nbytes: int | None = None


@dataclass(frozen=True)
class KeyHashes:
    """Hashes of a key: of its record as a little-endian file of version 3 has it."""

    key: str
    type: str
    hashes: Texts


@dataclass(frozen=True)
class FileHashes:
    """Hashes of a file's bytes: of the `header_size` in front of the data, and of all `size`."""

    name: str
    size: int
    header_size: int
    header: Texts = field(default_factory=dict)
    whole: Texts = field(default_factory=dict)


@dataclass(frozen=True)
class Hashes:
    """All that is known of a model. Parts that nobody asked for are empty.

    `files` are those of a split set in order; `metadata` hashes all keys of the first, one behind
    the other, each as in `KeyHashes`. `data` hashes the data of all tensors in the order of their
    infos, but for those in `left_out`, which gguf-py leaves out; `all_data` is with them, and empty
    where there are none. `tensors` has no entries where only `data` was asked for.
    """

    algorithms: tuple[str, ...]
    files: tuple[FileHashes, ...] = ()
    metadata: Texts = field(default_factory=dict)
    keys: tuple[KeyHashes, ...] = ()
    data: Texts = field(default_factory=dict)
    all_data: Texts = field(default_factory=dict)
    data_size: int | None = None
    left_out: tuple[str, ...] = ()
    tensors: tuple[TensorHashes, ...] = ()
