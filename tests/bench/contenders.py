"""Who decodes: each contender gives the seconds that one call takes on given buffers."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import numpy.typing as npt

from ggufspec import blocks, native
from ggufspec.blocks import kernels
from ggufspec.registry import TensorType
from support import oracle
from support.build import program, run

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]
Timer = Callable[[int], float]
"""Seconds a call, as the mean of so many calls."""


@dataclass(frozen=True)
class Buffers:
    """Stored blocks and the floats they become, both reused; ``n`` elements."""

    kind: TensorType
    data: Bytes
    out: Floats

    @property
    def n(self) -> int:
        return self.out.size


def made(kind: TensorType, out: Floats, rng: np.random.Generator) -> Buffers:
    """Random blocks with every byte value, scales and all: no kernel's time depends on them."""
    count = out.size // kind.elements
    return Buffers(kind, rng.integers(0, 256, (count, kind.bytes), np.uint8), out)


def aligned(n: int) -> Floats:
    """A zeroed float buffer that starts at a page, so that no run is luckier than another."""
    raw = np.zeros(n * 4 + 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start : start + n * 4].view(np.float32)


def ours(b: Buffers) -> Timer | None:
    """Our C, one thread."""
    library = native.lib()
    if library is None:
        return None
    function = ctypes.cast(library.ggufspec_dequantize, ctypes.c_void_p)
    number, count = kernels.number(b.kind.name), len(b.data)
    return lambda repeats: loops().time_ours(
        function, number, b.data.ctypes.data, b.out.ctypes.data, count, repeats
    )


def ours_threads(b: Buffers) -> Timer | None:
    """Our C, all threads, through the public Python function."""
    if not kernels.available():
        return None
    data, out = b.data.reshape(1, -1), b.out.reshape(1, -1)
    return _called(lambda: blocks.dequantize(data, b.kind.name, out=out, backend="native"))


def ours_numpy(b: Buffers) -> Timer | None:
    """Our NumPy kernels, through the public Python function."""
    data, out = b.data.reshape(1, -1), b.out.reshape(1, -1)
    return _called(lambda: blocks.dequantize(data, b.kind.name, out=out, backend="numpy"))


def ggml(b: Buffers) -> Timer | None:
    """The C of ggml itself: ``to_float`` of its type traits, prebuilt for plain x86-64."""
    if b.kind.id is None or not oracle.types()[b.kind.id].has_to_float:
        return None
    function = oracle.to_float_address(b.kind.id)
    return lambda repeats: loops().time_ggml(
        function, b.data.ctypes.data, b.out.ctypes.data, b.n, repeats
    )


def libgguf(b: Buffers) -> Timer | None:
    """libgguf, into a reused buffer, through its Python function."""
    import libgguf as peer

    data, out = b.data.reshape(1, -1), b.out
    number = b.kind.id
    try:
        peer.dequantize_rows_into_raw(number, data, out, 1, b.n)
    except Exception:  # a type it does not know, by whatever error
        return None
    return _called(lambda: peer.dequantize_rows_into_raw(number, data, out, 1, b.n))


def gguf_py(b: Buffers) -> Timer | None:
    """gguf-py's NumPy; it always allocates its result (F32 it only views)."""
    import gguf

    if b.kind.name == "F32":
        return None
    try:
        number = gguf.GGMLQuantizationType(b.kind.id)
        with np.errstate(all="ignore"):
            gguf.dequantize(b.data[:1], number)
    except (ValueError, NotImplementedError, KeyError):
        return None
    return _called(lambda: gguf.dequantize(b.data.reshape(1, -1), number))


def copy(b: Buffers) -> Timer:
    """A plain memcpy of as many floats."""
    source = np.ones(b.n, np.float32)
    return lambda repeats: loops().time_copy(source.ctypes.data, b.out.ctypes.data, b.n, repeats)


def stores(b: Buffers) -> Timer:
    """Plain stores and nothing else: what no kernel can beat."""
    return lambda repeats: loops().time_stores(b.out.ctypes.data, b.n, repeats)


def _called(function: Callable[[], object]) -> Timer:
    def timer(repeats: int) -> float:
        start = time.perf_counter()
        with np.errstate(all="ignore"):
            for _ in range(repeats):
                function()
        return (time.perf_counter() - start) / repeats

    return timer


@cache
def loops() -> ctypes.CDLL:
    """The loops of loops.c, compiled now."""
    source = Path(__file__).with_name("loops.c")
    target = Path(mkdtemp(prefix="ggufspec-bench-")) / "loops.so"
    run([program("cc"), "-std=gnu11", "-O3", "-shared", "-fPIC", "-o", str(target), str(source)])
    library = ctypes.CDLL(str(target))
    pointer, integer, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t
    library.time_ggml.argtypes = [pointer, pointer, pointer, ctypes.c_int64, integer]
    library.time_ours.argtypes = [pointer, integer, pointer, pointer, size, integer]
    library.time_copy.argtypes = [pointer, pointer, size, integer]
    library.time_stores.argtypes = [pointer, size, integer]
    library.time_traffic.argtypes = [pointer, size, pointer, size, integer]
    for name in ("time_ggml", "time_ours", "time_copy", "time_stores", "time_traffic"):
        getattr(library, name).restype = ctypes.c_double
    return library
