"""Floats to blocks: byte for byte what ggml's quantizers write, in both back ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..blocks import kernels
from ..blocks.rows import Backend
from ..generated.quantizers import QUANTIZERS
from ..registry import TensorType, find
from . import compiled, reference
from .constants import GridSearch, Quantizer
from .fault import Fault

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
NonFinite = Literal["error", "zero"]
Run = Callable[[TensorType, Floats, Bytes, "Floats | None"], "Fault | None"]

_ROOTED = (GridSearch,)
"""Searches that weigh distances with the root of an element's weight."""

CHUNK = 1 << 20
"""Elements that are brought to float32 and quantized at a time."""


SHARE = 1 << 16
"""Elements that are worth a thread: a search takes a millisecond for them, starting one a tenth."""


class QuantizeError(ValueError):
    """An element, or the first of a block, that cannot be quantized.

    ``row`` counts over all leading axes of x, ``column`` along the last.
    """

    def __init__(self, message: str, row: int, column: int) -> None:
        super().__init__(message)
        self.row = row
        self.column = column


def quantize(
    x: NDArray[Any],
    type: str,  # noqa: A002 - the name is the contract
    importance: NDArray[Any] | None = None,
    *,
    threads: int | None = None,
    backend: Backend = "auto",
    non_finite: NonFinite = "error",
    clamp_scales: bool = False,
) -> Bytes:
    """Rows of floats to the stored rows of a type: uint8 of shape (rows, bytes a row).

    x: float16, float32 or float64 (rounded once to float32) of shape (..., row).
    importance: a weight an element for types whose search uses one, taken as it is (as float32,
    zeros and all): of shape (row,) for every row, or (experts, row) for x of shape (experts,
    rows, row). It has to be finite, also for types that ignore it. Where it is negative the bytes
    are still ggml's, though they mean little; the grid searches (IQ2, IQ3) take its square root,
    on which ggml aborts: they refuse it.
    threads: an integer from 1, None for all processors.
    non_finite: "error" refuses NaN and infinities, "zero" takes 0 for them.
    clamp_scales: where a scale is too large for its stored format, limit the block's values
    (with an importance: the row's) to what the format reaches; without it, an error.

    The bytes are those of ``ggml_quantize_chunk``; the type's spec file names the versions.
    Raises ValueError for an unknown type or one without a quantizer, a row that no whole
    blocks fill, an importance that is missing, ill-shaped or refused as told above; QuantizeError
    (a ValueError that says ``row`` and ``column``) for what is not finite or too large; TypeError
    for an x that holds no floats, an importance without numbers, and wrong kinds of options.
    """
    kind = find(type)
    quantizer = _quantizer(kind)
    values = _values(x)
    _check_options(non_finite, clamp_scales)
    length = values.shape[-1]
    out = np.empty((prod(values.shape[:-1]), kind.row_bytes(length)), np.uint8)
    weights = _weights(importance, values.shape, quantizer, kind)
    run = compiled.quantize if kernels.chosen(backend, kind.name) else reference.quantize
    job = _Job(kind, quantizer, run, non_finite == "zero", clamp_scales, threads)
    fault = (
        _by_experts(job, values, out, weights)
        if weights is not None
        else _by_blocks(job, values, out)
    )
    if fault:
        raise _error(fault, kind, values)
    return out


@dataclass(frozen=True)
class _Job:
    """What is to be done with every piece of the input."""

    kind: TensorType
    quantizer: Quantizer
    run: Run
    zero: bool
    clamp: bool
    threads: int | None


def _by_blocks(job: _Job, values: NDArray[Any], out: Bytes) -> Fault | None:
    """Without an importance a block depends on nothing else: any cut between blocks is good."""
    units = values.reshape(-1, job.kind.elements)
    return _threads(job, units, out.reshape(-1, job.kind.bytes), None)


def _by_experts(job: _Job, values: NDArray[Any], out: Bytes, weights: Floats) -> Fault | None:
    """With an importance the row is the unit, and each expert has its own."""
    rows = len(out) // max(1, len(weights))
    units = values.reshape(len(weights), rows, values.shape[-1])
    stored = out.reshape(len(weights), rows, out.shape[1])
    for number, weight in enumerate(weights):
        fault = _threads(job, units[number], stored[number], weight)
        if fault:
            return fault.moved(number * units[0].size)
    return None


def _threads(job: _Job, units: NDArray[Any], out: Bytes, weights: Floats | None) -> Fault | None:
    """Quantize (n, unit) on several threads; the first fault of all."""
    faults: list[Fault] = []

    def part(start: int, stop: int) -> None:
        fault = _chunks(job, units[start:stop], out[start:stop], weights)
        if fault:
            faults.append(fault.moved(start * units.shape[1]))

    kernels.share(part, len(units), units.shape[1], job.threads, least=SHARE)
    return min(faults, default=None)


