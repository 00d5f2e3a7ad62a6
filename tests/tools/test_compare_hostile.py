"""`compare` on files of all kinds: nothing but measures, or a reason why there are none."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.dialects import dialects
from ggufspec.jobs.comparing import (
    Comparison,
    Histogram,
    Pair,
    Wanted,
    compare_models,
    measure_pairs,
    place_of,
)
from ggufspec.registry import types
from support import gguf_py
from support.command import command

Tensors = dict[str, Any]
WANTED = Wanted(worst=4)
NOBODYS = 77_777
"""A type number that nobody uses."""


def compared(folder: Path, first: Tensors, second: Tensors, wanted: Wanted = WANTED) -> Comparison:
    paths = folder / "first.gguf", folder / "second.gguf"
    for path, tensors in zip(paths, (first, second), strict=True):
        ggufspec.write(path, {}, tensors)
    with ggufspec.open(paths[0]) as a, ggufspec.open(paths[1]) as b:
        return compare_models(a, b, wanted, threads=2)


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    x = np.ones((4, 512), np.float32)
    nan, infinite, both = x.copy(), x.copy(), x.copy()
    nan[1, 300] = np.nan
    infinite[2, 3] = np.inf
    both[3, 511] = -np.inf
    found = compared(
        tmp_path,
        {"nan": x, "inf": x, "same": both, "zero": x * 0},
        {"nan": nan, "inf": infinite, "same": both, "zero": x},
    )
    one = {tensor.name: tensor for tensor in found.tensors}
    assert math.isnan(one["nan"].sums.rmse)
    assert math.isnan(one["nan"].sums.largest)
    assert (one["nan"].blocks.histogram.nan, one["nan"].blocks.histogram.exact) == (1, 7)
    assert one["nan"].blocks.over == 1
    worst = one["nan"].worst
    assert [(block.row, block.block) for block in worst] == [(1, 1)]
    assert one["inf"].sums.rmse == math.inf
    assert (one["inf"].worst[0].row, one["inf"].worst[0].relative) == (2, math.inf)
    assert one["inf"].blocks.histogram.above == 1
    assert math.isnan(one["same"].sums.rmse)  # infinity from infinity is no number
    assert (one["zero"].sums.relative, one["zero"].sums.snr) == (math.inf, -math.inf)
    assert one["zero"].blocks.histogram.above == 8


@pytest.mark.parametrize("shape", [(0,), (0, 32), (3, 0), (1,), (5, 1), (1, 255), (2, 3, 257)])
def test_shapes(tmp_path: Path, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    x = rng.standard_normal(shape, np.float32)
    y = x + rng.standard_normal(shape, np.float32) / 100
    (one,) = compared(tmp_path, {"x": x}, {"x": y}).tensors
    assert one.sums.count == x.size
    assert one.blocks.count == -(-x.size // 256)
    if x.size:
        error = (y.astype(np.float64) - x).ravel()
        assert one.sums.rmse == pytest.approx(math.sqrt((error**2).mean()), rel=1e-12)
        last = error[(one.blocks.count - 1) * 256 :]
        rmse = [block.rmse for block in one.worst if block.element == x.size - len(last)]
        assert rmse == pytest.approx([math.sqrt((last**2).mean())] * len(rmse), rel=1e-12)


def test_of_equal_errors_the_first_are_told(tmp_path: Path) -> None:
    x = np.ones((64, 256), np.float32)
    (one,) = compared(tmp_path, {"x": x}, {"x": x * 2}).tensors
    assert [block.row for block in one.worst] == [0, 1, 2, 3]
    (one,) = compared(tmp_path, {"x": x}, {"x": x}).tensors
    assert one.worst == ()


@pytest.mark.parametrize("elements", [1, 48, 300, 1 << 20])
def test_windows_of_any_size(tmp_path: Path, elements: int) -> None:
    """Blocks are whole whatever is read at once."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((3, 1024), np.float32)
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path, kind in zip(paths, ("Q4_0", "Q6_K"), strict=True):
        data = ggufspec.TensorData(ggufspec.quantize(x, kind), kind, x.shape)
        ggufspec.write(path, {}, {"x": data})
    with ggufspec.open(paths[0]) as a, ggufspec.open(paths[1]) as b:
        pair = Pair(a.tensors["x"], b.tensors["x"])
        parts = [
            measure_pairs([pair], Wanted(worst=3), threads=1, elements=size)[0]
            for size in (elements, x.size)
        ]
    assert parts[0].blocks == parts[1].blocks
    assert [w.element for w in parts[0].worst] == [w.element for w in parts[1].worst]
    assert parts[0].sums.error == pytest.approx(parts[1].sums.error, rel=1e-13)


def set_type(path: Path, number: int) -> None:
    """Give the first tensor of a file, a matrix, a number that `write` has another size for."""
    with ggufspec.open(path) as file:
        part = file.parts[0]
        order = part.scan.byte_order
        at = part.scan.tensors.name_offset[0] + part.scan.tensors.name_length[0] + 4 + 2 * 8
    data = bytearray(path.read_bytes())
    assert data[at : at + 4] == NOBODYS.to_bytes(4, order)
    data[at : at + 4] = number.to_bytes(4, order)
    path.write_bytes(data)


