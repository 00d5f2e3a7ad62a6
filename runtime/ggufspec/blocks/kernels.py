"""The compiled kernels through ctypes: rows to floats on several threads, blocks to codes.

What there is (types, their arrays, ranges) is read from the library's own table, so that
library and package cannot disagree about it. Calls release the interpreter lock.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import native

Array = NDArray[Any]
Bytes = NDArray[np.uint8]

SHARE = 1 << 19
"""Elements that are worth a thread of their own."""

_MAX_RANK = 12


class _ArrayInfo(ctypes.Structure):
    """``ggufspec_array`` of runtime/c/types.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("kind", ctypes.c_char),
        ("size", ctypes.c_uint32),
        ("rank", ctypes.c_uint32),
        ("shape", ctypes.c_uint32 * _MAX_RANK),
        ("low", ctypes.c_int64),
        ("high", ctypes.c_int64),
    )


class _TypeInfo(ctypes.Structure):
    """``ggufspec_type`` of runtime/c/types.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("id", ctypes.c_int32),
        ("elements", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("row_prefix", ctypes.c_uint32),
        ("tensor_suffix", ctypes.c_uint32),
        ("words_count", ctypes.c_uint32),
        ("prefix_words_count", ctypes.c_uint32),
        ("suffix_words_count", ctypes.c_uint32),
        ("array_count", ctypes.c_uint32),
        ("words", ctypes.c_void_p),
        ("prefix_words", ctypes.c_void_p),
        ("suffix_words", ctypes.c_void_p),
        ("arrays", ctypes.POINTER(_ArrayInfo)),
    )


@dataclass(frozen=True)
class _Stored:
    """One array of unpack and pack: integers in low..high, or floats."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    low: int
    high: int


@dataclass(frozen=True)
class _Kernel:
    """One type of the library, ``number`` its place in the library's table."""

    number: int
    elements: int
    bytes: int
    row_prefix: int
    arrays: tuple[_Stored, ...]


def available() -> bool:
    """Whether the compiled kernels are there."""
    return native.lib() is not None


def chosen(backend: str, name: str) -> bool:
    """Whether the compiled kernels should run for a type.

    A library older than generated/ may lack a new type: then NumPy serves, but "native" is a
    RuntimeError, as without the library. ValueError for an unknown back end.
    """
    if backend not in {"auto", "native", "numpy"}:
        raise ValueError(f"backend must be 'auto', 'native' or 'numpy', not {backend!r}")
    if backend == "native" and not available():
        raise RuntimeError(f"there is no compiled part: {native.describe()}")
    if backend == "numpy" or not available():
        return False
    if name in _kernels():
        return True
    if backend == "native":
        raise RuntimeError(f"the compiled part is older than type {name}: install the package anew")
    return False


def variant() -> str:
    """Which build of the kernels this processor runs: "baseline", "v3" ..."""
    return bytes(_library().ggufspec_variant()).decode()


def use_variant(name: str | None) -> None:
    """Run another build of the kernels (None: the processor's best); ValueError if it cannot."""
    if _library().ggufspec_use_variant(name.encode() if name else None):
        raise ValueError(f"this library or processor has no variant {name!r}")


def number(name: str) -> int:
    """The place of a type in the library's tables."""
    return _kernels()[name].number


def dequantize(
    name: str,
    rows: Bytes,
    out: NDArray[np.float32],
    suffix: Bytes | None = None,
    *,
    threads: int | None = None,
    byte_order: str = "little",
) -> None:
    """Stored ``rows`` (n, bytes a row) into ``out`` (n, elements a row), both contiguous.

    threads: None for all processors; small inputs take fewer.
    """
    kernel = _kernels()[name]
    run = _library().ggufspec_dequantize
    big = int(byte_order == "big")
    tail = suffix.ctypes.data if suffix is not None else None
    blocks = (rows.shape[1] - kernel.row_prefix) // kernel.bytes
    count, length = rows.shape[0], blocks
    if not kernel.row_prefix:
        # Without a prefix rows are only blocks: any cut between blocks is as good.
        count, length = rows.shape[0] * blocks, 1
    source, target = rows.ctypes.data, out.ctypes.data
    source_step = kernel.row_prefix + length * kernel.bytes
    target_step = length * kernel.elements * 4

    def part(start: int, stop: int) -> None:
        at, to = source + start * source_step, target + start * target_step
        run(kernel.number, big, at, to, stop - start, length, tail)

    share(part, count, length * kernel.elements, threads)


