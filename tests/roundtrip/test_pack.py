"""``pack`` is the inverse of ``unpack`` for every byte string, in both back ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ggufspec import blocks
from ggufspec.registry import types
from support.samples import LAYOUTS, block_samples, first_difference, suffix_of

BACKENDS = ("numpy", "native")
WITH_TRITS = {"TQ1_0", "PTQ1_0"}
"""Types with base-3 bytes: 256 bytes for 243 numbers, so packing gives the canonical form."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_pack_inverts_unpack(name: str, order: blocks.ByteOrder, backend: blocks.Backend) -> None:
    for label, sample in block_samples(types[name]).items():
        codes = blocks.unpack(sample, name, backend=backend, byte_order=order)
        packed = blocks.pack(codes, name, backend=backend, byte_order=order)
        if name in WITH_TRITS:
            again = blocks.unpack(packed, name, backend=backend, byte_order=order)
            assert all(np.array_equal(codes[k].view("u1"), again[k].view("u1")) for k in codes)
            decoded = (blocks.dequantize(b, name, backend=backend) for b in (sample, packed))
            if order == "little":
                assert first_difference(*decoded) is None, label
            repacked = blocks.pack(again, name, backend=backend, byte_order=order)
            assert np.array_equal(repacked, packed), label
        else:
            assert np.array_equal(packed, sample), label


@pytest.mark.parametrize("name", LAYOUTS)
def test_back_ends_unpack_the_same(name: str) -> None:
    for label, sample in block_samples(types[name]).items():
        a, b = (blocks.unpack(sample, name, backend=backend) for backend in ("numpy", "native"))
        assert list(a) == list(b)
        for key in a:
            assert a[key].dtype == b[key].dtype, (label, key)
            assert a[key].shape == b[key].shape, (label, key)
            assert np.array_equal(a[key].view("u1"), b[key].view("u1")), (label, key)


@pytest.mark.parametrize("name", LAYOUTS)
def test_byte_order_is_the_fields(name: str) -> None:
    """Swapped bytes read as big-endian are the same block; swapping twice changes nothing."""
    suffix = suffix_of(types[name])
    turned = None if suffix is None else blocks.swap_suffix(suffix, name)
    for label, sample in block_samples(types[name]).items():
        swapped = blocks.byteswap(sample, name)
        for backend in BACKENDS:
            how: dict[str, Any] = {"backend": backend}
            little = blocks.dequantize(sample, name, suffix=suffix, **how)
            big = blocks.dequantize(swapped, name, suffix=turned, byte_order="big", **how)
            assert first_difference(little, big) is None, label
        assert np.array_equal(blocks.byteswap(swapped, name), sample)


def test_trit_bytes_cover_all_numbers() -> None:
    """Each of the 243 numbers of five trits packs to the byte that ggml writes."""
    numbers = np.arange(243)
    digits = np.stack([numbers // 3 ** (4 - n) % 3 for n in range(5)], axis=1)
    q = np.ones((243, 256), np.uint8)
    q[:, 0:160:32] = digits
    packed = blocks.pack({"d": np.zeros(243, np.float16), "q": q}, "TQ1_0", backend="numpy")
    assert np.array_equal(packed[:, 0], (numbers * 256 + 242) // 243)


@pytest.mark.parametrize("backend", BACKENDS)
def test_codes_out_of_range_are_refused(backend: blocks.Backend) -> None:
    codes = blocks.unpack(np.zeros((2, 18), np.uint8), "Q4_0", backend=backend)
    codes["q"] = codes["q"] + 16
    with pytest.raises(ValueError, match=r"code q leaves its range 0\.\.15"):
        blocks.pack(codes, "Q4_0", backend=backend)