def described() -> list[tuple[str, int, str]]:
    """Dialect, number and name of every type that can be decoded."""
    found = [("ggml", kind.id, name) for name, kind in types.items() if kind.elements]
    for dialect in dialects.values():
        kinds = dialect.kinds.items()
        found += [(dialect.name, number, kind.name) for number, kind in kinds if kind.name in types]
    return [(dialect, number, name) for dialect, number, name in found if number is not None]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(("dialect", "number", "name"), described())
def test_every_type_against_floats(
    tmp_path: Path, dialect: str, number: int, name: str, order: Any
) -> None:
    """A tensor of any type, dialect and byte order is equal to what it decodes to."""
    kind = ggufspec.types[name]
    shape = (3, 2 * kind.elements)
    size = 3 * kind.row_bytes(shape[1]) + kind.info.tensor_suffix
    data = np.random.default_rng(7).integers(0, 128, size, np.uint8)
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    stored = ggufspec.TensorData(data, NOBODYS, shape, order)
    ggufspec.write(paths[0], {}, {"x": stored}, byte_order=order)
    set_type(paths[0], number)
    with ggufspec.open(paths[0], dialect=dialect) as file:
        values = file.tensors["x"].dequantize()
    ggufspec.write(paths[1], {}, {"x": values})
    with ggufspec.open(paths[0], dialect=dialect) as a, ggufspec.open(paths[1]) as b:
        (one,) = compare_models(b, a, threads=1).tensors
    assert one.sums.count == values.size
    if np.isfinite(values).all():
        assert (one.sums.error, one.blocks.histogram.exact) == (0, one.blocks.count)
    if (dialect, order) == ("ggml", "little") and number in gguf_py.dequantizable():
        theirs = gguf_py.dequantize(data.reshape(3, -1), number).astype(np.float64)
        if np.isfinite(theirs).all():
            assert one.sums.power == pytest.approx(float((theirs**2).sum()), rel=1e-12)


def test_unknown_types_are_told(tmp_path: Path) -> None:
    x = np.ones((2, 32), np.float32)
    unknown = ggufspec.TensorData(bytes(64), 99, (2, 32))
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path in paths:
        ggufspec.write(path, {}, {"x": x, "u": unknown})
    with ggufspec.open(paths[0]) as a, ggufspec.open(paths[1]) as b:
        found = compare_models(a, b)
        with pytest.raises(ggufspec.GGUFError) as refused:
            a.tensors["u"].dequantize()
    assert [one.name for one in found.tensors] == ["x"]
    told = [(one.pair.tensor.name, one.code, one.reason) for one in found.undecoded]
    assert told == [("u", refused.value.code, refused.value.message)]
    done = command("compare", *paths)
    assert done.returncode == 3
    assert "1 tensor that cannot be decoded: u" in done.stdout


def test_many_tensors(tmp_path: Path) -> None:
    """Thousands of small ones, each with its own measures."""
    rng = np.random.default_rng(8)
    x = {f"blk.{n}.x.weight": rng.standard_normal(32).astype(np.float32) for n in range(2_000)}
    y = {name: value * np.float32(1.5) for name, value in x.items()}
    found = compared(tmp_path, x, y, Wanted())
    assert len(found.tensors) == len(found.grouped("layer")) == 2_000
    assert all(one.sums.relative == pytest.approx(0.5) for one in found.tensors)


def test_histograms_add_up() -> None:
    edges = Histogram.edges()
    assert len(edges) == len(Histogram().counts) + 1
    assert (edges[0], edges[-1]) == (1e-7, 10)
    squares = np.array([0.0, 1e-20, np.nan, np.inf, 200.0, 0.0011**2, 0.09**2])
    one = Histogram.of(squares)
    assert (one.exact, one.below, one.above, one.nan, sum(one.counts)) == (1, 1, 2, 1, 2)
    for value in (0.0011, 0.09):
        place = next(n for n, count in enumerate(one.counts) if edges[n + 1] > value)
        assert edges[place] <= value
        assert one.counts[place] == 1
    assert (one + one).total == 2 * one.total == 14


@pytest.mark.parametrize(
    ("name", "role", "layer"),
    [
        ("blk.12.attn_q.weight", "attn_q", "blk.12"),
        ("blk.0.attn_q.bias", "attn_q.bias", "blk.0"),
        ("v.blk.3.ffn_up.weight", "v.ffn_up", "v.blk.3"),
        ("token_embd.weight", "token_embd", None),
        ("output.weight", "output", None),
        ("blk.x.attn_q.weight", "blk.x.attn_q", None),
        (".weight", ".weight", None),
        ("", "", None),
    ],
)
def test_places(name: str, role: str, layer: str | None) -> None:
    assert place_of(name) == (role, layer)


def test_memory_does_not_grow_with_tensors(tmp_path: Path) -> None:
    """Two tensors of 64 MB are compared in less than one of them takes."""
    rows = np.random.default_rng(9).standard_normal((4096, 4096), np.float32)
    paths = tmp_path / "first.gguf", tmp_path / "second.gguf"
    for path in paths:
        ggufspec.write(path, {}, {"x": rows})
    script = (
        "import resource, sys, ggufspec\n"
        "from ggufspec.jobs.comparing import compare\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "compare(*sys.argv[1:])\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, paths)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) < 40_000  # kB


def test_vocabularies_have_nothing_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "vocabulary.gguf"
    ggufspec.write(path, {"general.architecture": "llama"}, {})
    done = command("compare", path, path)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("all")
