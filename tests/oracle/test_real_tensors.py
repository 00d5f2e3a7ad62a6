"""Every tensor of the real models decodes to ggml's bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import ggufspec
from ggufspec.files.tensor import Tensor
from support import oracle, realfiles
from support.samples import first_difference

TILE = 1 << 22
"""Weights compared at a time."""


def tiles(tensor: Tensor) -> Iterator[slice]:
    """Rows in runs of about TILE weights."""
    rows = len(tensor.data)
    step = max(1, TILE // max(1, tensor.shape[-1]))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


@pytest.mark.parametrize("model", ["smollm2", "gemma3"])
def test_every_tensor_decodes_as_in_ggml(model: str) -> None:
    with ggufspec.open(getattr(realfiles, model)()) as f:
        for tensor in f.tensors.values():
            whole = tensor.dequantize()
            assert whole.shape == tensor.shape
            flat = whole.reshape(len(tensor.data), -1)
            for part in tiles(tensor):
                theirs = oracle.dequantize(np.array(tensor.data[part]), tensor.type_id)
                assert first_difference(flat[part], theirs.reshape(flat[part].shape)) is None, (
                    tensor.name
                )
