"""The C kernels give the bits of NumPy's on other processors, big-endian ones too."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from ggufspec import blocks
from ggufspec.blocks import checks
from ggufspec.registry import types
from support.build import run
from support.machines import Machine, compiled
from support.samples import LAYOUTS, block_samples, first_difference

pytestmark = pytest.mark.slow

MOST_BLOCKS = 512
CONDITIONS = 8 * 8
"""Bytes of the counts of what breaks conditions."""
ALONE = [name for name in LAYOUTS if not types[name].info.tensor_suffix]
"""Types whose blocks say all: the request has no room for what stands behind a tensor."""


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("name", ALONE)
def test_kernels_give_the_same_bits(
    machine: Machine, here: Path, name: str, order: blocks.ByteOrder
) -> None:
    kind = types[name]
    data = np.concatenate([part[:MOST_BLOCKS] for part in block_samples(kind).values()])
    request = struct.pack("<32s3I", name.encode(), order == "big", len(data), 1)
    answer = run(compiled(machine, here / "kernels.c"), request + data.tobytes())

    floats = blocks.dequantize(data, name, backend="numpy", byte_order=order)
    arrays = blocks.unpack(data, name, backend="numpy", byte_order=order)
    packed = blocks.pack(arrays, name, backend="numpy", byte_order=order)

    got = np.frombuffer(answer, "<f4", floats.size).reshape(floats.shape)
    assert first_difference(got, floats) is None
    rest = answer[floats.nbytes :]
    assert rest[-packed.nbytes :] == packed.tobytes()
    codes, counts = rest[: -packed.nbytes - CONDITIONS], rest[: -packed.nbytes][-CONDITIONS:]
    assert codes == b"".join(array.tobytes() for array in arrays.values())
    broken = checks.count_broken(data, kind, backend="numpy", byte_order=order)
    assert [count for count in np.frombuffer(counts, "<u8").tolist() if count] == list(
        broken.values()
    )
