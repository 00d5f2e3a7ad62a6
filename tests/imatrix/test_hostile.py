"""Whatever the bytes: a matrix or an ImatrixError, in memory that the file accounts for."""

from __future__ import annotations

import struct
import tracemalloc
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ggufspec.imatrix import ImatrixError, imatrix_metadata, read_imatrix
from support import imatrix

SHAPES = [(4,), (3, 4), (2, 3, 4), (1, 1, 2, 2), (0,), (2, 0, 4)]

GGUF = imatrix.gguf_form({"a": ([[1, 2, 3, 4]], [2]), "bc": ([[1, 2], [3, 4]], [0.5, 0])}, ["d"])
DAT = imatrix.dat_form({"a": (2, [1, 2, 3, 4]), "bc": (0, [1, 2])})

NUMBERS = st.sampled_from([
    0, 1, 2, 5, 0xFF, 0x7FC00000, 0x7F800001, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 5,
])  # fmt: skip
"""Lengths, counts, types and floats that a reader trips over."""


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A matrix with some bytes or numbers changed, perhaps cut or longer than it was."""
    data = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data) - 1))
        if draw(st.booleans()):
            data[at] = draw(st.integers(0, 255))
        else:
            number = struct.pack("=I", draw(NUMBERS))
            data[at : at + 4] = number[: len(data) - at]
    end = draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))
    return bytes(data[:end]) + draw(st.one_of(st.just(b""), st.binary(max_size=9)))


FILES = st.one_of(
    st.binary(max_size=200),
    st.binary(max_size=100).map(b"GGUF\3\0\0\0".__add__),
    damaged(DAT),
    damaged(GGUF),
)


def _use(path: Path) -> None:
    """All that a command does with a matrix."""
    matrix = read_imatrix(path)
    imatrix_metadata(matrix.select(["a"]))
    for name in (*matrix.entries, "none"):
        for shape in SHAPES:
            with suppress(ImatrixError):
                matrix.importance(name, shape)
    matrix.check()


@given(data=FILES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_matrix_or_one_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "matrix"
    path.write_bytes(data)
    with suppress(ImatrixError):
        _use(path)


@pytest.mark.parametrize("whole", [GGUF, DAT], ids=["GGUF", "dat"])
def test_every_place_where_a_file_can_be_cut(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "matrix"
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        try:
            _use(path)
        except ImatrixError:
            continue
        # What may be missing: the padding behind the last tensor, the trailer of a .dat.
        assert whole[:4] == b"GGUF" or end == len(DAT) - 17 or end == len(DAT) - 13
        assert whole[:4] != b"GGUF" or end >= len(GGUF) - 24


@pytest.mark.parametrize("at", range(len(DAT) - 20))
def test_large_numbers_allocate_nothing(at: int, tmp_path: Path) -> None:
    path = tmp_path / "matrix"
    data = bytearray(DAT)
    data[at : at + 4] = struct.pack("=i", 2**31 - 1)
    path.write_bytes(data)
    tracemalloc.start()
    try:
        with suppress(ImatrixError):
            _use(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
