"""Wrong arguments of the library raise what they should, whatever back end runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import blocks
from ggufspec.blocks import kernels

BACKENDS = ("numpy", "native")
DATA = np.zeros((2, 18), np.uint8)


def read_only() -> Any:
    out = np.zeros((2, 32), np.float32)
    out.flags.writeable = False
    return out


def unaligned() -> Any:
    return np.zeros(2 * 32 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(2, 32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("out", "error"),
    [
        (read_only(), ValueError),
        (unaligned(), ValueError),
        (np.zeros((2, 64), np.float32)[:, ::2], ValueError),
        (np.zeros((2, 32)), ValueError),
        (np.zeros((2, 31), np.float32), ValueError),
        ("x", TypeError),
        ([], TypeError),
    ],
    ids=["read-only", "unaligned", "strided", "float64", "shape", "str", "list"],
)
def test_out_that_cannot_be_filled(out: Any, error: type, backend: blocks.Backend) -> None:
    with pytest.raises(error, match="out"):
        blocks.dequantize(DATA, "Q4_0", out=out, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["x", "", None, "Little"])
def test_byte_order_is_one_of_two(order: Any, backend: blocks.Backend) -> None:
    with pytest.raises(ValueError, match="byte_order"):
        blocks.dequantize(DATA, "Q4_0", byte_order=order, backend=backend)


def test_rows_of_nothing_are_rows() -> None:
    assert ggufspec.quantize(np.ones((2, 0), np.float32), "F16").shape == (2, 0)
    assert ggufspec.quantize(np.ones((0, 32), np.float32), "Q8_0").shape == (0, 34)


@pytest.mark.parametrize("version", [3.0, True, "3"])
def test_version_is_a_number(version: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="version"):
        ggufspec.write(tmp_path / "x.gguf", {}, version=version)
    assert not list(tmp_path.iterdir())


def test_library_without_a_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after ``generate --fix`` and before the C part is compiled anew."""
    if not kernels.available():
        pytest.skip("no compiled part")
    older = {name: k for name, k in kernels._kernels().items() if name != "Q4_0"}
    monkeypatch.setattr(kernels, "_kernels", lambda: older)
    assert not blocks.dequantize(DATA, "Q4_0").any()
    with pytest.raises(RuntimeError, match="older than type Q4_0"):
        blocks.dequantize(DATA, "Q4_0", backend="native")


def test_arrays_nested_as_deep_as_can_be_read_can_be_written(tmp_path: Path) -> None:
    value: Any = [1.5]
    kind = "ARRAY[FLOAT32]"
    for _ in range(16):
        value, kind = [value], f"ARRAY[{kind}]"
    first, second = tmp_path / "a.gguf", tmp_path / "b.gguf"
    ggufspec.write(first, {"a": ggufspec.Value(kind, value)})
    with ggufspec.open(first) as f:
        ggufspec.write(second, f.metadata)
    assert first.read_bytes() == second.read_bytes()
    with pytest.raises(ValueError, match="nested"):
        ggufspec.write(first, {"a": ggufspec.Value(f"ARRAY[{kind}]", [value])})
