"""What ``quantize`` takes and refuses: shapes, number formats, values that fit nowhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.blocks import Backend
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.quantizers.quantize import QuantizeError
from ggufspec.registry import types
from support.rows import LARGEST

BACKENDS: tuple[Backend, ...] = ("numpy", "native")
NAMES = [name for name, q in QUANTIZERS.items() if q.plain]
OVERFLOWING = [name for name in NAMES if name not in {"F32", "MXFP4", "NVFP4", "Q8_K"}]
"""Types that store a half or bfloat16 made from the values."""
ROW = 1024


def _rows(count: int = 6, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(0, 0.02, (count, ROW)).astype(np.float32)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_halves_and_doubles_become_float32_once(name: str, backend: Backend) -> None:
    x = _rows().astype(np.float64) * (1 + 2.0**-40)
    expected = ggufspec.quantize(x.astype(np.float32), name, backend=backend)
    assert np.array_equal(ggufspec.quantize(x, name, backend=backend), expected)
    half = x.astype(np.float16)
    expected = ggufspec.quantize(half.astype(np.float32), name, backend=backend)
    assert np.array_equal(ggufspec.quantize(half, name, backend=backend), expected)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_leading_axes_are_rows(name: str, backend: Backend) -> None:
    x = _rows(12)
    flat = ggufspec.quantize(x, name, backend=backend)
    assert flat.shape == (12, types[name].row_bytes(ROW))
    assert np.array_equal(ggufspec.quantize(x.reshape(3, 4, ROW), name, backend=backend), flat)
    assert np.array_equal(ggufspec.quantize(x[::2], name, backend=backend), flat[::2])
    assert np.array_equal(ggufspec.quantize(x[0], name, backend=backend), flat[:1])
    assert ggufspec.quantize(x[:0], name, backend=backend).shape == (0, flat.shape[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_refuses_what_is_not_finite(name: str, backend: Backend, value: float) -> None:
    x = _rows().reshape(2, 3, ROW)
    x[1, 2, 700], x[1, 1, 33] = value, value
    with pytest.raises(QuantizeError, match=r"x\[1, 1, 33\] is -?(nan|inf)") as caught:
        ggufspec.quantize(x, name, backend=backend)
    assert (caught.value.row, caught.value.column) == (4, 33)
    zeroed = np.where(np.isfinite(x), x, np.float32(0))
    found = ggufspec.quantize(x, name, backend=backend, non_finite="zero")
    assert np.array_equal(found, ggufspec.quantize(zeroed, name, backend=backend))


@pytest.mark.parametrize("backend", BACKENDS)
def test_refuses_doubles_that_float32_does_not_hold(backend: Backend) -> None:
    x = _rows().astype(np.float64)
    x[2, 5] = 1e300
    with pytest.raises(QuantizeError, match=r"x\[2, 5\] is 1e\+300, not finite as float32"):
        ggufspec.quantize(x, "Q8_0", backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OVERFLOWING)
def test_scales_that_overflow(name: str, backend: Backend) -> None:
    """Never stored: an error that names the row, or the values are limited."""
    x = _rows()
    x[3, 300] = 3.4e38 if name == "BF16" else 1e10
    with pytest.raises(QuantizeError, match=r"row 3: the block from element \d+") as caught:
        ggufspec.quantize(x, name, backend=backend)
    start = caught.value.column
    stop = start + types[name].elements
    assert caught.value.row == 3
    assert start <= 300 < stop
    found = ggufspec.quantize(x, name, backend=backend, clamp_scales=True)
    again = ggufspec.dequantize(found, name)
    assert np.isfinite(again).all()
    assert again[3, 300] > (1e38 if name == "BF16" else 0.9 * LARGEST)
    x[3, start:stop] = 0
    other = ggufspec.quantize(x, name, backend=backend)
    unequal = np.argwhere(found != other)
    assert set(unequal[:, 0]) == {3}
    assert np.ptp(unequal[:, 1]) < types[name].bytes


@pytest.mark.parametrize("backend", BACKENDS)
def test_clamping_uses_the_whole_half(backend: Backend) -> None:
    x = np.full((1, 32), 1e9, np.float32)
    for name, reach in {"Q8_0": 127, "Q4_0": 8, "F16": 1}.items():
        found = ggufspec.quantize(x, name, backend=backend, clamp_scales=True)
        assert (ggufspec.dequantize(found, name) == LARGEST * reach).all(), name


@pytest.mark.parametrize("clamp", [False, True])
def test_clamping_changes_nothing_that_fits(clamp: bool) -> None:
    x = _rows()
    for name in NAMES:
        found = ggufspec.quantize(x, name, clamp_scales=clamp)
        assert np.array_equal(found, ggufspec.quantize(x, name))


def test_wrong_arguments() -> None:
    x = _rows()
    with pytest.raises(ValueError, match="unknown type 'Q4_Z'"):
        ggufspec.quantize(x, "Q4_Z")
    with pytest.raises(ValueError, match="Q4_2 was removed"):
        ggufspec.quantize(x, "Q4_2")
    with pytest.raises(ValueError, match="a row of 1000 elements is not a multiple"):
        ggufspec.quantize(x[:, :1000], "Q8_0")
    with pytest.raises(TypeError, match="not int64"):
        ggufspec.quantize(np.zeros((2, 32), np.int64), "Q8_0")
    with pytest.raises(ValueError, match="at least one dimension"):
        ggufspec.quantize(np.float32(1), "F16")
    with pytest.raises(ValueError, match="backend must be"):
        ggufspec.quantize(x, "Q8_0", backend="cuda")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="non_finite must be"):
        ggufspec.quantize(x, "Q8_0", non_finite="keep")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads must be at least 1"):
        ggufspec.quantize(x, "Q8_0", threads=0)
    with pytest.raises(ValueError, match=r"importance has shape \(7,\)"):
        ggufspec.quantize(x, "Q8_0", np.ones(7, np.float32))
    with pytest.raises(TypeError, match=r"threads is an integer or None, not 1\.5"):
        ggufspec.quantize(x, "Q8_0", threads=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="clamp_scales is True or False, not 'x'"):
        ggufspec.quantize(x, "Q8_0", clamp_scales="x")  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
def test_importance_is_ignored_where_the_search_has_none(backend: Backend) -> None:
    x = _rows()
    plain = [name for name, quantizer in QUANTIZERS.items() if quantizer.weighted is None]
    for name in plain:
        found = ggufspec.quantize(x, name, np.ones(ROW, np.float32), backend=backend)
        assert np.array_equal(found, ggufspec.quantize(x, name, backend=backend)), name