def unpack(name: str, blocks: Bytes, *, byte_order: str = "little") -> dict[str, Array]:
    """Blocks (n, bytes a block) to each field and code as an array (n, *axes)."""
    kernel = _kernels()[name]
    count = blocks.shape[0]
    made = {a.name: np.empty((count, *a.shape), a.dtype) for a in kernel.arrays}
    big = int(byte_order == "big")
    _library().ggufspec_unpack(
        kernel.number, big, blocks.ctypes.data, count, _pointers(list(made.values()))
    )
    return made


def pack(name: str, codes: Mapping[str, Array], *, byte_order: str = "little") -> Bytes:
    """What ``unpack`` gives, to blocks; ValueError for a code outside its range."""
    kernel = _kernels()[name]
    arrays = [_checked(stored, codes) for stored in kernel.arrays]
    count = len(arrays[0])
    for stored, array in zip(kernel.arrays, arrays, strict=True):
        if len(array) != count:
            raise ValueError(f"{stored.name} has {len(array)} blocks, others have {count}")
    packed = np.empty((count, kernel.bytes), np.uint8)
    big = int(byte_order == "big")
    _library().ggufspec_pack(kernel.number, big, packed.ctypes.data, count, _pointers(arrays))
    return packed


def count_broken(name: str, data: Bytes, *, byte_order: str = "little") -> dict[str, int] | None:
    """How many values of blocks (n, bytes a block) break the conditions of their type, if any do.

    None where the library has no conditions, or others than generated/.
    """
    texts = _conditions(name)
    if texts is None:
        return None
    counts = (ctypes.c_uint64 * max(1, len(texts)))()
    big = int(byte_order == "big")
    _library().ggufspec_check_blocks(
        _kernels()[name].number, big, data.ctypes.data, len(data), counts
    )
    if not any(counts):
        return {}
    return {text: count for text, count in zip(texts, counts, strict=False) if count}


def swap(name: str, blocks: Bytes, *, threads: int | None = None) -> bool:
    """Turn the words of blocks (n, bytes a block), contiguous, to the other byte order, in place.

    False without a library that can do it for the type.
    """
    run = getattr(_library(), "ggufspec_swap", None) if available() else None
    if run is None or name not in _kernels():
        return False
    kernel, start = _kernels()[name], blocks.ctypes.data

    def part(first: int, last: int) -> None:
        run(kernel.number, start + first * kernel.bytes, last - first)

    share(part, len(blocks), kernel.bytes, threads)
    return True


