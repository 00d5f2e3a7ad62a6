"""The measures of `compare` against whole tensors in NumPy, decoded by gguf-py."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ggufspec
from ggufspec.imatrix import read_imatrix
from ggufspec.jobs.comparing import Comparison, Wanted, compare_models
from support import gguf_py, realfiles
from support.imatrix import SMOLLM2

TYPES = {
    "blk.0.attn_norm.weight": None,
    "blk.0.attn_q.weight": "Q4_0",
    "blk.0.attn_v.weight": "BF16",
    "blk.0.ffn_down.weight": "Q4_K",
    "blk.1.attn_q.weight": "IQ4_NL",
    "blk.1.ffn_down.weight": "Q2_K",
    "blk.1.ffn_up.weight": "F16",
}
BLOCKS = {"Q4_0": 32, "IQ4_NL": 32, "Q4_K": 256, "Q2_K": 256}
Floats = NDArray[np.float64]


@pytest.fixture(scope="module")
def requantized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Some tensors of SmolLM2 as they are, and in other types."""
    folder = tmp_path_factory.mktemp("requantized")
    paths = folder / "reference.gguf", folder / "file.gguf"
    with ggufspec.open(realfiles.smollm2()) as source:
        reference = {name: source.tensors[name] for name in TYPES}
        others: dict[str, Any] = {}
        for name, kind in TYPES.items():
            tensor = source.tensors[name]
            if kind is None:
                others[name] = tensor
                continue
            data = ggufspec.quantize(tensor.dequantize(), kind)
            others[name] = ggufspec.TensorData(data, kind, tensor.shape)
        ggufspec.write(paths[0], {}, reference)
        ggufspec.write(paths[1], {}, others)
    return paths


@pytest.fixture(scope="module")
def decoded(requantized: tuple[Path, Path]) -> dict[str, tuple[Floats, Floats]]:
    """What gguf-py makes of both, whole, as float64."""
    found = []
    for path in requantized:
        tensors = gguf_py.read(path).tensors
        found.append(
            {
                one.name: gguf_py.dequantize(
                    np.asarray(one.data).view(np.uint8), int(one.tensor_type)
                )
                .astype(np.float64)
                .ravel()
                for one in tensors
            }
        )
    return {name: (found[0][name], found[1][name]) for name in found[0]}


def measured(paths: tuple[Path, Path], wanted: Wanted, threads: int = 1) -> Comparison:
    with ggufspec.open(paths[0]) as first, ggufspec.open(paths[1]) as second:
        return compare_models(first, second, wanted, threads=threads)


def close_to(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12)


def block_errors(x: Floats, y: Floats, size: int) -> tuple[Floats, Floats]:
    """Relative RMSE and RMSE of every block; the last may be short."""
    cuts = range(0, len(x), size)
    if len(x) % size:
        parts = [(x[at : at + size], y[at : at + size]) for at in cuts]
        means = np.array([(np.mean((b - a) ** 2), np.mean(a**2)) for a, b in parts]).T
    else:
        a, b = x.reshape(-1, size), y.reshape(-1, size)
        means = np.stack([np.mean((b - a) ** 2, axis=1), np.mean(a**2, axis=1)])
    rmse = np.sqrt(means[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(rmse == 0, 0.0, rmse / np.sqrt(means[1]))
    return relative, rmse


def test_measures(
    requantized: tuple[Path, Path], decoded: dict[str, tuple[Floats, Floats]]
) -> None:
    found = measured(requantized, Wanted(threshold=0.08))
    assert [one.name for one in found.tensors] == list(TYPES)
    for one in found.tensors:
        x, y = decoded[one.name]
        error = y - x
        sums = one.sums
        assert sums.count == x.size
        assert sums.rmse == close_to(math.sqrt(float(np.mean(error**2))))
        assert sums.relative == close_to(np.linalg.norm(error) / np.linalg.norm(x))
        assert sums.largest == abs(error).max()
        assert sums.cosine == close_to(float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)))
        if one.name.endswith("norm.weight"):
            assert sums.snr == math.inf
        else:
            assert sums.snr == close_to(10 * math.log10(float(x @ x / (error @ error))))
        size = BLOCKS.get(one.pair.tensor.type, BLOCKS.get(one.pair.reference.type, 0))
        size = size or {"Q4_1": 32}.get(one.pair.reference.type, 256)
        relative, _ = block_errors(x, y, size)
        assert (one.blocks.size, one.blocks.count) == (size, len(relative))
        assert one.blocks.over == np.count_nonzero(relative > 0.08)
        histogram = one.blocks.histogram
        edges = np.array(histogram.edges())
        unsure = [edge * (1 + s * 1e-9) for edge in edges for s in (-1, 1)]
        expected = np.histogram(relative, edges)[0]
        near = np.histogram(relative, unsure)[0][::2].sum()  # on an edge, so in either bin
        assert abs(np.array(histogram.counts) - expected).sum() <= 2 * near
        assert histogram.exact == np.count_nonzero(relative == 0)
        assert histogram.total == len(relative)


