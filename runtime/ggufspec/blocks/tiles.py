"""Tensors decoded a few megabytes at a time, so that memory does not grow with the model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from . import rows as blocks

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..registry import TensorType

ELEMENTS = 1 << 20
"""Weights a tile: 4 MB of float32."""


def tiles(
    tensor: Tensor, *, elements: int = ELEMENTS, threads: int | None = None
) -> Iterator[NDArray[np.float32]]:
    """The tensor as float32 tiles of whole rows, (rows, elements a row), in order.

    A tile is good until the next one is asked for. A tensor of one row comes in pieces of
    whole blocks. GGUFError for what cannot be decoded; OSError when the file was cut.
    """
    tensor.check_decodes()
    kind = tensor.kind
    if kind is None or not tensor.whole or (tensor.rows <= 1 and _has_extra_bytes(kind)):
        row = tensor.shape[-1] if tensor.shape else 1
        yield tensor.dequantize(threads=threads).reshape(-1, row)
        return
    unit = kind.bytes if tensor.rows <= 1 else max(1, tensor.nbytes // tensor.rows)
    weights = max(1, unit // kind.bytes * kind.elements)
    size = unit * max(1, elements // weights)
    buffer: NDArray[np.float32] | None = None
    for chunk in tensor.chunks(size=size):
        data: NDArray[np.uint8] = np.frombuffer(chunk, np.uint8)
        data = data.reshape(1, -1) if tensor.rows <= 1 else data.reshape(-1, unit)
        stored = data.shape[1] - kind.info.row_prefix
        shape = (len(data), stored // kind.bytes * kind.elements)
        if buffer is None:
            buffer = np.empty(shape, np.float32)
        out = buffer.reshape(-1)[: shape[0] * shape[1]].reshape(shape)
        yield blocks.dequantize(
            data, kind.name, threads=threads, byte_order=tensor.part.scan.byte_order, out=out
        )


def _has_extra_bytes(kind: TensorType) -> bool:
    return bool(kind.info.row_prefix or kind.info.tensor_suffix)
