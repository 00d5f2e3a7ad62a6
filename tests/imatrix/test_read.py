"""Both forms of an importance matrix, as llama-quantize's loader takes them."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggufspec.imatrix import Imatrix, ImatrixError, read_imatrix
from support import imatrix
from support.crafted import ARRAY, F16, INT32, UINT32, V3, Form

Read = Callable[[bytes], Imatrix]

ENTRIES: dict[str, tuple[Any, Any]] = {
    "blk.0.ffn_down.weight": ([[1, 2, 3, 4]], [2]),
    "blk.0.ffn_up_exps.weight": ([[1, 2], [3, 4], [0, 0]], [3, 1, 0]),
}


@pytest.fixture(name="read")
def _read(tmp_path: Path) -> Read:
    def read(data: bytes) -> Imatrix:
        path = tmp_path / "matrix"
        path.write_bytes(data)
        return read_imatrix(path)

    return read


def test_the_real_one() -> None:
    matrix = read_imatrix(str(imatrix.SMOLLM2))
    assert matrix.path == str(imatrix.SMOLLM2)
    assert (matrix.datasets, matrix.chunk_count, len(matrix.entries)) == (("calib.txt",), 12, 210)
    matrix.check()
    theirs = imatrix.expected(imatrix.SMOLLM2)
    assert set(matrix.entries) == set(theirs)
    for name, values in theirs.items():
        assert matrix.entries[name].means().tobytes() == values.tobytes(), name


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_gguf_of_every_version_and_byte_order(read: Read, version: int, order: Any) -> None:
    matrix = read(imatrix.gguf_form(ENTRIES, ["a", "b"], 7, form=Form(version, order)))
    assert (matrix.datasets, matrix.chunk_count) == (("a", "b"), 7)
    assert list(matrix.entries) == list(ENTRIES)
    for name, (sums, counts) in ENTRIES.items():
        entry = matrix.entries[name]
        assert entry.sums.dtype == np.float32
        assert entry.sums.tolist() == sums
        assert entry.counts.tolist() == counts
    assert matrix.entries["blk.0.ffn_up_exps.weight"].unseen == (2,)


def test_counts_are_rounded_halves_away_from_zero(read: Read) -> None:
    counts = [0.4, 0.5, 1.5, 2.5, -0.5, 16777217.0, 0.49999997]
    matrix = read(imatrix.gguf_form({"w": (np.ones((7, 2)), counts)}))
    assert matrix.entries["w"].counts.tolist() == [0, 1, 2, 3, -1, 16777216, 0]
    assert matrix.entries["w"].unseen == (0, 4, 6)


def test_tensors_of_other_names_are_no_entries(read: Read) -> None:
    tensors = {
        "w.in_sum2": np.ones((1, 4), np.float32),
        "w.counts": np.ones((1, 1), np.float32),
        "w.weight": np.ones((1, 4), np.float32),
    }
    assert list(read(imatrix.with_tensors(tensors, imatrix.pairs())).entries) == ["w"]


def test_the_older_form(read: Read) -> None:
    values = np.array([1, 2, 4], np.float32)
    matrix = read(imatrix.dat_form({"b": (3, values), "a": (0, values)}))
    assert (matrix.datasets, matrix.chunk_count) == (("calib.txt",), 12)
    assert list(matrix.entries) == ["b", "a"]
    # Without calls llama-quantize takes the values as they are.
    assert matrix.entries["a"].means().tolist() == [[1, 2, 4]]
    means = values / np.float32(3)
    assert matrix.entries["b"].means().tobytes() == means.tobytes()
    assert matrix.entries["b"].sums.flags.aligned


@pytest.mark.parametrize(
    ("chunks", "dataset", "expected"),
    [
        (None, None, ((), 0)),
        (5, None, ((), 5)),
        (5, "", ((), 5)),
        (-5, "x", (("x",), 0)),
        (5, b"a\xff", (("a\udcff",), 5)),
        (5, b"a\0b", (("a",), 5)),
    ],
)
def test_the_older_form_may_end_early(
    read: Read, chunks: int | None, dataset: Any, expected: Any
) -> None:
    matrix = read(imatrix.dat_form({"w": (1, [1])}, chunks, dataset))
    assert (matrix.datasets, matrix.chunk_count) == expected


def test_of_entries_with_the_same_name_the_last_counts(read: Read) -> None:
    one, two = (imatrix.dat_form({"w": (1, [value])}, None, None)[4:] for value in (1, 2))
    matrix = read(struct.pack("=i", 2) + one + two)
    assert matrix.entries["w"].sums.tolist() == [[2]]


def test_arrays_outlive_the_file(tmp_path: Path) -> None:
    for data in (imatrix.gguf_form(ENTRIES), imatrix.dat_form({"w": (1, [1])})):
        path = tmp_path / "matrix"
        path.write_bytes(data)
        matrix = read_imatrix(path)
        before = {name: entry.means().tolist() for name, entry in matrix.entries.items()}
        path.write_bytes(b"")
        assert {name: entry.means().tolist() for name, entry in matrix.entries.items()} == before


def _without(key: str) -> bytes:
    kept = [pair for pair in imatrix.pairs() if key.encode() not in pair]
    return imatrix.with_tensors({"w.in_sum2": np.ones((1, 1), np.float32)}, kept)


def _of(**tensors: Any) -> bytes:
    arrays = {
        f"w.{name}": np.asarray(values, np.float32).reshape(-1, 1)
        for name, values in tensors.items()
    }
    return imatrix.with_tensors(arrays, imatrix.pairs())


def _wrong_key_type(key: str, pair: bytes) -> bytes:
    kept = [other for other in imatrix.pairs() if key.encode() not in other]
    return imatrix.with_tensors({"w.in_sum2": np.ones((1, 1), np.float32)}, [*kept, pair])


WRONG_GGUF = {
    "no datasets": (_without("imatrix.datasets"), "there is no key imatrix.datasets"),
    "no chunk count": (_without("chunk_count"), "there is no key imatrix.chunk_count"),
    "no chunk size": (_without("chunk_size"), "there is no key imatrix.chunk_size"),
    "count of another type": (
        _wrong_key_type("chunk_count", V3.pair("imatrix.chunk_count", INT32, V3.number(-1, 4))),
        "imatrix.chunk_count is INT32, not UINT32",
    ),
    "count is an array": (
        _wrong_key_type("chunk_size", V3.pair("imatrix.chunk_size", ARRAY, V3.array(UINT32, 0))),
        r"imatrix.chunk_size is ARRAY\[UINT32\], not UINT32",
    ),
    "no tensors": (imatrix.with_tensors({}, imatrix.pairs()), "without entries"),
    "no counts": (_of(in_sum2=[1]), "tensor 'w': w.counts is missing"),
    "no sums": (_of(counts=[1]), "tensor 'w': w.in_sum2 is missing"),
    "counts do not divide": (
        _of(in_sum2=[1, 2, 3], counts=[1, 1]),
        "tensor 'w': 3 sums cannot be shared among 2 counts",
    ),
    "no values": (_of(in_sum2=[], counts=[1]), "0 sums cannot be shared among 1 counts"),
    "no counts at all": (_of(in_sum2=[1], counts=[]), "1 sums cannot be shared among 0 counts"),
    "count is no number": (_of(in_sum2=[1, 1], counts=[1, np.nan]), "count of expert 1 is nan"),
    "count too large": (_of(in_sum2=[1], counts=[2.0**63]), r"count of expert 0 is 9\.2"),
    "halves": (
        imatrix.with_tensors(
            {"w.in_sum2": np.ones((1, 2), np.float32), "w.counts": np.ones((1, 2), np.float32)},
            imatrix.pairs(),
            kind=F16,
        ),
        "tensor 'w': w.in_sum2 is F16, not F32",
    ),
    "cut": (imatrix.gguf_form(ENTRIES)[:-40], "beyond the end|outside|ends"),
    "magic only": (b"GGUF", "header.version needs 4 more bytes"),
}


@pytest.mark.parametrize("case", WRONG_GGUF)
def test_wrong_gguf(read: Read, case: str) -> None:
    data, message = WRONG_GGUF[case]
    with pytest.raises(ImatrixError, match=message) as caught:
        read(data)
    assert caught.value.file.endswith("matrix")
    assert caught.value.tensor == ("w" if "'w'" in caught.value.message else "")


def _dat(*numbers: int, tail: bytes = b"") -> bytes:
    return struct.pack(f"={len(numbers)}i", *numbers) + tail


WRONG_DAT = {
    "empty": (b"", "the number of entries: 4 bytes, 0 are left"),
    "text": (b"no matrix at all, only words", "entries in 28 bytes"),
    "no entries": (_dat(0), "0 entries"),
    "entries below zero": (_dat(-1), "-1 entries"),
    "more entries than bytes": (_dat(2**31 - 1, tail=bytes(64)), "2147483647 entries in 68 bytes"),
    "name below zero": (_dat(1, -1, tail=bytes(64)), "entry 0: its name: -1 bytes"),
    "name too long": (_dat(1, 2**31 - 1, tail=bytes(64)), "its name: 2147483647 bytes"),
    "no values": (_dat(1, 1, tail=b"w" + _dat(1, 0, 0, 0)), r"entry 0 \('w'\) has 0 values"),
    "values below zero": (_dat(1, 1, tail=b"w" + _dat(1, -3, 0, 0)), "has -3 values"),
    "values too many": (
        _dat(1, 1, tail=b"w" + _dat(1, 2**31 - 1, 0)),
        r"entry 0 \('w'\): its values: 8589934588 bytes, 4 are left",
    ),
    "second entry missing": (
        imatrix.dat_form({"w": (1, [1] * 9)}, None, None).replace(_dat(1), _dat(2), 1),
        "entry 1: the length of its name: 4 bytes, 0 are left",
    ),
    "trailer cut": (imatrix.dat_form({"w": (1, [1])}, None, None) + b"\1\0", "number of chunks"),
    "dataset cut": (imatrix.dat_form({"w": (1, [1])})[:-1], "the dataset's name: 9 bytes, 8 are"),
}


@pytest.mark.parametrize("case", WRONG_DAT)
def test_wrong_older_form(read: Read, case: str) -> None:
    data, message = WRONG_DAT[case]
    with pytest.raises(ImatrixError, match=message) as caught:
        read(data)
    assert "neither a GGUF file nor the older form" in str(caught.value)


def test_a_model_is_no_matrix(read: Read) -> None:
    data = imatrix.with_tensors({"w": np.ones((1, 32), np.float32)}, [])
    with pytest.raises(ImatrixError, match="is it a model that was given"):
        read(data)


def test_what_the_system_refuses(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_imatrix(tmp_path / "none.gguf")
    with pytest.raises(IsADirectoryError):
        read_imatrix(tmp_path)
    with pytest.raises(TypeError, match="a str or a PathLike"):
        read_imatrix(b"matrix")  # type: ignore[arg-type]


def test_errors_survive_pickling() -> None:
    error = ImatrixError("what", file="f", tensor="t", hint="h")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.tensor) == ("f: what (h)", "t")
