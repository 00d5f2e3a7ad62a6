"""Blocks to floats and codes, and back, for every type: the library's numeric core.

Both back ends come from one spec and give the same bits: "numpy" (readable, the oracle)
and "native" (C, threads, no GIL). Rows are the unit: a row may start with bytes stored
once (``row_prefix``), then come whole blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..registry import TensorType, find
from . import kernels
from .view import Array, Blocks

Backend = Literal["auto", "native", "numpy"]
ByteOrder = Literal["little", "big"]

TILE = 1 << 16
"""Elements that the NumPy back end takes at a time, so that its temporaries stay in cache."""


def dequantize(
    data: NDArray[np.uint8],
    type: str,  # noqa: A002 - the name is the contract
    *,
    threads: int | None = None,
    backend: Backend = "auto",
    byte_order: ByteOrder = "little",
    suffix: NDArray[np.uint8] | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Stored rows to float32, bit for bit what ggml's ``to_float`` gives.

    data: uint8 of shape (..., bytes a row); the result has shape (..., elements a row).
    suffix: the bytes stored once a tensor, for the types that have them.
    out: a C-contiguous float32 array of the result's shape to fill instead of a new one.
    threads: None for all processors. byte_order: of the stored words.
    Raises ValueError for an unknown or removed type, a row that no whole blocks fill, or a
    wrong ``out``; TypeError for data of another dtype.
    """
    kind = _layout(type)
    order = _order(byte_order)
    rows, shape = _rows(data, kind)
    blocks = (rows.shape[1] - kind.info.row_prefix) // kind.bytes
    result = _target(out, (*shape[:-1], blocks * kind.elements))
    flat = result.reshape(rows.shape[0], blocks * kind.elements)
    tail = _suffix(kind, suffix)
    if kernels.chosen(backend, kind.name):
        kernels.dequantize(kind.name, rows, flat, tail, threads=threads, byte_order=byte_order)
    else:
        _dequantize_numpy(kind, rows, flat, tail, order)
    return result


def unpack(
    data: NDArray[np.uint8],
    type: str,  # noqa: A002
    *,
    backend: Backend = "auto",
    byte_order: ByteOrder = "little",
) -> dict[str, Array]:
    """Blocks to their single fields and codes, exactly; ``pack`` is the inverse.

    data: uint8 of shape (blocks, bytes a block). Fields come in their stored type (float16
    for f16, the raw byte for 8-bit floats, 16 bits for bf16), codes as the smallest integer
    type, of shape (blocks, *axes of the code).
    """
    kind = _layout(type)
    order = _order(byte_order)
    blocks = _blocks(data, kind)
    if kernels.chosen(backend, kind.name):
        return kernels.unpack(kind.name, blocks, byte_order=byte_order)
    return dict(_module(kind).unpack(Blocks(blocks, order)))


def pack(
    codes: Mapping[str, Array],
    type: str,  # noqa: A002
    *,
    backend: Backend = "auto",
    byte_order: ByteOrder = "little",
) -> NDArray[np.uint8]:
    """Fields and codes to blocks (blocks, bytes a block); ValueError outside a code's range.

    Bytes that mean nothing are zeros; base-3 bytes take the form that ggml writes.
    """
    kind = _layout(type)
    order = _order(byte_order)
    if kernels.chosen(backend, kind.name):
        return kernels.pack(kind.name, codes, byte_order=byte_order)
    packed: NDArray[np.uint8] = _module(kind).pack(codes, order)
    return packed


def byteswap(
    data: NDArray[np.uint8],
    type: str,  # noqa: A002
    *,
    threads: int | None = 1,
    backend: Backend = "auto",
) -> NDArray[np.uint8]:
    """A copy of stored rows (..., bytes a row) in the other byte order.

    threads: None for all processors. Raises what `dequantize` does.
    """
    kind = _layout(type)
    rows, shape = _rows(data, kind)
    swapped: NDArray[np.uint8] = rows.copy()
    prefix = kind.info.row_prefix
    compiled = kernels.chosen(backend, kind.name) and not prefix
    if not compiled or not kernels.swap(
        kind.name, swapped.reshape(-1, kind.bytes), threads=threads
    ):
        _swap(swapped[:, :prefix], kind.info.prefix_swaps)
        count = (rows.shape[1] - prefix) // kind.bytes
        _swap(swapped[:, prefix:].reshape(len(rows), count, kind.bytes), kind.info.swaps)
    result: NDArray[np.uint8] = swapped.reshape(shape)
    return result


