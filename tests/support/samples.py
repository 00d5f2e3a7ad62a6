"""Block bytes that show every path of a layout, and comparison by bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ggufspec.registry import TensorType, types

Bytes = npt.NDArray[np.uint8]

LAYOUTS = [name for name, kind in types.items() if kind.elements]
"""Every type that has a layout."""

HALVES = np.array(
    [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0x7C00, 0xFC00, 0x7C01, 0x7E00],
    np.uint16,
)
"""Zeros, subnormals, ordinary values, the largest, infinities, NaNs of both kinds."""


def block_samples(kind: TensorType, seed: int = 0) -> dict[str, Bytes]:
    """Blocks (n, bytes): random, all zeros, all ones, each single bit, each byte value."""
    rng = np.random.default_rng([seed, kind.bytes])
    count = max(64, (1 << 16) // kind.bytes)
    singles = np.zeros((kind.bytes * 8, kind.bytes), np.uint8)
    for bit in range(kind.bytes * 8):
        singles[bit, bit // 8] = 1 << (bit % 8)
    return {
        "random": rng.integers(0, 256, (count, kind.bytes), np.uint8),
        "ordinary scales": _ordinary(rng, count, kind),
        "zeros": np.zeros((4, kind.bytes), np.uint8),
        "ones": np.full((4, kind.bytes), 255, np.uint8),
        "single bits": singles,
        "single bits clear": 255 - singles,
        "every byte value": np.repeat(np.arange(256, dtype=np.uint8)[:, None], kind.bytes, axis=1),
    }


def suffix_of(kind: TensorType, seed: int = 0) -> Bytes | None:
    """What is stored once behind a tensor of the type: ordinary floats; None for most types."""
    size = kind.info.tensor_suffix
    if not size:
        return None
    scales = np.random.default_rng([seed, size]).normal(0, 0.02, size // 4)
    return scales.astype("<f4").view(np.uint8)


def _ordinary(rng: np.random.Generator, count: int, kind: TensorType) -> Bytes:
    """Random blocks whose multi-byte words hold hostile and ordinary halves in turn."""
    blocks = rng.integers(0, 256, (count, kind.bytes), np.uint8)
    for offset, width, number in kind.info.swaps:
        if width != 2:
            continue
        words = rng.normal(0, 0.02, (count, number)).astype(np.float16).view(np.uint16)
        hostile = rng.integers(0, 4, (count, number)) == 0
        words = np.where(hostile, rng.choice(HALVES, (count, number)), words)
        blocks[:, offset : offset + 2 * number] = words.astype("<u2").view(np.uint8)
    return blocks


def same_bits(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> bool:
    """Equal by bits, a NaN equal to any NaN (DESIGN section 9)."""
    return first_difference(a, b) is None


def first_difference(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> str | None:
    """Where two float32 arrays differ, or None; NaN equals NaN, zeros' signs count."""
    assert a.shape == b.shape, (a.shape, b.shape)
    assert a.dtype == b.dtype == np.float32, (a.dtype, b.dtype)
    unequal = (a.view(np.uint32) != b.view(np.uint32)) & ~(np.isnan(a) & np.isnan(b))
    if not unequal.any():
        return None
    where = tuple(int(i[0]) for i in np.nonzero(unequal))
    return f"{int(unequal.sum())} differ, first at {where}: {a[where]!r} and {b[where]!r}"
