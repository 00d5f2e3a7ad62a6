"""Importance matrices as GGUF files: three keys, and two tensors an entry."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from ..errors import GGUFError
from ..files.reader import open as open_file
from .entry import Counts, Entry, Floats
from .error import ImatrixError
from .matrix import Imatrix

if TYPE_CHECKING:
    from ..files.metadata import Metadata
    from ..files.reader import File
    from ..files.tensor import Tensor

MAGIC = b"GGUF"

_DATASETS = "imatrix.datasets"
_CHUNK_COUNT = "imatrix.chunk_count"
_CHUNK_SIZE = "imatrix.chunk_size"
_SUMS, _COUNTS = ".in_sum2", ".counts"


def read_gguf(path: str) -> Imatrix:
    """Read the matrix; ImatrixError for what the file holds, OSError."""
    try:
        with open_file(path) as file:
            _check_keys(file.metadata, path)
            return Imatrix(
                path,
                _datasets(file.metadata),
                file.metadata[_CHUNK_COUNT],
                MappingProxyType(_entries(file, path)),
            )
    except GGUFError as error:
        raise ImatrixError(error.message, file=path, hint=error.hint) from error


def _check_keys(metadata: Metadata, path: str) -> None:
    """llama-quantize asks for all three keys; of what types, its reader's abort says."""
    missing = [key for key in (_DATASETS, _CHUNK_COUNT, _CHUNK_SIZE) if key not in metadata]
    if missing:
        raise ImatrixError(
            f"no importance matrix: there is no key {' or '.join(missing)}",
            file=path,
            hint="llama-imatrix writes them; is it a model that was given?",
        )
    for key in (_CHUNK_COUNT, _CHUNK_SIZE):
        if metadata.type_of(key) != "UINT32":
            raise ImatrixError(f"{key} is {metadata.type_of(key)}, not UINT32", file=path)


def _datasets(metadata: Metadata) -> tuple[str, ...]:
    if metadata.type_of(_DATASETS) != "ARRAY[STRING]":
        return ()
    return tuple(_text(name) for name in metadata[_DATASETS])


def _text(name: str | bytes) -> str:
    """Up to a NUL, where C ends a string."""
    text = name if isinstance(name, str) else name.decode(errors="surrogateescape")
    return text.partition("\0")[0]


def _entries(file: File, path: str) -> dict[str, Entry]:
    sums = _named(file.tensors, _SUMS)
    counts = _named(file.tensors, _COUNTS)
    for name in sorted(sums.keys() ^ counts.keys()):
        other = _COUNTS if name in sums else _SUMS
        raise ImatrixError(
            f"tensor {name!r}: {name}{other} is missing from the importance matrix",
            file=path,
            tensor=name,
            hint="an entry has sums and counts; make the matrix anew",
        )
    if not sums:
        raise ImatrixError("an importance matrix without entries", file=path)
    return {name: _entry(name, sums[name], counts[name], path) for name in sorted(sums)}


def _named(tensors: Mapping[str, Tensor], suffix: str) -> dict[str, Tensor]:
    """The tensors with a suffix, by what stands before it."""
    return {
        name.removesuffix(suffix): tensor
        for name, tensor in tensors.items()
        if name.endswith(suffix)
    }


def _entry(name: str, sums: Tensor, counts: Tensor, path: str) -> Entry:
    for tensor in (sums, counts):
        if tensor.type != "F32":
            raise ImatrixError(
                f"tensor {name!r}: {tensor.name} is {tensor.type}, not F32", file=path, tensor=name
            )
    values, floats = _floats(sums), _floats(counts)
    if not values.size or not floats.size or values.size % floats.size:
        raise ImatrixError(
            f"tensor {name!r}: {values.size} sums cannot be shared among {floats.size} counts",
            file=path,
            tensor=name,
        )
    return Entry(values.reshape(floats.size, -1), _rounded(name, floats, path))


def _floats(tensor: Tensor) -> Floats:
    """The values, in memory: the file may change once it is closed."""
    return np.frombuffer(b"".join(tensor.chunks(sys.byteorder)), np.float32)


def _rounded(name: str, counts: Floats, path: str) -> Counts:
    """Counts to the nearest integer, halves away from zero."""
    with np.errstate(invalid="ignore"):
        countable = np.abs(counts) < 2.0**63
    if not countable.all():
        expert = int(np.flatnonzero(~countable)[0])
        raise ImatrixError(
            f"tensor {name!r}: the count of expert {expert} is {counts[expert]}",
            file=path,
            tensor=name,
            hint="make the matrix anew",
        )
    wide = counts.astype(np.float64)
    return np.trunc(wide + np.copysign(0.5, wide)).astype(np.int64)
