"""Rows of floats that show every path of a quantizer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LENGTH = 1024
"""A row that every type's blocks divide."""

LARGEST = 65504.0


def row_samples(seed: int = 0, rows: int = 8) -> dict[str, Floats]:
    """Float32 rows (rows, LENGTH) by what is special about them; few scales overflow a half."""
    rng = np.random.default_rng([seed, rows])
    shape = (rows, LENGTH)
    normal = rng.normal(0, 0.02, shape)
    subs = rng.random((rows, LENGTH // 16)) < 0.3
    some = np.repeat(subs, 16, axis=1)
    made = {
        "normal": normal,
        "heavy-tailed": 0.02 * rng.standard_t(3, shape),
        "uniform": rng.uniform(-1, 1, shape),
        "constant rows": np.repeat(rng.normal(0, 1, (rows, 1)), LENGTH, axis=1),
        "constant runs": np.where(some, np.repeat(normal[:, ::16], 16, axis=1), normal),
        "positive": np.abs(normal),
        "negative": -np.abs(normal),
        "sparse": np.where(rng.random(shape) < 0.05, normal, 0),
        "zero runs": np.where(some, 0, normal),
        "outliers": np.where(rng.random(shape) < 0.002, normal * 1e4, normal),
        "zeros": np.zeros(shape),
        "negative zeros": -np.zeros(shape),
        "equal magnitudes": rng.choice([-0.5, 0.5], shape),
        "ties": np.round(normal * 200) / 256,
        "subnormal": normal * 1e-38 * rng.choice([1, 1e-3, 1e-6, 100], (rows, 1)),
        "least subnormal": rng.integers(-40, 40, shape) * 2.0**-149,
        "tiny": normal * 1e-14,
        "near the half's limit": rng.uniform(-1, 1, shape) * LARGEST,
        "all at the half's limit": rng.choice([-LARGEST, LARGEST], shape),
        "beyond squares": normal * np.where(rng.random(shape) < 0.01, 1e22, 1),
        "small halves": rng.integers(-2000, 2000, shape) * 2.0**-25,
    }
    rows32 = {name: np.ascontiguousarray(x, np.float32) for name, x in made.items()}
    bits = rows32["normal"].view(np.uint32) + 0x8000 & 0xFFFF0000
    return {**rows32, "bfloat16 values": bits.view(np.float32)}


def importances(seed: int = 0) -> dict[str, Floats]:
    """Importances of a row: ones, random, zeros in part, zeros for whole blocks."""
    rng = np.random.default_rng([9, seed])
    random = np.abs(rng.normal(0, 1, LENGTH)) + 0.1
    made = {
        "ones": np.ones(LENGTH),
        "random": random,
        "zeros in part": np.where(rng.random(LENGTH) < 0.4, 0, random),
        "zeros in blocks": np.where(np.arange(LENGTH) // 64 % 2, 0, random),
    }
    return {name: weights.astype(np.float32) for name, weights in made.items()}


def hostile_rows(seed: int = 0) -> tuple[Floats, Floats]:
    """Rows of all magnitudes, with huge elements just where the importance is 0."""
    rng = np.random.default_rng([8, seed])
    importance = rng.random(LENGTH) * (rng.random(LENGTH) < 0.8)
    scale = np.repeat(10.0 ** rng.uniform(-6, 0, (16, LENGTH // 16)), 16, axis=1)
    x = rng.normal(0, 1, scale.shape) * scale
    hidden = (importance == 0) & (rng.random(x.shape) < 0.5)
    x = np.where(hidden, rng.choice([-1e3, 1e3, 300.0, -2e4], x.shape), x)
    return x.astype(np.float32), importance.astype(np.float32)


def golden_rows() -> tuple[Floats, Floats]:
    """The 8 rows of 512 and the importance of the facts' golden hashes."""
    numbers = lcg(4096 + 512)
    x = ((numbers[:4096] - 8388608) * 2.0**-26).astype(np.float32).reshape(8, 512)
    return x, ((numbers[4096:] + 1) * 2.0**-24).astype(np.float32)


def lcg(count: int) -> npt.NDArray[np.int64]:
    """The upper 24 bits of the states of a 32-bit generator, from 1 on."""
    state, values = 1, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(state >> 8)
    return np.array(values, np.int64)
