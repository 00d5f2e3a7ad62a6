"""Dequantization equals ggml's and gguf-py's, bit for bit, in both back ends."""

from __future__ import annotations

import numpy as np
import pytest

from ggufspec import blocks
from ggufspec.registry import types
from support import gguf_py, oracle
from support.samples import LAYOUTS, block_samples, first_difference

BACKENDS = ("numpy", "native")
NUMBERED = {n: number for n in LAYOUTS if (number := types[n].id) is not None}
"""Types of ggml; those of forks are computed from their descriptions in tests/dialects."""
GGML = [n for n, number in NUMBERED.items() if oracle.types()[number].has_to_float]
GGUF_PY = [n for n in LAYOUTS if types[n].id in gguf_py.dequantizable()]


def test_oracles_cover_every_type() -> None:
    """What neither oracle decodes is listed, so that a new gap shows."""
    assert set(NUMBERED) - set(GGML) - set(GGUF_PY) == {
        "F64", "I8", "I16", "I32", "I64", "Q8_1", "Q8_K",
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GGML)
def test_equals_ggml(name: str, backend: blocks.Backend) -> None:
    number = types[name].id
    assert number is not None
    for label, sample in block_samples(types[name]).items():
        ours = blocks.dequantize(sample, name, backend=backend)
        theirs = oracle.dequantize(sample, number).reshape(ours.shape)
        assert first_difference(ours, theirs) is None, label


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", GGUF_PY)
def test_equals_gguf_py(name: str, backend: blocks.Backend) -> None:
    number = types[name].id
    assert number is not None
    for label, sample in block_samples(types[name]).items():
        ours = blocks.dequantize(sample, name, backend=backend)
        with np.errstate(all="ignore"):
            theirs = gguf_py.dequantize(sample, number).reshape(ours.shape)
        assert first_difference(ours, theirs) is None, label


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["I8", "I16", "I32", "I64", "F64"])
def test_plain_numbers_round_once(name: str, backend: blocks.Backend) -> None:
    """NumPy's own conversion is the oracle: one rounding to nearest even."""
    dtype = np.dtype(("f" if name[0] == "F" else "i") + str(types[name].bytes))
    for sample in block_samples(types[name]).values():
        with np.errstate(all="ignore"):
            expected = sample.copy().view(dtype).astype(np.float32)
        ours = blocks.dequantize(sample, name, backend=backend)
        assert first_difference(ours, expected) is None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("name", "scale"), [("Q8_1", "<f2"), ("Q8_K", "<f4")])
def test_internal_types_by_their_formula(name: str, scale: str, backend: blocks.Backend) -> None:
    """Ggml has no dequantizer for them: x = d * q, written here a second time."""
    width, start = np.dtype(scale).itemsize, 4
    for sample in block_samples(types[name]).values():
        with np.errstate(all="ignore"):
            d = sample[:, :width].copy().view(scale).astype(np.float32)
            q = sample[:, start : start + types[name].elements].view(np.int8)
            expected = d * q.astype(np.float32)
        ours = blocks.dequantize(sample, name, backend=backend)
        assert first_difference(ours, expected) is None
