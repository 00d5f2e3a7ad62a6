"""Stored values that types call invalid, told by hand: nothing here reads `valid:` in the spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ggufspec import blocks
from ggufspec.registry import TensorType

Array = npt.NDArray[Any]

HALF_BITS = {"IQ1_M": "dh"}
"""A scale that is put together from several words."""
BFLOAT = {"BF16": "v"}
CODES: Mapping[str, Mapping[str, int]] = {
    "MXFP4": {"e": 255},
    "NVFP4": {"sc": 127},
    "TQ2_0": {"q": 3},
    "I2_S": {"q": 3},
}
"""The one value of a code that means nothing."""


def marks(kind: TensorType, data: npt.NDArray[np.uint8], order: Any) -> dict[str, Array]:
    """By field or code, which values of each block are invalid: bool (blocks, values)."""
    made: dict[str, Array] = {}
    for name, values in blocks.unpack(data, kind.name, byte_order=order).items():
        flat = values.reshape(len(data), -1)
        if flat.dtype.kind == "f":
            made[name] = ~np.isfinite(flat)
        elif HALF_BITS.get(kind.name) == name:
            made[name] = flat & 0x7C00 == 0x7C00
        elif BFLOAT.get(kind.name) == name:
            made[name] = flat & 0x7F80 == 0x7F80
        elif name in CODES.get(kind.name, {}):
            made[name] = flat == CODES[kind.name][name]
    return made


def good_codes(kind: TensorType, count: int, seed: int = 0) -> dict[str, Array]:
    """Random fields and codes of valid blocks."""
    rng = np.random.default_rng([seed, kind.bytes])
    data = rng.integers(0, 256, (count, kind.bytes), np.uint8)
    codes = {name: np.array(v) for name, v in blocks.unpack(data, kind.name).items()}
    for name, bad in marks(kind, data, "little").items():
        codes[name].reshape(count, -1)[bad] = 1
    return codes


def worst(kind: TensorType, name: str, values: Array) -> Any:
    """An invalid value of a field or code: all its bits that can be set are."""
    if name in CODES.get(kind.name, {}):
        return CODES[kind.name][name]
    if values.dtype.kind == "f":
        size = values.dtype.itemsize
        return np.frombuffer(b"\xff" * size, values.dtype)[0]
    return np.iinfo(values.dtype).max


def suffix(kind: TensorType, scale: float = 0.5, order: str = "<") -> bytes:
    """What stands behind a tensor of the type."""
    size = kind.info.tensor_suffix
    return np.array([scale], order + "f4").tobytes() + bytes(size - 4) if size else b""
