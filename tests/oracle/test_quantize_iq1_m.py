"""IQ1_M follows ggml 0.25.3; the oracle's older version writes other bytes for some input.

ggml 0.25.3 is there as hashes of its bytes; besides, the two back ends check each other: one
was written from the description of the algorithm, the other is fast.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.blocks import Backend
from ggufspec.quantizers.quantize import QuantizeError
from support import oracle, realfiles
from support.project import ROOT
from support.rows import LENGTH, Floats, golden_rows, hostile_rows, importances, lcg, row_samples

BACKENDS: tuple[Backend, ...] = ("numpy", "native")
TABLE: dict[str, Any] = json.loads((ROOT / "tests/data/iq1_m-golden.json").read_text())
CASES: dict[str, Any] = TABLE["cases"]


def _sha256(array: np.ndarray[Any, Any]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


@cache
def _inputs() -> tuple[dict[str, Floats], dict[str, Floats | None]]:
    """The rows and the importances that the table names."""
    numbers = lcg(64 * 1024 + 1024)
    x = ((numbers[: 64 * 1024] - 8388608) * 2.0**-26).astype(np.float32).reshape(64, 1024)
    w = ((numbers[64 * 1024 :] + 1) * 2.0**-24).astype(np.float32)
    assert (_sha256(x), _sha256(w)) == (TABLE["x_sha256"], TABLE["w_sha256"])
    rows = {
        "uniform": x,
        "heavy": x * x * x,
        "sparse": np.where(np.arange(1024) % 3 == 0, np.float32(0), x),
        "constant": np.full((4, 1024), 0.5, np.float32),
    }
    return rows, {"none": None, "ones": np.ones(1024, np.float32), "w": w}


def _case(name: str) -> tuple[Floats, Floats | None]:
    rows, weights = _inputs()
    row, weight = name.split("/")
    return rows[row], weights[weight]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", CASES)
def test_golden_hashes(name: str, backend: Backend) -> None:
    x, importance = _case(name)
    found = ggufspec.quantize(x, "IQ1_M", importance, backend=backend)
    assert _sha256(found) == CASES[name]["ggml_0.25.3"]


@pytest.mark.parametrize(
    "name", [name for name, case in CASES.items() if not case["rows_that_differ"]]
)
def test_equals_the_older_version_where_the_table_says_so(name: str) -> None:
    x, importance = _case(name)
    expected = oracle.quantize(x, ggufspec.types["IQ1_M"].id or 0, importance)
    assert np.array_equal(ggufspec.quantize(x, "IQ1_M", importance), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_golden_rows(backend: Backend) -> None:
    x, importance = golden_rows()
    for weights, sha256 in ((None, "ebf1fd090f700154"), (importance, "6b333f52f9bbd4a4")):
        found = ggufspec.quantize(x, "IQ1_M", weights, backend=backend)
        assert _sha256(found)[:16] == sha256


def _assert_alike(x: Floats, importance: Floats | None, label: object) -> None:
    """Both back ends write the same bytes, or refuse the same block."""
    found = []
    for backend in BACKENDS:
        try:
            found.append(ggufspec.quantize(x, "IQ1_M", importance, backend=backend).tobytes())
        except QuantizeError as error:
            found.append(str(error).encode())
    assert found[0] == found[1], label


def test_back_ends_agree() -> None:
    for number, (label, x) in enumerate(row_samples(seed=1, rows=4).items()):
        _assert_alike(x, None, label)
        for kind, importance in importances(number).items():
            _assert_alike(x, importance, (label, kind))


def test_back_ends_agree_where_importance_hides_outliers() -> None:
    for seed in range(3):
        x, importance = hostile_rows(seed)
        _assert_alike(x, None, seed)
        _assert_alike(x, importance, seed)


def test_back_ends_agree_on_negative_importance() -> None:
    """It makes no sense, and neither do sums that screen splits for certain."""
    x = row_samples(rows=4)["heavy-tailed"]
    random = np.random.default_rng(3).normal(0, 1, LENGTH).astype(np.float32)
    _assert_alike(x, random, "all")
    _assert_alike(x, np.where(np.arange(LENGTH) % 100 == 0, -random, abs(random)), "some")


def test_back_ends_agree_on_real_weights() -> None:
    with ggufspec.open(realfiles.smollm2()) as f:
        values = f.tensors["blk.3.ffn_down.weight"].dequantize().reshape(-1)
    x = values[: values.size // LENGTH * LENGTH].reshape(-1, LENGTH)[:128]
    _assert_alike(x, None, "plain")
    _assert_alike(x, importances(7)["random"], "weighted")


@pytest.mark.parametrize("length", [256, 768, 2304])
def test_rows_that_fill_no_vector(length: int) -> None:
    rng = np.random.default_rng(length)
    x = rng.normal(0, 0.02, (5, length)).astype(np.float32)
    for importance in (None, rng.random(length).astype(np.float32)):
        expected = ggufspec.quantize(x, "IQ1_M", importance, backend="numpy")
        for threads in (1, 3):
            found = ggufspec.quantize(x, "IQ1_M", importance, threads=threads, backend="native")
            assert np.array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_refuses_where_ggml_aborts(backend: Backend) -> None:
    """Squares that overflow leave ggml without a scale that is a number."""
    with pytest.raises(QuantizeError, match="has no IQ1_M scale that is finite"):
        ggufspec.quantize(row_samples()["beyond squares"], "IQ1_M", backend=backend)
