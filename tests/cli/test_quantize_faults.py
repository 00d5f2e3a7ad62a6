"""``quantize``: values that are not finite, or too large for the scale of a block."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support import imatrix, models, oracle

Run = Callable[..., Any]

NAME = "blk.0.ffn_up_exps.weight"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], Path]:
    """A model of one stack of matrices."""

    def written(array: Any) -> Path:
        path = tmp_path / "in.gguf"
        ggufspec.write(path, {"general.architecture": "llama"}, {NAME: array})
        return path

    return written


@pytest.fixture
def stack() -> models.Floats:
    """Several tiles."""
    return np.random.default_rng(3).standard_normal((3, 700, 1024)).astype(np.float32)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 650, 3), (2, 699, 1023)], ids=str)
def test_not_finite(
    run: Run, tmp_path: Path, write: Any, stack: Any, value: float, place: tuple[int, ...]
) -> None:
    stack[place] = value
    path, out = write(stack), tmp_path / "out.gguf"
    result = run("quantize", path, out, "Q8_0")
    assert result.code == 1
    index = ", ".join(map(str, place))
    assert f"tensor {NAME!r}, element [{index}] is {value}: not finite" in result.err
    assert "hint: --non-finite=zero takes 0 for such elements" in result.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["in.gguf"]
    assert run("quantize", path, out, "Q8_0", "--non-finite=zero").code == 0
    stack[place] = 0
    with ggufspec.open(out) as file:
        expected = oracle.quantize(stack.reshape(-1, 1024), 8)
        assert np.array_equal(file.tensors[NAME].data, expected)


def test_half_that_overflows(run: Run, tmp_path: Path, write: Any, stack: Any) -> None:
    stack[2, 5, 40] = 1e9
    path, out = write(stack), tmp_path / "out.gguf"
    for kind, block in (("Q4_0", 32), ("Q8_0", 32), ("F16", 40)):
        result = run("quantize", path, out, kind)
        assert result.code == 1, kind
        assert f"tensor {NAME!r}, row 1405: {kind} has no finite scale" in result.err
        assert (
            f"from element [2, 5, {block}] on (largest magnitude of the row: 1e+09)" in result.err
        )
        assert "--clamp-scales" in result.err
        assert not out.exists()
    assert run("quantize", path, out, "Q8_0", "--clamp-scales", "--verify").code == 0
    with ggufspec.open(out) as file:
        assert np.isfinite(file.tensors[NAME].dequantize()).all()
        assert ggufspec.validate(out).ok


def test_the_input_is_not_changed(run: Run, tmp_path: Path, write: Any, stack: Any) -> None:
    stack[1, 1, 1] = np.nan
    path = write(stack)
    before = path.read_bytes()
    assert run("quantize", path, tmp_path / "o", "Q8_0", "--non-finite=zero").code == 0
    assert path.read_bytes() == before


def test_long_rows_stay_whole(run: Run, tmp_path: Path) -> None:
    """A search may look at the whole row, which is larger than a tile here."""
    length = 5 << 19
    row = np.random.default_rng(1).standard_normal((2, length)).astype(np.float32)
    weights = np.abs(np.random.default_rng(2).standard_normal((1, length))).astype(np.float32)
    path, out, matrix = (tmp_path / name for name in ("in", "out", "matrix"))
    ggufspec.write(path, {"general.architecture": "llama"}, {"a.weight": row})
    matrix.write_bytes(imatrix.gguf_form({"a.weight": (weights, np.ones(1))}))
    assert run("quantize", path, out, "Q4_0", "--imatrix", matrix).code == 0
    with ggufspec.open(out) as file:
        assert np.array_equal(file.tensors["a.weight"].data, oracle.quantize(row, 2, weights[0]))
