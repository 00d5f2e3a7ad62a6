"""Blocks and rows that show every path of a decoder and of a quantizer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import BlockType
from .probe import StoredFloat, base_blocks

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

_HALVES = (0x0000, 0x8000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0xFE01)
_SINGLES = (0, 0x80000000, 1, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0xFFC00000)
"""Zeros, subnormals, one, the largest, infinities, NaN."""


def stored_floats(kind: BlockType) -> list[StoredFloat]:
    """The halves and singles of a block, those of arrays too."""
    return [
        StoredFloat(place, field.scalar.name)
        for field in kind.fields
        if field.scalar.name in {"f16", "f32"}
        for place in field.places
    ]


def hostile_blocks(kind: BlockType, count: int, seed: int) -> Bytes:
    """Blocks (about count, bytes): random, with middling and with special floats, single bits."""
    rng = np.random.default_rng([23, seed, count])
    floats = stored_floats(kind)
    share = max(1, count // 4)
    special = rng.integers(0, 256, (share, kind.bytes), np.uint8)
    for one in floats:
        width = len(one.bits) // 8
        words: Any = rng.choice(_HALVES if width == 2 else _SINGLES, share)
        stored = words.astype("<u2" if width == 2 else "<u4").view(np.uint8).reshape(share, width)
        special[:, one.offset : one.offset + width] = stored
    bits = np.zeros((8 * kind.bytes, kind.bytes), np.uint8)
    places = np.arange(8 * kind.bytes)
    bits[places, places // 8] = 1 << places % 8
    parts = [
        np.zeros((1, kind.bytes), np.uint8),
        np.full((1, kind.bytes), 255, np.uint8),
        special,
        base_blocks(kind.bytes, floats, share, seed),
        bits[rng.permutation(len(bits))[: max(1, share // 2)]],
        rng.integers(0, 256, (max(1, count - 2 * share), kind.bytes), np.uint8),
    ]
    return np.concatenate(parts)


def hostile_rows(length: int, seed: int) -> dict[str, Floats]:
    """Rows (4, length) of finite floats by what is special about them."""
    rng = np.random.default_rng([29, seed, length])
    shape = (4, length)
    normal = rng.normal(0, 0.02, shape)
    scale = np.repeat(10.0 ** rng.uniform(-6, 0, (4, length // 16)), 16, axis=1)
    made = {
        "normal": normal,
        "heavy-tailed": 0.02 * rng.standard_t(3, shape),
        "uniform": rng.uniform(-1, 1, shape),
        "constant": np.repeat(rng.normal(0, 1, (4, 1)), length, axis=1),
        "one-signed": np.abs(normal) * rng.choice([-1.0, 1.0], (4, 1)),
        "sparse": np.where(rng.random(shape) < 0.05, normal, 0),
        "outliers": np.where(rng.random(shape) < 0.01, normal * 1e4, normal),
        "zeros": np.zeros(shape) * rng.choice([-1.0, 1.0], shape),
        "equal magnitudes": rng.choice([-0.5, 0.5], shape),
        "ties": np.round(normal * 200) / 256,
        "subnormal": normal * 1e-38,
        "tiny": normal * 1e-14,
        "many scales": rng.normal(0, 1, shape) * scale,
        "near the half's limit": rng.uniform(-1, 1, shape) * 65504.0,
    }
    return {name: np.ascontiguousarray(rows, np.float32) for name, rows in made.items()}


def importances(length: int, seed: int) -> dict[str, Floats]:
    """Importances (length,): random, and with zeros."""
    rng = np.random.default_rng([31, seed, length])
    random = np.abs(rng.normal(0, 1, length)) + 0.1
    made = {"random": random, "with zeros": np.where(rng.random(length) < 0.3, 0, random)}
    return {name: values.astype(np.float32) for name, values in made.items()}
