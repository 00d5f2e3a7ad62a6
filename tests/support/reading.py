"""Reads all there is to read of a file, as a program does that knows nothing of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import ggufspec
from ggufspec.files.source import ByteSource

MOST_ITEMS = 1000
LARGEST = 1 << 16


def read_all(source: ByteSource, profile: str = "lenient") -> str:
    """Open a file, make every value and decode every small tensor: "ok" or the error's code.

    Any other exception than GGUFError is the caller's.
    """
    try:
        with ggufspec.open(source, profile=profile) as file:
            for key in file.metadata:
                file.metadata.type_of(key)
                _look(file.metadata[key])
            for name in file.tensors:
                _decode(file.tensors[name])
    except ggufspec.GGUFError as error:
        return error.code
    return "ok"


def _look(value: Any) -> None:
    """The first items of a value, and of the values in it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
            waiting += islice(item, MOST_ITEMS)


def _decode(tensor: ggufspec.Tensor) -> None:
    assert len(repr(tensor)) < 4 * LARGEST
    if tensor.nbytes is not None and tensor.nbytes <= LARGEST:
        try:
            tensor.dequantize()
        except ggufspec.GGUFError:  # one tensor that has no decoder does not hide the others
            return
