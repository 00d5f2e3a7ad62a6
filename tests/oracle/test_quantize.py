"""Quantized bytes equal ggml's, in both back ends."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest

import ggufspec
from ggufspec import blocks
from ggufspec.blocks import Backend
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.quantizers.quantize import QuantizeError
from ggufspec.registry import types
from support import oracle, realfiles
from support.rows import LENGTH, Floats, golden_rows, hostile_rows, importances, row_samples
from support.variants import using

BACKENDS: tuple[Backend, ...] = ("numpy", "native")
OURS = {name: q for name, q in QUANTIZERS.items() if name != "IQ1_M"}
"""The types whose bytes are those of the oracle's version; of IQ1_M see test_quantize_iq1_m.py."""
PLAIN = [name for name, q in OURS.items() if q.plain]
WEIGHTED = [name for name, q in OURS.items() if q.weighted]

GOLDEN = {
    "F16": "759f75c56020c8a5", "BF16": "16c0fffc4c9150b9", "Q1_0": "ea41b4e425416a40",
    "Q2_0": "3e3079ea2d691893", "Q4_0": "b96561d67d60c7d7", "Q4_1": "f9ce1cc3bff17b0c",
    "Q5_0": "cb2621b92296a1de", "Q5_1": "bc533afee6e012e2", "Q8_0": "9ae2703a223dc258",
    "MXFP4": "797782e62f94f8b0", "NVFP4": "508356f4f5b30ebc", "TQ1_0": "f14c05bae6f869f4",
    "TQ2_0": "e66c93755474277e", "Q2_K": "73dfac7b170c66c4", "Q3_K": "38aab542006f8f29",
    "Q4_K": "745d2b771bfed42a", "Q5_K": "2bb8d981d0a0ca0d", "Q6_K": "5a1d094b73c55672",
    "IQ4_NL": "b9d7064165d265bc", "IQ4_XS": "85a97942071a307e", "IQ2_S": "9ef2ab297d970244",
    "IQ3_XXS": "3a6690e4cf24ba48", "IQ3_S": "ac543e35bfc98b22",
}  # fmt: skip
"""First 16 hex digits of the SHA-256 of ggml 0.25.3's bytes on ``golden_rows``."""

GOLDEN_WEIGHTED = {
    "Q4_0": "5234de3c61015a72", "Q4_1": "c428a07469b38484", "Q5_0": "fc286b246d86c168",
    "Q5_1": "a38e7e8d4d6f60fa", "Q2_K": "49fb1a54fea3db17", "Q3_K": "86206d2214d34226",
    "Q4_K": "06436470896b0b14", "Q5_K": "1bc987ff39994012", "Q6_K": "77061f39d2f80adb",
    "IQ4_NL": "4cf219a120c9608c", "IQ4_XS": "ece52207c95b16ff", "IQ2_XXS": "d5e256b0e781c3be",
    "IQ2_XS": "3f4e0181b81d18e4", "IQ2_S": "8cadf1f9bac1900d", "IQ3_XXS": "d52617ca661eb517",
    "IQ3_S": "b44cb3310509fcf8", "IQ1_S": "7f3cc4baaa51e7a1",
}  # fmt: skip
"""The same with the importance."""


ABORTING = {(name, "beyond squares") for name in ("IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S")}
"""Where ggml ends the process: no neighbour has a distance that is a number."""


def _same_as_ggml(
    x: Floats, name: str, backend: Backend, importance: Floats | None = None
) -> str | None:
    """None, or how many blocks differ.

    Where we refuse a scale that overflows, ggml must have stored one that is not finite; the
    rows before it are compared.
    """
    kind = types[name]
    assert kind.id is not None
    theirs = oracle.quantize(x, kind.id, importance)
    try:
        ours = ggufspec.quantize(x, name, importance, backend=backend)
    except QuantizeError as error:
        at = (error.row * x.shape[1] + error.column) // kind.elements
        stored = blocks.unpack(theirs.reshape(-1, kind.bytes)[at : at + 1], name)
        assert not all(np.isfinite(v).all() for v in stored.values() if v.dtype.kind == "f")
        return _same_as_ggml(x[: error.row], name, backend, importance) if error.row else None
    unequal = (ours != theirs).reshape(-1, kind.bytes).any(axis=1)
    return f"{unequal.sum()} of {len(unequal)} blocks differ" if unequal.any() else None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PLAIN)
def test_equals_ggml(name: str, backend: Backend) -> None:
    for label, x in row_samples().items():
        if (name, label) not in ABORTING:
            assert _same_as_ggml(x, name, backend) is None, label


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_equals_ggml_with_importance(name: str, backend: Backend) -> None:
    for number, (label, x) in enumerate(row_samples(seed=1, rows=4).items()):
        if (name, label) in ABORTING:
            continue
        for kind, importance in importances(number).items():
            assert _same_as_ggml(x, name, backend, importance) is None, (label, kind)


@pytest.fixture
def baseline() -> Iterator[None]:
    with using("baseline"):
        yield


