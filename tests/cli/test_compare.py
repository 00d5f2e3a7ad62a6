"""``ggufspec compare``: the measures against their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.jobs import compare

Run = Callable[..., Any]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(2)
    first = {
        "a": rng.standard_normal((300, 4096), np.float32),  # more than one tile
        "b": rng.standard_normal(100_000, np.float32),
    }
    second = {name: (value * np.float32(1.01)).astype(np.float16) for name, value in first.items()}
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path, tensors in zip(paths, (first, second), strict=True):
        ggufspec.write(path, {}, tensors)
    return paths


def test_measures_are_those_of_their_definitions(run: Run, pair: tuple[Path, Path]) -> None:
    told = run("compare", *pair, "--json").json
    with ggufspec.open(pair[0]) as first, ggufspec.open(pair[1]) as second:
        arrays = {
            name: (
                first.tensors[name].dequantize().astype(float).ravel(),
                second.tensors[name].dequantize().astype(float).ravel(),
            )
            for name in first.tensors
        }
    arrays["all"] = tuple(np.concatenate([arrays[name][side] for name in "ab"]) for side in (0, 1))
    results = {tensor["name"]: tensor for tensor in told["tensors"]} | {"all": told["overall"]}
    assert list(results) == ["a", "b", "all"]
    for name, (x, y) in arrays.items():
        result = results[name]
        error = y - x
        assert result["weights"] == x.size
        assert result["rmse"] == pytest.approx(math.sqrt((error**2).mean()), rel=1e-12)
        assert result["max_error"] == abs(error).max()
        cosine = (x @ y) / np.linalg.norm(x) / np.linalg.norm(y)
        assert result["cosine"] == pytest.approx(cosine, rel=1e-12)
        snr = 10 * math.log10((x @ x) / (error @ error))
        assert result["snr_db"] == pytest.approx(snr, rel=1e-12)
        assert result["bits_per_weight"] == 16


def test_equal_files(run: Run, small: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(small.read_bytes())
    result = run("compare", small, copy, "--json")
    assert result.code == 0
    overall = result.json["overall"]
    assert (overall["rmse"], overall["max_error"], overall["snr_db"]) == (0, 0, "Infinity")


def test_table(run: Run, pair: tuple[Path, Path]) -> None:
    out = run("compare", *pair).out
    assert "F32 > F16" in out
    assert out.splitlines()[0].split() == [
        "tensor", "types", "RMSE", "max", "error", "cosine", "SNR", "dB", "bits/weight",
    ]  # fmt: skip
    assert out.splitlines()[-1].startswith("all")


def test_tensors_without_counterpart(run: Run, tmp_path: Path) -> None:
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    ones = np.ones((2, 32), np.float32)
    ggufspec.write(paths[0], {}, {"a": ones, "b": ones, "c": ones})
    ggufspec.write(paths[1], {}, {"a": ones, "b": np.ones((1, 32), np.float32), "d": ones})
    result = run("compare", *paths)
    assert result.code == 1
    assert "1 tensor only in the reference: c" in result.out
    assert "1 tensor only in the file: d" in result.out
    assert "1 tensor of another shape: b" in result.out
    told = run("compare", *paths, "--json").json
    assert (told["only_reference"], told["only_file"], told["reshaped"]) == (["c"], ["d"], ["b"])


def test_zeros_and_nan(run: Run, tmp_path: Path) -> None:
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    zeros = np.zeros((2, 32), np.float32)
    broken = np.ones((2, 32), np.float32)
    broken[1, 5] = np.nan
    ggufspec.write(paths[0], {}, {"z": zeros, "n": np.ones((2, 32), np.float32)})
    ggufspec.write(paths[1], {}, {"z": zeros, "n": broken})
    told = {tensor["name"]: tensor for tensor in run("compare", *paths, "--json").json["tensors"]}
    assert (told["z"]["rmse"], told["z"]["cosine"], told["z"]["snr_db"]) == (0, "NaN", "NaN")
    assert (told["n"]["rmse"], told["n"]["max_error"]) == ("NaN", "NaN")


@pytest.mark.parametrize("elements", [1, 48, 64, 1 << 20])
def test_blocks_of_different_sizes(
    tmp_path: Path, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tiles of the two files need not end at the same elements."""
    monkeypatch.setattr(
        "ggufspec.blocks.tiles.tiles.__kwdefaults__", {"elements": elements, "threads": None}
    )
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((1, 256 * 8), np.float32)
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    ggufspec.write(paths[0], {}, {"a": weights})
    data = ggufspec.quantize(weights, "Q4_K")
    ggufspec.write(paths[1], {}, {"a": ggufspec.TensorData(data, "Q4_K", weights.shape)})
    sums = compare.compare(*paths)
    error = ggufspec.dequantize(data, "Q4_K").astype(float) - weights
    assert sums.count == weights.size
    assert sums.rmse == pytest.approx(math.sqrt((error**2).mean()), rel=1e-12)
    assert sums.bits_per_weight == 4.5
