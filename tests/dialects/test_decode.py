"""Fork types against computations written from their descriptions, on every back end."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import ggufspec
from ggufspec import blocks
from ggufspec.blocks import Backend
from ggufspec.registry import types
from support import crafted, forks
from support.samples import block_samples, first_difference

Order = Literal["little", "big"]
SIGNS = {"little": "<", "big": ">"}


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("name", ["STQ1_0", "PQ2_0", "PTQ1_0"])
def test_blocks(name: str, order: Order, backend: Backend) -> None:
    """Random and hostile blocks, few enough of each kind for a computation in Python."""
    for label, sample in block_samples(types[name], seed=3).items():
        some = np.ascontiguousarray(sample[:24])
        found = blocks.dequantize(some, name, backend=backend, byte_order=order)
        expected = forks.decode(name, some.tobytes(), SIGNS[order])
        assert first_difference(found.reshape(-1), expected) is None, label


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("scale", [0.0371, -2.5, 0.0, float("inf"), float("nan"), 1e-45])
def test_i2_s(scale: float, order: Order, backend: Backend) -> None:
    """One scale for all rows of a tensor, behind its codes."""
    rows = np.random.default_rng(1).integers(0, 256, (5, 96), np.uint8)
    suffix = np.zeros(32, np.uint8)
    suffix[:4] = np.array([scale], SIGNS[order] + "f4").view(np.uint8)
    found = blocks.dequantize(rows, "I2_S", backend=backend, byte_order=order, suffix=suffix)
    assert found.shape == (5, 384)
    expected = forks.decode("I2_S", rows.tobytes() + suffix.tobytes(), SIGNS[order])
    assert first_difference(found.reshape(-1), expected) is None


@pytest.mark.parametrize("name", ["STQ1_0", "PQ2_0", "PTQ1_0", "I2_S"])
def test_pack_inverts_unpack(name: str, backend: Backend) -> None:
    kind = types[name]
    for label, sample in block_samples(kind, seed=4).items():
        codes = blocks.unpack(sample, name, backend=backend)
        packed = blocks.pack(codes, name, backend=backend)
        if name != "PTQ1_0":  # bytes that are no digits take the form that is written
            assert np.array_equal(packed, sample), label
        again = blocks.unpack(packed, name, backend=backend)
        for code, values in codes.items():
            assert np.array_equal(values.view(np.uint8), again[code].view(np.uint8)), (label, code)


def test_known_values() -> None:
    """A block of each type, worked out on paper."""
    d = forks.half(0.5)
    stq = bytes([0x10]) + bytes(31) + bytes([1]) + bytes(7) + d
    found = ggufspec.dequantize(np.frombuffer(stq, np.uint8), "STQ1_0")
    assert found[0::16][:4].tolist() == [0.0, -0.5, -0.5, -0.5]  # group 0: sign 1, slot 0: 01
    assert found[1::16][:4].tolist() == [0.0, 0.5, -0.5, 0.5]  # group 1: sign 0, slot 1: 89

    pq2 = d + bytes([0b11_10_01_00]) + bytes(31)
    found = ggufspec.dequantize(np.frombuffer(pq2, np.uint8), "PQ2_0")
    assert found[:5].tolist() == [-0.5, 0.0, 0.5, 1.0, -0.5]

    digits = -(-(2 * 81 + 1 * 27 + 0 * 9 + 2 * 3 + 1) * 256 // 243)  # 2 1 0 2 1
    ptq = bytes([digits]) + bytes(25) + d
    found = ggufspec.dequantize(np.frombuffer(ptq, np.uint8), "PTQ1_0")
    assert found[0:80:16].tolist() == [0.5, 0.0, -0.5, 0.5, 0.0]

    i2s = bytes([0b10_00_01_10]) + bytes(31)
    suffix = np.frombuffer(np.float32(3).tobytes() + bytes(28), np.uint8)
    found = blocks.dequantize(np.frombuffer(i2s, np.uint8), "I2_S", suffix=suffix)
    assert found[0:128:32].tolist() == [3.0, -3.0, 0.0, 3.0]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("number", "name", "dialect"),
    [
        (36, "I2_S", "bitnet.cpp"),
        (42, "PQ2_0", "prism-early"),
        (42, "STQ1_0", "tencent"),
        (43, "STQ1_0", "tencent"),
        (142, "PQ2_0", "prism"),
        (143, "PTQ1_0", "prism"),
    ],
)
def test_in_a_file(number: int, name: str, dialect: str, order: Order) -> None:
    """The whole way: dialect, size, data, decoded values, both byte orders."""
    form = crafted.Form(order=order)
    one = forks.entry("w", [512, 3, 2], number, name, seed=number)
    data = forks.model([forks.plain("a"), one, forks.plain("z", 3)], form=form)
    with ggufspec.open(data) as f:
        tensor = f.tensors["w"]
        assert (f.dialect, f.fitting, tensor.type) == (dialect, (dialect,), name)
        assert (tensor.type_id, tensor.shape) == (number, (2, 3, 512))
        assert tensor.nbytes == len(one.data)
        rows = 1 if name == "I2_S" else 6
        assert tensor.data.shape == (rows, len(one.data) // rows)
        assert tensor.data.tobytes() == one.data
        expected = forks.decode(name, one.data, SIGNS[order]).reshape(2, 3, 512)
        assert first_difference(tensor.dequantize(), expected) is None
        out = np.empty((2, 3, 512), np.float32)
        assert tensor.dequantize(out=out) is out
        assert first_difference(out, expected) is None
        assert b"".join(bytes(piece) for piece in tensor.chunks()) == one.data


@pytest.mark.parametrize("name", ["STQ1_0", "PQ2_0", "PTQ1_0", "I2_S"])
def test_byte_order(name: str) -> None:
    """The bytes in the other order decode to the same values."""
    number = {"STQ1_0": 43, "PQ2_0": 142, "PTQ1_0": 143, "I2_S": 36}[name]
    one = forks.entry("w", [256, 4], number, name)
    with ggufspec.open(forks.model([one])) as f:
        values = f.tensors["w"].dequantize()
        swapped = b"".join(bytes(piece) for piece in f.tensors["w"].chunks("big"))
    turned = forks.model([one._replace(data=swapped)], form=crafted.Form(order="big"))
    with ggufspec.open(turned) as f:
        assert first_difference(f.tensors["w"].dequantize(), values) is None
