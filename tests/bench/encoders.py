"""Who encodes: each contender gives a call that quantizes one tensor into a reused buffer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.contenders import aligned, loops
from ggufspec import native
from ggufspec.blocks import kernels
from ggufspec.registry import TensorType
from support import oracle

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Call = Callable[[], object]


@dataclass(frozen=True)
class Work:
    """Rows of floats, an importance or none, and where the blocks go."""

    kind: TensorType
    x: Floats
    importance: Floats | None
    out: Bytes


def made(kind: TensorType, x: Floats, importance: Floats | None) -> Work:
    """Buffers that start at a page, touched before they are used."""
    source = aligned(x.size).reshape(x.shape)
    source[...] = x
    size = len(x) * kind.row_bytes(x.shape[1])
    out = aligned(-(-size // 4)).view(np.uint8)[:size]
    out[...] = 1
    return Work(kind, source, importance, out)


def ours(w: Work) -> Call | None:
    """Our C, one thread."""
    library = native.lib()
    if library is None:
        return None
    size = ctypes.c_size_t
    weights = None if w.importance is None else ctypes.c_void_p(w.importance.ctypes.data)
    where = ctypes.byref(size())
    arguments = (
        kernels.number(w.kind.name),
        *(ctypes.c_void_p(w.x.ctypes.data), ctypes.c_void_p(w.out.ctypes.data)),
        *(size(len(w.x)), size(w.x.shape[1] // w.kind.elements)),
        *(weights, where),
    )

    def call() -> None:
        if library.ggufspec_quantize(*arguments):
            raise RuntimeError(f"{w.kind.name}: not quantized")

    return call


def ggml(w: Work) -> Call | None:
    """The C of ggml itself: ``ggml_quantize_chunk``, prebuilt for plain x86-64."""
    number = w.kind.id
    if number is None:
        return None
    return lambda: oracle.quantize_into(w.x, number, w.importance, w.out)


def libgguf(w: Work) -> Call | None:
    """libgguf, through its Python function."""
    import libgguf as peer

    call = lambda: peer.quantize_rows_into_raw(  # noqa: E731
        w.kind.id, w.x, w.out, *w.x.shape, w.importance
    )
    try:
        peer.quantize_rows_into_raw(w.kind.id, w.x[:1], w.out, 1, w.x.shape[1], w.importance)
    except Exception:  # a type it does not know, by whatever error
        return None
    return call


def traffic(w: Work) -> float:
    """Seconds to read the floats and write as many bytes as the blocks have."""
    seconds: float = loops().time_traffic(
        w.x.ctypes.data, w.x.size, w.out.ctypes.data, w.out.size, 1
    )
    return seconds
