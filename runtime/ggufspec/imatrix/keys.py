"""The keys that tell which matrix a file was quantized with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..files.values import Value

if TYPE_CHECKING:
    from .matrix import Imatrix

_LONGEST = 127
"""Bytes of a string that llama-quantize writes at most."""

_MOST_CHUNKS = 2**31 - 1
"""It keeps them in an int, and tells of no more."""


def imatrix_metadata(imatrix: Imatrix) -> dict[str, Value]:
    """The ``quantize.imatrix.*`` keys in the order and form in which llama-quantize writes them.

    The matrix is the one after the selection; without an entry there are no keys.
    """
    if not imatrix.entries:
        return {}
    keys = {"quantize.imatrix.file": _text(imatrix.path)}
    if imatrix.datasets:
        keys["quantize.imatrix.dataset"] = _text(imatrix.datasets[0])
    keys["quantize.imatrix.entries_count"] = Value("UINT32", len(imatrix.entries))
    if 0 < imatrix.chunk_count <= _MOST_CHUNKS:
        keys["quantize.imatrix.chunks_count"] = Value("UINT32", imatrix.chunk_count)
    return keys


def _text(text: str) -> Value:
    data = text.encode(errors="surrogateescape")[:_LONGEST]
    try:
        return Value("STRING", data.decode())
    except UnicodeDecodeError:  # the cut may go through a character
        return Value("STRING", data)
