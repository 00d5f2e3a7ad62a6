"""Some of a tensor's elements decoded, wherever they lie in it."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...blocks import dequantize
from ...errors import GGUFError

if TYPE_CHECKING:
    from ...files.tensor import Tensor
    from ...registry import TensorType


def obstacle(tensor: Tensor) -> GGUFError | None:
    """Why a tensor cannot be decoded; None if it can."""
    kind = tensor.kind
    try:
        tensor.check_decodes()
        if kind is None or not kind.elements or not tensor.whole:
            tensor.dequantize()  # which says what is wrong
    except GGUFError as error:
        return error
    return None


def unit(tensor: Tensor) -> int:
    """Elements that are decoded together: those of a block, or of a row with bytes of its own."""
    kind = tensor.kind
    assert kind is not None
    return max(1, _row(tensor)) if _has_extra_bytes(kind) else kind.elements


def span(tensor: Tensor, first: int, out: NDArray[np.float32]) -> None:
    """Decode as many elements as `out` (float32, flat) takes, in the order of `shape`.

    first: the number of the first one; it and the count are multiples of `unit`. The tensor is one
    without an `obstacle`. OSError when the file was cut.
    """
    kind = tensor.kind
    assert kind is not None
    if not out.size:
        return
    suffix = None
    if _has_extra_bytes(kind):
        data, suffix = tensor.split_data()
        row = _row(tensor)
        data = data.reshape(prod(tensor.shape[:-1]), -1)
        data = data[first // row : (first + out.size) // row]
    else:
        start = tensor.file_offset + first // kind.elements * kind.bytes
        stored = tensor.part.source.read(start, out.size // kind.elements * kind.bytes)
        data = np.frombuffer(stored, np.uint8).reshape(1, -1)
    dequantize(
        data, kind.name, threads=1, byte_order=tensor.part.scan.byte_order, suffix=suffix,
        out=out.reshape(len(data), -1),
    )  # fmt: skip


def _row(tensor: Tensor) -> int:
    return tensor.shape[-1] if tensor.shape else 1


def _has_extra_bytes(kind: TensorType) -> bool:
    return bool(kind.info.row_prefix or kind.info.tensor_suffix)
