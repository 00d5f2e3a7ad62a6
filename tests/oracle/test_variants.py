"""Every build of the C kernels that this processor runs: the same bits, inside the bounds."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

import numpy as np
import pytest

from ggufspec import blocks
from ggufspec.registry import types
from support.samples import LAYOUTS, block_samples, first_difference, suffix_of
from support.variants import VARIANTS, using

BLOCKS = (1, 2, 7, 32, 33, 63)
_NONE, _READ_WRITE = 0, mmap.PROT_READ | mmap.PROT_WRITE


@pytest.fixture(params=VARIANTS, autouse=True)
def variant(request: pytest.FixtureRequest) -> Iterator[None]:
    with using(request.param):
        yield


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_equals_numpy(name: str, order: blocks.ByteOrder) -> None:
    tail = suffix_of(types[name])
    for label, sample in block_samples(types[name], seed=1).items():
        native = blocks.dequantize(sample, name, backend="native", byte_order=order, suffix=tail)
        numpy = blocks.dequantize(sample, name, backend="numpy", byte_order=order, suffix=tail)
        assert first_difference(native, numpy) is None, label


@pytest.fixture(scope="module")
def fenced() -> Iterator[ctypes.Array[ctypes.c_char]]:
    """A buffer between two pages that must not be touched."""
    page, pages = mmap.PAGESIZE, 16
    region = mmap.mmap(-1, (pages + 2) * page)
    whole = (ctypes.c_char * len(region)).from_buffer(region)
    start = ctypes.addressof(whole)
    protect = ctypes.CDLL(None).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    fences = (start, start + (pages + 1) * page)
    for fence in fences:
        assert protect(fence, page, _NONE) == 0
    yield (ctypes.c_char * (pages * page)).from_address(start + page)
    for fence in fences:
        protect(fence, page, _READ_WRITE)


@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_beside_the_blocks_is_read(name: str, fenced: ctypes.Array[ctypes.c_char]) -> None:
    """Blocks right behind a forbidden page, then right before one: a stray load would crash."""
    buffer = np.frombuffer(fenced, np.uint8)
    kind, tail = types[name], suffix_of(types[name])
    rng = np.random.default_rng(2)
    for count in BLOCKS:
        size = count * kind.bytes
        stored = rng.integers(0, 256, size, np.uint8)
        for place in (buffer[:size], buffer[len(buffer) - size :]):
            place[...] = stored
            native = blocks.dequantize(place[None], name, backend="native", suffix=tail)
            numpy = blocks.dequantize(stored[None], name, backend="numpy", suffix=tail)
            assert first_difference(native, numpy) is None, count
