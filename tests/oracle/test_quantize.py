"""Quantized bytes equal ggml's, in both back ends."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import ggufspec
from ggufspec.blocks import Backend
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.types import types
from support import oracle, realfiles
from support.rows import LENGTH, golden_rows, row_samples

BACKENDS: tuple[Backend, ...] = ("numpy", "native")
NAMES = list(QUANTIZERS)

GOLDEN = {
    "F16": "759f75c56020c8a5", "BF16": "16c0fffc4c9150b9", "Q8_0": "9ae2703a223dc258",
    "Q5_0": "cb2621b92296a1de", "Q4_0": "b96561d67d60c7d7", "Q4_K": "745d2b771bfed42a",
}  # fmt: skip
"""First 16 hex digits of the SHA-256 of ggml 0.25.3's bytes on ``golden_rows``."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_equals_ggml(name: str, backend: Backend) -> None:
    kind = types[name]
    assert kind.id is not None
    for label, x in row_samples().items():
        ours = ggufspec.quantize(x, name, backend=backend)
        theirs = oracle.quantize(x, kind.id)
        unequal = (ours != theirs).reshape(-1, kind.bytes).any(axis=1)
        assert not unequal.any(), f"{label}: {unequal.sum()} of {len(unequal)} blocks differ"


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GOLDEN)
def test_golden_hashes(name: str, backend: Backend) -> None:
    x, _ = golden_rows()
    found = ggufspec.quantize(x, name, backend=backend)
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == GOLDEN[name]


@pytest.mark.parametrize("name", NAMES)
def test_real_weights(name: str) -> None:
    kind = types[name]
    assert kind.id is not None
    with ggufspec.open(realfiles.smollm2()) as f:
        values = f.tensors["blk.3.ffn_down.weight"].dequantize().reshape(-1)
    x = values[: values.size // LENGTH * LENGTH].reshape(-1, LENGTH)[:256]
    assert np.array_equal(ggufspec.quantize(x, name), oracle.quantize(x, kind.id))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("length", [256, 768, 2304])
def test_rows_that_fill_no_vector(name: str, length: int) -> None:
    """Block counts that lanes and flights do not divide, on one thread and several."""
    kind = types[name]
    assert kind.id is not None
    x = np.random.default_rng(length).normal(0, 0.02, (5, length)).astype(np.float32)
    expected = oracle.quantize(x, kind.id)
    for threads in (1, 3):
        for backend in BACKENDS:
            found = ggufspec.quantize(x, name, threads=threads, backend=backend)
            assert np.array_equal(found, expected)