def test_groups(requantized: tuple[Path, Path], decoded: dict[str, tuple[Floats, Floats]]) -> None:
    found = measured(requantized, Wanted())
    roles = {
        "attn_norm": [0], "attn_q": [1, 4], "attn_v": [2], "ffn_down": [3, 5], "ffn_up": [6],
    }  # fmt: skip
    layers = {"blk.0": [0, 1, 2, 3], "blk.1": [4, 5, 6]}
    names = list(TYPES)
    for by, groups in (("role", roles), ("layer", layers)):
        told = found.grouped(by)  # type: ignore[arg-type]
        assert list(told) == list(groups)
        for key, members in groups.items():
            x, y = (np.concatenate([decoded[names[n]][side] for n in members]) for side in (0, 1))
            assert told[key].tensors == len(members)
            assert told[key].sums.rmse == pytest.approx(math.sqrt(((y - x) ** 2).mean()), rel=1e-12)
    x, y = (np.concatenate([decoded[name][side] for name in names]) for side in (0, 1))
    assert found.overall.rmse == pytest.approx(math.sqrt(((y - x) ** 2).mean()), rel=1e-12)
    assert found.histogram.total == sum(one.blocks.count for one in found.tensors)


@pytest.mark.parametrize("ranking", ["relative", "rmse"])
def test_worst_blocks(
    requantized: tuple[Path, Path], decoded: dict[str, tuple[Floats, Floats]], ranking: Any
) -> None:
    wanted = Wanted(worst=7, ranking=ranking)
    found = measured(requantized, wanted)
    for one in found.tensors:
        x, y = decoded[one.name]
        size = one.blocks.size
        errors = block_errors(x, y, size)
        ranked = errors[0 if ranking == "relative" else 1]
        expected = np.sort(ranked[ranked > 0])[::-1][:7]
        told = [block.relative if ranking == "relative" else block.rmse for block in one.worst]
        assert told == pytest.approx(expected.tolist(), rel=1e-12)
        for block in one.worst:
            start = block.element
            assert start % size == 0
            assert ranked[start // size] == pytest.approx(
                block.relative if ranking == "relative" else block.rmse, rel=1e-12
            )
            row = one.pair.tensor.shape[-1]
            assert (block.row, block.block) == (start // row, start % row // size)
            assert block.reference.tolist() == x[start : start + size].tolist()
            assert block.values.tolist() == y[start : start + size].tolist()
    worst = found.worst(5, wanted)
    best = sorted((b for one in found.tensors for b in one.worst), key=lambda b: -b.relative)
    if ranking == "relative":
        assert [block.relative for block in worst] == [block.relative for block in best[:5]]


def test_weighted_by_an_importance_matrix(
    requantized: tuple[Path, Path], decoded: dict[str, tuple[Floats, Floats]]
) -> None:
    matrix = read_imatrix(SMOLLM2)
    theirs = {one.name: one.data for one in gguf_py.read(SMOLLM2).tensors}
    found = measured(requantized, Wanted(imatrix=matrix))
    seen = 0
    for one in found.tensors:
        sums = theirs.get(one.name + ".in_sum2")
        if sums is None:
            assert math.isnan(one.sums.weighted_rmse)
            continue
        seen += 1
        means = np.asarray(sums).ravel() / np.asarray(theirs[one.name + ".counts"]).ravel()
        x, y = (part.reshape(-1, len(means)) for part in decoded[one.name])
        weights = np.broadcast_to(means.astype(np.float64), x.shape)
        error = (weights * (y - x) ** 2).sum()
        expected = math.sqrt(float(error / weights.sum()))
        assert one.sums.weighted_rmse == pytest.approx(expected, rel=1e-6)  # means are float32
        relative = math.sqrt(float(error / (weights * x**2).sum()))
        assert one.sums.weighted_relative == pytest.approx(relative, rel=1e-6)
    assert seen > 3


def test_threads_and_tiles_change_nothing(requantized: tuple[Path, Path]) -> None:
    one = measured(requantized, Wanted(worst=3))
    two = measured(requantized, Wanted(worst=3), threads=2)
    for first, second in zip(one.tensors, two.tensors, strict=True):
        assert first.sums == second.sums
        assert first.blocks == second.blocks
        assert [b.element for b in first.worst] == [b.element for b in second.worst]
