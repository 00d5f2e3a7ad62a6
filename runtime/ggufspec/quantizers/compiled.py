"""The C back end: the same strategies a lane at a time, through ctypes."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .. import native
from ..blocks import kernels
from ..registry import TensorType
from .arithmetic import Floats
from .fault import Fault

_DONE, _NOT_FINITE, _OVERFLOW, _NO_MEMORY = 0, 1, 2, -2


def quantize(
    kind: TensorType, x: Floats, out: NDArray[np.uint8], importance: Floats | None
) -> Fault | None:
    """Quantize rows (n, row) into ``out`` (n, bytes a row) up to the first fault, if any.

    All arrays are contiguous. The interpreter lock is released.
    """
    if not x.size:
        return None
    row_blocks = x.shape[1] // kind.elements
    where = ctypes.c_size_t()
    weights = None if importance is None else importance.ctypes.data
    status = _library().ggufspec_quantize(
        kernels.number(kind.name), x.ctypes.data, out.ctypes.data, len(x), row_blocks, weights,
        ctypes.byref(where),
    )  # fmt: skip
    if status == _DONE:
        return None
    if status == _NO_MEMORY:
        raise MemoryError(f"no memory for the tables of {kind.name}'s quantizer")
    if status not in {_NOT_FINITE, _OVERFLOW}:
        raise RuntimeError(f"the compiled part has no quantizer for {kind.name}")
    if status == _NOT_FINITE:
        return Fault(where.value, "not finite")
    return Fault(where.value * kind.elements, "overflow")


@cache
def _library() -> ctypes.CDLL:
    library = native.lib()
    if library is None:
        raise RuntimeError(f"there is no compiled part: {native.describe()}")
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    library.ggufspec_quantize.argtypes = [
        ctypes.c_int, pointer, pointer, size, size, pointer, ctypes.POINTER(size),
    ]  # fmt: skip
    library.ggufspec_quantize.restype = ctypes.c_int
    return library