def swap_suffix(data: NDArray[np.uint8], type: str) -> NDArray[np.uint8]:  # noqa: A002
    """A copy of a tensor's suffix bytes in the other byte order."""
    swapped: NDArray[np.uint8] = data.copy()
    _swap(swapped, _layout(type).info.suffix_swaps)
    return swapped


def _swap(data: NDArray[np.uint8], runs: tuple[tuple[int, int, int], ...]) -> None:
    for offset, width, count in runs:
        data[..., offset : offset + width * count].view(f"u{width}").byteswap(inplace=True)


def _layout(name: str) -> TensorType:
    kind = find(name)
    if not kind.elements:
        raise ValueError(f"type {kind.name} was removed from ggml and has no layout")
    return kind


def _order(byte_order: str) -> str:
    """NumPy's sign for a byte order."""
    if byte_order not in ("little", "big"):
        raise ValueError(f"byte_order is 'little' or 'big', not {byte_order!r}")
    return "<" if byte_order == "little" else ">"


def _module(kind: TensorType) -> ModuleType:
    """The kernels of a type; of one that a specification added, they are in memory already."""
    return import_module(f"ggufspec.generated.numpy.{kind.name.lower()}")


def _bytes(data: Any) -> NDArray[np.uint8]:
    array = np.asarray(data)
    if array.dtype != np.uint8:
        raise TypeError(f"stored data is uint8, not {array.dtype}")
    return array


def _rows(data: Any, kind: TensorType) -> tuple[NDArray[np.uint8], tuple[int, ...]]:
    """The data as (rows, bytes a row), contiguous, and its own shape."""
    array = _bytes(data)
    if array.ndim == 0:
        raise ValueError("stored data needs at least one dimension, the bytes of a row")
    width = array.shape[-1]
    prefix = kind.info.row_prefix
    if width < prefix or (width - prefix) % kind.bytes:
        extra = f"{prefix} bytes and " if prefix else ""
        raise ValueError(
            f"a row of {width} bytes is not {extra}whole blocks of {kind.name} "
            f"({kind.bytes} bytes each)"
        )
    count = 1
    for extent in array.shape[:-1]:
        count *= extent
    rows: NDArray[np.uint8] = np.ascontiguousarray(array).reshape(count, width)
    return rows, array.shape


def _blocks(data: Any, kind: TensorType) -> NDArray[np.uint8]:
    array = _bytes(data)
    if array.ndim != 2 or array.shape[1] != kind.bytes:
        raise ValueError(f"blocks of {kind.name} have shape (n, {kind.bytes}), not {array.shape}")
    return np.ascontiguousarray(array)


def _target(out: NDArray[np.float32] | None, shape: tuple[int, ...]) -> NDArray[np.float32]:
    if out is None:
        return np.empty(shape, np.float32)
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out is a float32 ndarray, not {type(out).__name__}")
    flags = out.flags
    good = flags.c_contiguous and flags.aligned and flags.writeable
    if out.dtype != np.float32 or out.shape != shape or not good:
        raise ValueError(f"out must be a writable C-contiguous float32 array of shape {shape}")
    return out


def _suffix(kind: TensorType, suffix: Any) -> NDArray[np.uint8] | None:
    size = kind.info.tensor_suffix
    if not size:
        return None
    if suffix is None or _bytes(suffix).size != size:
        raise ValueError(f"{kind.name} needs the {size} bytes stored once a tensor (suffix)")
    return np.ascontiguousarray(_bytes(suffix)).reshape(1, size)


def _dequantize_numpy(
    kind: TensorType,
    rows: NDArray[np.uint8],
    out: NDArray[np.float32],
    suffix: NDArray[np.uint8] | None,
    order: str,
) -> None:
    module, prefix = _module(kind), kind.info.row_prefix
    count = (rows.shape[1] - prefix) // kind.bytes
    if not out.size:
        return
    step = max(1, TILE // (count * kind.elements))
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            blocks = np.ascontiguousarray(part[:, prefix:]).reshape(-1, kind.bytes)
            extra: dict[str, Blocks] = {}
            if prefix:
                extra["prefix"] = Blocks(np.repeat(part[:, :prefix], count, axis=0), order)
            if suffix is not None:
                extra["suffix"] = Blocks(np.repeat(suffix, len(blocks), axis=0), order)
            values = module.dequantize(Blocks(blocks, order), **extra)
            out[start : start + step] = values.reshape(len(part), -1)
