"""Quantizing with a matrix: real tensors against ggml, and what `quantize` says of importances."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.blocks import Backend
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.imatrix import Imatrix, fixed, read_imatrix
from ggufspec.quantizers.quantize import QuantizeError
from ggufspec.registry import types
from support import imatrix, oracle, realfiles

BACKENDS: tuple[Backend, ...] = ("numpy", "native")
WEIGHTED = [name for name, q in QUANTIZERS.items() if q.weighted]
ROOTED = [name for name in WEIGHTED if name.startswith(("IQ2", "IQ3"))]
"""On negative weights ggml aborts in their search."""
ROWS = 32


def _in_ggml(names: Iterable[str]) -> list[Any]:
    """Types to compare with the installed ggml, whose IQ1_M is older than ours.

    The tables of two take it ten seconds; tests/oracle waits for them already.
    """
    slow = {"IQ1_S", "IQ2_S"}
    return [
        pytest.param(name, marks=pytest.mark.sweep) if name in slow else name
        for name in names
        if name != "IQ1_M"
    ]


@cache
def _matrix() -> Imatrix:
    return read_imatrix(imatrix.SMOLLM2)


@cache
def _theirs() -> dict[str, Any]:
    return imatrix.expected(imatrix.SMOLLM2)


def _rows(name: str) -> tuple[Any, tuple[int, ...]]:
    """The first rows of a tensor of SmolLM2, and the shape of the whole."""
    with ggufspec.open(realfiles.smollm2()) as file:
        tensor = file.tensors[name]
        return tensor.dequantize()[:ROWS], tensor.shape


@pytest.mark.parametrize("name", _in_ggml(WEIGHTED))
@pytest.mark.parametrize("layer", [0, 17])
@pytest.mark.parametrize("part", ["ffn_down", "attn_output"])
def test_real_tensors_with_the_real_matrix(part: str, layer: int, name: str) -> None:
    tensor = f"blk.{layer}.{part}.weight"
    kind = types[name]
    assert kind.id is not None
    x, shape = _rows(tensor)
    values = _matrix().importance(tensor, shape).values
    assert values is not None
    whole = shape[1] // kind.elements * kind.elements  # 576 are two super-blocks and a quarter
    x = x[:, :whole]
    expected = oracle.quantize(x, kind.id, _theirs()[tensor][:whole])
    assert np.array_equal(ggufspec.quantize(x, name, values[:whole]), expected)


@pytest.mark.parametrize("name", _in_ggml(WEIGHTED))
def test_experts_of_which_one_was_never_seen(name: str, tmp_path: Any) -> None:
    kind = types[name]
    assert kind.id is not None
    rng = np.random.default_rng(3)
    x = rng.normal(0, 0.02, (3, 4, 512)).astype(np.float32)
    sums = rng.random((3, 512)).astype(np.float32)
    path = tmp_path / "matrix.gguf"
    path.write_bytes(imatrix.gguf_form({"w": (sums, [7, 0, 3])}))
    values = read_imatrix(path).importance("w", x.shape).values
    means = [sums[0] / np.float32(7), np.ones(512, np.float32), sums[2] / np.float32(3)]
    expected = [oracle.quantize(x[e], kind.id, means[e]) for e in range(3)]
    assert np.array_equal(ggufspec.quantize(x, name, values), np.concatenate(expected))


@pytest.mark.parametrize("name", _in_ggml(WEIGHTED))
def test_both_forms_give_the_same_as_ggml(name: str, tmp_path: Any) -> None:
    kind = types[name]
    assert kind.id is not None
    rng = np.random.default_rng(4)
    x = rng.normal(0, 0.02, (4, 512)).astype(np.float32)
    stored = rng.random(512).astype(np.float32)
    path = tmp_path / "imatrix.dat"
    path.write_bytes(imatrix.dat_form({"w": (3, stored)}))
    values = read_imatrix(path).importance("w", x.shape).values
    expected = oracle.quantize(x, kind.id, stored / np.float32(3))
    assert np.array_equal(ggufspec.quantize(x, name, values), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", _in_ggml(WEIGHTED))
def test_whole_blocks_of_zeros_are_as_in_ggml(name: str, backend: Backend) -> None:
    kind = types[name]
    assert kind.id is not None
    rng = np.random.default_rng(5)
    x = rng.normal(0, 0.02, (4, 1024)).astype(np.float32)
    values = rng.random(1024).astype(np.float32)
    values[256:768] = 0
    ones, count = fixed(values, name)
    assert count == 512 // kind.elements
    for weights in (values, ones):
        expected = oracle.quantize(x, kind.id, weights)
        assert np.array_equal(ggufspec.quantize(x, name, weights, backend=backend), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", _in_ggml(name for name in WEIGHTED if name not in ROOTED))
def test_negative_importance_is_as_in_ggml(name: str, backend: Backend) -> None:
    kind = types[name]
    assert kind.id is not None
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.normal(0, 0.02, (4, 512)).astype(np.float32)
        values = rng.normal(0.3 * seed - 0.6, 1, 512).astype(np.float32)
        expected = oracle.quantize(x, kind.id, values)
        assert np.array_equal(ggufspec.quantize(x, name, values, backend=backend), expected)


@pytest.mark.parametrize("name", ROOTED)
def test_negative_importance_is_refused_where_ggml_aborts(name: str) -> None:
    values = np.ones((2, 256), np.float32)
    values[1, 3] = -1
    with pytest.raises(ValueError, match=rf"importance\[1, 3\] is -1\.0: .* of {name} takes"):
        ggufspec.quantize(np.ones((2, 3, 256), np.float32), name, values)
    values[1, 3] = -0.0
    assert ggufspec.quantize(np.ones((2, 3, 256), np.float32), name, values).shape[0] == 6


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
def test_huge_importance_never_makes_a_scale_that_is_not_finite(
    name: str, backend: Backend
) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(0, 2, (4, 512)).astype(np.float32)
    for size in (1e30, 3e38):
        values = np.where(rng.random(512) < 0.5, np.float32(size), np.float32(1))
        try:
            with np.errstate(all="ignore"):
                found = ggufspec.quantize(x, name, values, backend=backend)
        except QuantizeError:
            continue
        assert np.isfinite(ggufspec.dequantize(found, name)).all()


@pytest.mark.parametrize("name", QUANTIZERS)
def test_importance_that_is_none(name: str) -> None:
    """Refused alike for types that would not use it."""
    x = np.ones((2, 3, 512), np.float32)
    ones = np.ones((2, 512))
    for value in (np.nan, np.inf, -np.inf, 1e300):
        wrong = ones.copy()
        wrong[1, 7] = value
        with pytest.raises(ValueError, match=r"importance\[1, 7\] is .*: not finite"):
            ggufspec.quantize(x, name, wrong)
    for shape in ((511,), (3, 512), (1, 512), (2, 3, 512), (1024,), (0,), ()):
        with pytest.raises(ValueError, match=r"takes \(512,\) or \(2, 512\)"):
            ggufspec.quantize(x, name, np.ones(shape))
    for kind in (bool, complex, str, object):
        with pytest.raises(TypeError, match="importance holds numbers, not"):
            ggufspec.quantize(x, name, ones.astype(kind))


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int32, np.uint8])
def test_importance_of_any_numbers(dtype: Any) -> None:
    rng = np.random.default_rng(7)
    x = rng.normal(0, 0.02, (4, 512)).astype(np.float32)
    values = rng.integers(0, 9, 512).astype(dtype)
    expected = ggufspec.quantize(x, "Q4_K", values.astype(np.float32))
    assert np.array_equal(ggufspec.quantize(x, "Q4_K", values), expected)
    assert np.array_equal(ggufspec.quantize(x, "Q4_K", values.tolist()), expected)


def test_nothing_to_quantize() -> None:
    for shape, importance in (((0, 4, 256), (0, 256)), ((3, 0, 256), (256,)), ((4, 0), (0,))):
        found = ggufspec.quantize(np.zeros(shape, np.float32), "Q4_K", np.ones(importance))
        assert found.size == 0