def whole_steps(data: Bytes, size: int) -> Bytes | None:
    """Which steps of `size` bytes of the data are zeros (1) or 0xFF (2) alone; 0 for the others.

    None without a library that can tell.
    """
    run = getattr(_library(), "ggufspec_whole_steps", None) if available() else None
    if run is None:
        return None
    kinds = np.empty(len(data) // size, np.uint8)
    run(data.ctypes.data, len(kinds), size, kinds.ctypes.data)
    return kinds


@cache
def _conditions(name: str) -> tuple[str, ...] | None:
    """The conditions on a type's blocks, if library and package agree about them."""
    texts_of = getattr(_library(), "ggufspec_conditions", None)
    if texts_of is None:
        return None
    stored = texts_of(_kernels()[name].number)
    texts: list[str] = []
    while stored and stored[len(texts)] is not None:
        texts.append(stored[len(texts)].decode())
    module = import_module(f"ggufspec.generated.numpy.{name.lower()}")
    return tuple(texts) if tuple(texts) == module.CONDITIONS else None


def _checked(stored: _Stored, codes: Mapping[str, Array]) -> Array:
    values = np.asarray(codes[stored.name])
    checked = stored.dtype.kind != "f" and values.size
    if checked and (values.min() < stored.low or values.max() > stored.high):
        raise ValueError(f"code {stored.name} leaves its range {stored.low}..{stored.high}")
    return np.ascontiguousarray(values, stored.dtype).reshape(len(values), *stored.shape)


def _pointers(arrays: list[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def share(
    part: Callable[[int, int], None],
    count: int,
    size: int,
    threads: int | None,
    *,
    least: int = SHARE,
) -> None:
    """Cut ``count`` items of ``size`` elements into equal runs, one a thread.

    least: elements that are worth a thread. Runs that the system has no thread for are the
    caller's. What a thread raises, the caller raises once all are done.
    """
    if threads is not None and not hasattr(threads, "__index__"):
        raise TypeError(f"threads is an integer or None, not {threads!r}")
    if threads is not None and threads < 1:
        raise ValueError("threads must be at least 1")
    wanted = threads or processors()
    parts = max(1, min(wanted, count, count * size // least))
    cuts = [count * number // parts for number in range(parts + 1)]
    outcomes: list[BaseException | None] = []

    def told(start: int, stop: int) -> None:
        try:
            part(start, stop)
        except BaseException as error:
            outcomes.append(error)
        else:
            outcomes.append(None)

    own, others = [(cuts[0], cuts[1])], []
    try:
        for cut in pairwise(cuts[1:]):
            thread = Thread(target=told, args=cut)
            try:
                thread.start()
            except RuntimeError:  # the system has no more of them
                own.append(cut)
            else:
                others.append(thread)
        for cut in own:
            part(*cut)
    finally:
        for thread in others:
            thread.join()
    if failed := [outcome for outcome in outcomes if outcome]:
        raise failed[0]
    if len(outcomes) < len(others):
        raise MemoryError("a thread ended before its work")


def processors() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def at_most_processors(threads: int | None) -> int:
    """So many threads, None for all processors, but no more than there are of these."""
    return min(threads or processors(), processors())


@cache
def _library() -> ctypes.CDLL:
    library = native.lib()
    if library is None:
        raise RuntimeError(f"there is no compiled part: {native.describe()}")
    integer, pointer, size = ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t
    library.ggufspec_variant.restype = ctypes.c_char_p
    library.ggufspec_use_variant.argtypes = [ctypes.c_char_p]
    library.ggufspec_dequantize.argtypes = [
        integer, integer, pointer, pointer, size, size, pointer,
    ]  # fmt: skip
    library.ggufspec_unpack.argtypes = [integer, integer, pointer, size, pointer]
    library.ggufspec_pack.argtypes = [integer, integer, pointer, size, pointer]
    if hasattr(library, "ggufspec_swap"):
        library.ggufspec_swap.argtypes = [integer, pointer, size]
    if hasattr(library, "ggufspec_check_blocks"):
        library.ggufspec_check_blocks.argtypes = [integer, integer, pointer, size, pointer]
        library.ggufspec_conditions.restype = ctypes.POINTER(ctypes.c_char_p)
        library.ggufspec_whole_steps.argtypes = [pointer, size, size, pointer]
        library.ggufspec_whole_steps.restype = None
    return library


@cache
def _kernels() -> dict[str, _Kernel]:
    library = _library()
    count = ctypes.c_int.in_dll(library, "ggufspec_type_count").value
    table = (_TypeInfo * count).in_dll(library, "ggufspec_types")
    return {
        info.name.decode(): _Kernel(
            number,
            info.elements,
            info.bytes,
            info.row_prefix,
            tuple(_stored(info.arrays[i]) for i in range(info.array_count)),
        )
        for number, info in enumerate(table)
    }


def _stored(info: _ArrayInfo) -> _Stored:
    dtype = np.dtype(f"{info.kind.decode()}{info.size}")
    return _Stored(info.name.decode(), dtype, tuple(info.shape[: info.rank]), info.low, info.high)
