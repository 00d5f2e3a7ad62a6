"""Tensors without values whose other axes are too long for an array."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import ggufspec
from support.crafted import ARCHITECTURE, F32, I8, V3, file

BF16, Q4_0, Q8_0 = 30, 2, 8
SHAPES = ([0, 1 << 61], [1 << 61, 0], [3314649325744685056, 0, 0, 0], [(1 << 62) - 32, 0])


@pytest.mark.parametrize("kind", [F32, I8, BF16, Q4_0, Q8_0])
@pytest.mark.parametrize("dims", SHAPES, ids=str)
def test_no_array_has_that_shape(dims: list[int], kind: int) -> None:
    data = file([ARCHITECTURE], [V3.tensor("t", dims, kind)], bytes(32))
    with ggufspec.open(data) as f:
        tensor = f.tensors["t"]
        assert tensor.nbytes == 0
        assert list(tensor.chunks()) == []  # copying it is no problem
        for make in (lambda: tensor.data, tensor.dequantize):
            with pytest.raises(ggufspec.GGUFError, match="GG0513"):
                make()
        if kind in (F32, I8, BF16):
            with pytest.raises(ggufspec.GGUFError, match="GG0513"):
                tensor.array()


@pytest.mark.parametrize("dims", [[0], [4, 0], [0, 4], [32, 0, 1 << 40]], ids=str)
def test_small_ones_are_empty_arrays(dims: list[int]) -> None:
    data = file([ARCHITECTURE], [V3.tensor("t", dims, F32)], bytes(32))
    with ggufspec.open(data) as f:
        assert f.tensors["t"].dequantize().shape == tuple(reversed(dims))
        assert f.tensors["t"].array().shape == tuple(reversed(dims))


@pytest.mark.parametrize("backend", ["native", "numpy"])
@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 18)], ids=str)
def test_rows_of_nothing(shape: tuple[int, int], backend: Literal["native", "numpy"]) -> None:
    out = ggufspec.dequantize(np.empty(shape, np.uint8), "Q4_0", backend=backend)
    assert out.shape == (shape[0], shape[1] // 18 * 32)
