"""Tensors before they are written: what a file says about each, and where its bytes come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from ..container.scan import ByteOrder
from ..registry import TensorType, find, types
from .encode import name_bytes
from .limits import writable
from .tensor import Tensor, swapped
from .values import TensorData

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CHUNK = 8 << 20  # bytes converted at a time


@dataclass(frozen=True)
class TensorPlan:
    """A tensor to come: `type_id` is ggml's number, `shape` in NumPy order, `nbytes` stored.

    `extra` holds fields of the tensor's info that only newer versions of the container have.
    """

    name: str
    type_id: int
    shape: tuple[int, ...]
    nbytes: int
    extra: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError(f"a tensor's name is str, not {type(self.name).__name__}")
        writable(
            "at_most", "tensors.name", len(name_bytes(self.name)), f"the name {self.name!r:.60}"
        )
        elements = prod(extent or 1 for extent in self.shape)
        writable("elements", "tensors.dims", elements, f"tensor {self.name!r}")

    @staticmethod
    def of(name: str, type_name: str, shape: Sequence[int]) -> TensorPlan:
        """Plan a tensor of a known type; ValueError when no whole blocks fill its rows."""
        kind = find(type_name)
        if kind.id is None:
            raise ValueError(f"tensor {name!r}: {kind.name} has no number of ggml's")
        try:
            row = kind.row_bytes(shape[-1] if shape else 1)
        except ValueError as error:
            raise ValueError(f"tensor {name!r}: {error}") from None
        nbytes = prod(shape[:-1]) * row + kind.info.tensor_suffix
        return TensorPlan(name, kind.id, tuple(shape), nbytes)


def plan_of(name: str, value: Any) -> TensorPlan:
    """What a file says about an ndarray, a `Tensor` or a `TensorData`."""
    if isinstance(value, Tensor):
        return TensorPlan(name, value.type_id, value.shape, value.nbytes, value.extra)
    if isinstance(value, TensorData):
        return _plan_of_data(name, value)
    if not hasattr(value, "dtype"):
        kind = type(value).__name__
        raise TypeError(f"tensor {name!r} is an ndarray, Tensor or TensorData, not {kind}")
    type_name = f"{value.dtype.kind.upper()}{8 * value.dtype.itemsize}"
    if type_name not in types or not types[type_name].plain:
        raise ValueError(
            f"tensor {name!r}: no type for dtype {value.dtype}; "
            "stored bytes go in as ggufspec.TensorData(data, type, shape)"
        )
    return TensorPlan.of(name, type_name, value.shape)


def pieces_of(value: Any, byte_order: ByteOrder) -> Iterator[Any]:
    """The bytes of such a tensor in a byte order, in pieces."""
    if isinstance(value, Tensor):
        return value.chunks(byte_order)
    if isinstance(value, TensorData):
        return _pieces_of_data(value, byte_order)
    return _pieces_of_array(value, byte_order)


def _plan_of_data(name: str, value: TensorData) -> TensorPlan:
    given, shape, kind = memoryview(value.data).nbytes, tuple(value.shape), _type_of(value)
    if kind is None or not kind.elements:
        return TensorPlan(name, _number_of(value, kind), shape, given)
    plan = TensorPlan.of(name, kind.name, shape)
    if given != plan.nbytes:
        raise ValueError(
            f"tensor {name!r}: {kind.name} of shape {shape} has {plan.nbytes} bytes, not {given}"
        )
    return plan


def _pieces_of_data(value: TensorData, byte_order: ByteOrder) -> Iterator[Any]:
    if value.byte_order == byte_order:
        yield value.data
        return
    import numpy as np

    kind = _type_of(value)
    if kind is None or not kind.elements:
        raise ValueError(f"type {value.type}: nobody knows how its bytes change their order")
    flat = np.frombuffer(value.data, np.uint8)
    yield from swapped(flat, kind, tuple(value.shape), _CHUNK)


def _pieces_of_array(value: NDArray[Any], byte_order: ByteOrder) -> Iterator[Any]:
    import numpy as np

    if not value.size:
        return
    dtype = value.dtype.newbyteorder("<" if byte_order == "little" else ">")
    rows = value.reshape(1) if value.ndim == 0 else value
    step = max(1, _CHUNK // (value.nbytes // len(rows)))
    for first in range(0, len(rows), step):
        yield np.ascontiguousarray(rows[first : first + step], dtype).view(np.uint8)


def _type_of(value: TensorData) -> TensorType | None:
    return types.by_id(value.type) if isinstance(value.type, int) else find(value.type)


def _number_of(value: TensorData, kind: TensorType | None) -> int:
    number = value.type if kind is None else kind.id
    if not isinstance(number, int):
        raise ValueError(f"type {value.type} has no number")
    return number