@pytest.mark.usefixtures("baseline")
@pytest.mark.parametrize("name", OURS)
def test_baseline_equals_ggml(name: str) -> None:
    """The build for any processor, whose vectors have another width than those of the best."""
    samples = row_samples(seed=2, rows=1) | {"hostile": hostile_rows(1)[0]}
    for number, (label, x) in enumerate(samples.items()):
        if (name, label) in ABORTING:
            continue
        if name in PLAIN:
            assert _same_as_ggml(x, name, "native") is None, label
        if name in WEIGHTED:
            kinds = importances(number)
            kind = list(kinds)[number % len(kinds)]
            assert _same_as_ggml(x, name, "native", kinds[kind]) is None, (label, kind)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_equals_ggml_where_importance_hides_outliers(name: str, backend: Backend) -> None:
    """Huge elements without weight: ggml's rounding to integers wraps, codes leave their range."""
    for seed in range(3):
        x, importance = hostile_rows(seed)
        assert _same_as_ggml(x, name, backend, importance) is None, seed


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["IQ2_XXS", "IQ2_XS", "IQ3_XXS"])
def test_equals_ggml_where_scales_are_negative(name: str, backend: Backend) -> None:
    """A tiny element of huge weight, whose sign is turned: the fit follows its sign alone."""
    rng = np.random.default_rng(4)
    x, weights = rng.normal(0, 1, (4, LENGTH)), 1e-6 * rng.random(LENGTH)
    heavy = rng.integers(0, 8, LENGTH // 8) + np.arange(0, LENGTH, 8)
    x[:, heavy] = 1e-9 * 10 ** rng.uniform(-2, 2, (4, len(heavy)))
    weights[heavy] = 1e6 * 10 ** rng.uniform(-3, 3, len(heavy))
    importance = weights.astype(np.float32)
    assert _same_as_ggml(x.astype(np.float32), name, backend, importance) is None


@pytest.mark.parametrize("name", sorted({name for name, _ in ABORTING}))
def test_refuses_where_ggml_aborts(name: str) -> None:
    x, importance = row_samples()["beyond squares"], importances()["zeros in part"]
    for weights in (importance, None) if QUANTIZERS[name].plain else (importance,):
        for backend in BACKENDS:
            with pytest.raises(QuantizeError, match="scale that is finite"):
                ggufspec.quantize(x, name, weights, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["MXFP4", "NVFP4"])
def test_block_exponents(name: str, backend: Backend) -> None:
    """Every exponent of float32, next to its powers of two: the logarithm rounds there."""
    powers = np.repeat((2.0 ** np.arange(-149, 128)).astype(np.float32).view(np.int32), 9)
    bits = powers.reshape(-1, 9) + np.array([-45, -44, -43, -23, -22, -1, 0, 1, 2])
    x = np.zeros((bits.size, 64), np.float32)
    x[:, 5] = np.clip(bits, 0, 0x7F7FFFFF).astype(np.int32).view(np.float32).reshape(-1)
    x[:, 40] = -0.7 * x[:, 5]
    assert _same_as_ggml(x, name, backend) is None


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", sorted({*GOLDEN, *GOLDEN_WEIGHTED}))
def test_golden_hashes(name: str, backend: Backend) -> None:
    x, importance = golden_rows()
    if name in GOLDEN:
        found = ggufspec.quantize(x, name, backend=backend)
        assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == GOLDEN[name]
    if name in GOLDEN_WEIGHTED:
        found = ggufspec.quantize(x, name, importance, backend=backend)
        assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == GOLDEN_WEIGHTED[name]


@pytest.mark.parametrize("name", OURS)
def test_real_weights(name: str) -> None:
    with ggufspec.open(realfiles.smollm2()) as f:
        values = f.tensors["blk.3.ffn_down.weight"].dequantize().reshape(-1)
    x = values[: values.size // LENGTH * LENGTH].reshape(-1, LENGTH)[:256]
    if QUANTIZERS[name].plain:
        assert _same_as_ggml(x, name, "native") is None
    if QUANTIZERS[name].weighted:
        assert _same_as_ggml(x, name, "native", importances(7)["random"]) is None


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("length", [256, 768, 2304])
def test_rows_that_fill_no_vector(name: str, length: int) -> None:
    """Block counts that lanes and flights do not divide, on one thread and several."""
    kind = types[name]
    assert kind.id is not None
    rng = np.random.default_rng(length)
    x = rng.normal(0, 0.02, (5, length)).astype(np.float32)
    weights = rng.random(length).astype(np.float32)
    for importance in (None, weights):
        if importance is None and QUANTIZERS[name].plain is None:
            continue
        expected = oracle.quantize(x, kind.id, importance)
        for threads in (1, 3):
            for backend in BACKENDS:
                found = ggufspec.quantize(x, name, importance, threads=threads, backend=backend)
                assert np.array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_experts_have_their_own_importance(name: str, backend: Backend) -> None:
    kind = types[name]
    assert kind.id is not None
    x = row_samples(seed=2, rows=6)["heavy-tailed"].reshape(3, 2, LENGTH)
    weights = np.stack([importances(expert)["random"] for expert in range(3)])
    expected = [oracle.quantize(x[e], kind.id, weights[e]) for e in range(3)]
    found = ggufspec.quantize(x, name, weights, backend=backend)
    assert np.array_equal(found, np.concatenate(expected))
    alike = ggufspec.quantize(x, name, weights[0], backend=backend)
    assert np.array_equal(alike, oracle.quantize(x.reshape(6, LENGTH), kind.id, weights[0]))
