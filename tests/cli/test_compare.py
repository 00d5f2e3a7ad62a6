"""``ggufspec compare``: the measures against their definitions."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.jobs import comparing
from support.imatrix import gguf_form

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
        arrays: dict[str, tuple[Any, ...]] = {
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


def test_a_file_of_blocks_against_floats(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    weights = rng.standard_normal((1, 256 * 8), np.float32)
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    ggufspec.write(paths[0], {}, {"a": weights})
    data = ggufspec.quantize(weights, "Q4_K")
    ggufspec.write(paths[1], {}, {"a": ggufspec.TensorData(data, "Q4_K", weights.shape)})
    sums = comparing.compare(*paths)
    error = ggufspec.dequantize(data, "Q4_K").astype(float) - weights
    assert sums.count == weights.size
    assert sums.rmse == pytest.approx(math.sqrt((error**2).mean()), rel=1e-12)
    assert sums.bits_per_weight == 4.5


def test_groups_histogram_and_worst_blocks(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    names = [f"blk.{layer}.{role}.weight" for layer in (0, 1) for role in ("attn_q", "ffn_up")]
    first = {name: rng.standard_normal((4, 64), np.float32) for name in names}
    second: dict[str, Any] = {name: value.copy() for name, value in first.items()}
    second[names[1]][2, 40] += 1
    data = ggufspec.quantize(first[names[3]], "Q4_0")
    second[names[3]] = ggufspec.TensorData(data, "Q4_0", (4, 64))
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path, tensors in zip(paths, (first, second), strict=True):
        ggufspec.write(path, {}, tensors)
    out = run("compare", *paths, "--by", "role,layer,type", "--threshold", "0.01").out
    assert "over 0.01" in out
    for group in ("by role", "by layer", "by type", "ffn_up", "blk.1", "Q4_0"):
        assert group in out
    assert names[0] not in out
    out = run("compare", *paths, "--histogram", "--worst", "2", "--sort", "error").out
    assert "Q4_0: 8 blocks of 32" in out
    assert "█" in out
    assert "the worst blocks" in out
    assert out.splitlines()[1].startswith(names[3]) or out.splitlines()[1].startswith(names[1])
    told = run("compare", *paths, "--worst", "2", "--json").json
    assert [group["role"] for group in told["roles"]] == ["attn_q", "ffn_up"]
    assert [group["layer"] for group in told["layers"]] == ["blk.0", "blk.1"]
    assert [group["type"] for group in told["types"]] == ["F32", "Q4_0"]
    worst = {tensor["name"]: tensor["worst"] for tensor in told["tensors"]}
    assert (worst[names[1]][0]["row"], worst[names[1]][0]["rmse"]) == (0, 1 / 16)
    assert len(worst[names[3]]) == len(told["worst"]) == 2
    assert worst[names[0]] == []
    blocks = told["tensors"][3]["blocks"]
    assert (blocks["size"], blocks["count"]) == (32, 8)
    assert sum(one["blocks"] for one in blocks["histogram"]) == 8


def test_selection_and_limit(run: Run, pair: tuple[Path, Path]) -> None:
    told = run("compare", *pair, "--tensors", "^a$", "--json").json
    assert [tensor["name"] for tensor in told["tensors"]] == ["a"]
    assert run("compare", *pair, "--tensors", "nothing").code == 2
    assert run("compare", *pair, "--tensors", "(").code == 2
    assert run("compare", *pair, "--by", "colour").code == 2
    assert run("compare", *pair, "--fail-above", "0.02").code == 0
    result = run("compare", *pair, "--fail-above", "0.005")
    assert result.code == 1
    assert "2 tensors above a relative RMSE of 0.005" in result.out
    assert run("compare", *pair, "--fail-above", "0.005", "--json").json["failed"] == ["a", "b"]


def test_importance_matrix(run: Run, pair: tuple[Path, Path], tmp_path: Path) -> None:
    bad = tmp_path / "bad.dat"
    bad.write_bytes(b"nothing")
    assert run("compare", *pair, "--imatrix", bad).code == 1
    assert run("compare", *pair, "--imatrix", tmp_path / "none").code == 4
    matrix = tmp_path / "matrix.gguf"
    rng = np.random.default_rng(5)
    sums = rng.random((1, 4096), np.float32)
    matrix.write_bytes(gguf_form({"a": (sums, [3])}))
    told = run("compare", *pair, "--imatrix", matrix, "--json").json
    with ggufspec.open(pair[0]) as first, ggufspec.open(pair[1]) as second:
        x, y = (file.tensors["a"].dequantize().astype(float) for file in (first, second))
    weights = np.broadcast_to((sums / np.float32(3)).astype(float), x.shape)
    expected = math.sqrt((weights * (y - x) ** 2).sum() / weights.sum())
    tensor = {tensor["name"]: tensor for tensor in told["tensors"]}
    assert tensor["a"]["weighted_rmse"] == pytest.approx(expected, rel=1e-12)
    assert tensor["b"]["weighted_rmse"] == "NaN"
    assert "weighted RMSE" in run("compare", *pair, "--imatrix", matrix).out


@pytest.mark.parametrize(
    ("counts", "rows"),
    [
        ([0, 1, 50_000, 0, 50_000, 1, 1, 0], [(1, 2), (2, 3), (3, 4), (4, 5), (5, 7)]),
        ([1, 0, 0, 100_000, 0, 0], [(0, 3), (3, 4)]),
        ([0, 3, 4, 0], [(1, 2), (2, 3)]),
        ([0, 0], []),
    ],
)
def test_bins_with_hardly_any_blocks_share_a_row(
    counts: list[int], rows: list[tuple[int, int]]
) -> None:
    from ggufspec.cli.histogram import _rows

    found = _rows(counts, sum(counts) * 0.0001)
    assert found == rows
    assert sum(sum(counts[start:stop]) for start, stop in found) == sum(counts)


def test_no_empty_line_comes_first(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    ggufspec.write(path, {}, {"blk.0.ffn_up.weight": np.ones((4, 64), np.float32)})
    for by in ("role", "layer,type", "tensor,role"):
        out = run("compare", path, path, "--by", by).out
        assert out.splitlines()[0].strip()