def _chunks(job: _Job, units: NDArray[Any], out: Bytes, weights: Floats | None) -> Fault | None:
    step = max(1, CHUNK // max(1, units.shape[1]))
    for start in range(0, len(units), step):
        chunk = slice(start, start + step)
        fault = _chunk(job, _floats(units[chunk], job.zero), out[chunk], weights)
        if fault:
            return fault.moved(start * units.shape[1])
    return None


def _floats(values: NDArray[Any], zero: bool) -> Floats:
    """Contiguous float32; what is not finite becomes 0 when asked."""
    with np.errstate(over="ignore"):
        x = np.ascontiguousarray(values, np.float32)
    return np.where(np.isfinite(x), x, np.float32(0)) if zero else x


def _chunk(job: _Job, x: Floats, out: Bytes, weights: Floats | None) -> Fault | None:
    """Run the back end; where a scale overflows and may be clamped, again on limited values."""
    fault = job.run(job.kind, x, out, weights)
    while fault and fault.what == "overflow" and job.clamp:
        # A plain type's elements are their own blocks: limiting all is limiting each.
        first = 0 if job.kind.plain else fault.element // x.shape[1]
        after = len(x) if job.kind.plain else first + 1
        _limited(job, x[first:after], out[first:after], weights)
        fault = job.run(job.kind, x[after:], out[after:], weights)
        fault = fault and fault.moved(after * x.shape[1])
    return fault


def _limited(job: _Job, x: Floats, out: Bytes, weights: Floats | None) -> None:
    limit = job.quantizer.recipe(weights is not None).limit
    while job.run(job.kind, np.clip(x, -limit, limit), out, weights):
        limit /= 2


def _quantizer(kind: TensorType) -> Quantizer:
    if kind.name not in QUANTIZERS:
        if not kind.elements:
            raise ValueError(f"type {kind.name} was removed from ggml")
        raise ValueError(
            f"there is no quantizer for {kind.name} (no quantize section in its description); "
            f"there are: {', '.join(QUANTIZERS)}"
        )
    return QUANTIZERS[kind.name]


def _values(x: Any) -> NDArray[Any]:
    values = np.asarray(x)
    if values.dtype.kind != "f" or values.dtype.itemsize > 8:
        raise TypeError(f"x is float16, float32 or float64, not {values.dtype}")
    if values.ndim == 0:
        raise ValueError("x needs at least one dimension, the row")
    return values


def _check_options(non_finite: Any, clamp_scales: Any) -> None:
    if non_finite not in {"error", "zero"}:
        raise ValueError(f"non_finite must be 'error' or 'zero', not {non_finite!r}")
    if not isinstance(clamp_scales, (bool, np.bool_)):
        raise TypeError(f"clamp_scales is True or False, not {clamp_scales!r}")


def _weights(
    importance: Any, shape: tuple[int, ...], quantizer: Quantizer, kind: TensorType
) -> Floats | None:
    """The importance as (experts, row), or None where it is absent or changes nothing."""
    if importance is None:
        if quantizer.plain is None:
            raise ValueError(f"{kind.name} needs an importance (an importance matrix's row)")
        return None
    given = np.asarray(importance)
    if given.dtype.kind not in "fiu":
        raise TypeError(f"importance holds numbers, not {given.dtype}")
    weights = _floats(given, zero=False)
    row = shape[-1]
    experts = shape[0] if len(shape) == 3 else 1
    if weights.shape not in {(row,), (experts, row)}:
        wanted = f"({row},)" + (f" or ({experts}, {row})" if experts > 1 else "")
        raise ValueError(f"importance has shape {weights.shape}; x of shape {shape} takes {wanted}")
    _refuse(given, ~np.isfinite(weights), "not finite")
    if isinstance(quantizer.weighted, _ROOTED):
        _refuse(given, weights < 0, f"negative, and the search of {kind.name} takes its root")
    return np.atleast_2d(weights) if quantizer.weighted else None


def _refuse(importance: NDArray[Any], bad: NDArray[np.bool_], what: str) -> None:
    """ValueError for the first weight that is bad."""
    if bad.any():
        place = tuple(int(axis[0]) for axis in np.nonzero(bad))
        index = ", ".join(map(str, place))
        raise ValueError(f"importance[{index}] is {importance[place]}: {what}")


def _error(fault: Fault, kind: TensorType, values: NDArray[Any]) -> QuantizeError:
    row, column = divmod(fault.element, values.shape[-1])
    place = np.unravel_index(fault.element, values.shape)
    index = ", ".join(str(int(i)) for i in place)
    value = values[place]
    if fault.what == "not finite":
        wide = " as float32" if np.isfinite(value) else ""
        return QuantizeError(
            f"x[{index}] is {value}, not finite{wide} (non_finite='zero' takes 0 for it)",
            row, column,
        )  # fmt: skip
    largest = np.abs(values.reshape(-1, values.shape[-1])[row]).max()
    return QuantizeError(
        f"row {row}: the block from element {column} on has no {kind.name} scale that is finite "
        f"(largest magnitude of the row: {largest:g}); clamp_scales=True limits the values",
        row, column,
    )  # fmt: skip
