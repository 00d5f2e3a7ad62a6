"""What a matrix says about tensors: selection, division, sizes, and notes for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggufspec.files.values import Value
from ggufspec.imatrix import Imatrix, ImatrixError, imatrix_metadata, read_imatrix
from support import imatrix

Make = Callable[..., Imatrix]


@pytest.fixture(name="make")
def _make(tmp_path: Path) -> Make:
    def make(entries: dict[str, tuple[Any, Any]], **options: Any) -> Imatrix:
        path = tmp_path / "matrix.gguf"
        path.write_bytes(imatrix.gguf_form(entries, **options))
        return read_imatrix(path)

    return make


def _names(*names: str) -> dict[str, tuple[Any, Any]]:
    return {name: ([[1]], [1]) for name in names}


def test_selection(make: Make) -> None:
    q, k, up = "blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.10.ffn_up.weight"
    matrix = make(_names(q, k, up))
    assert set(matrix.select().entries) == {q, k, up}
    assert set(matrix.select(["attn"]).entries) == {q, k}
    assert set(matrix.select(["attn_q", "attn", "ffn"]).entries) == {q, k, up}
    assert set(matrix.select(["blk.1"]).entries) == {up}
    assert set(matrix.select([], ["attn_q", "ffn"]).entries) == {k}
    assert set(matrix.select([""]).entries) == {q, k, up}
    assert not matrix.select(["Attn"]).entries
    assert not matrix.select(exclude=[""]).entries
    assert matrix.select(["attn"]).chunk_count == matrix.chunk_count
    with pytest.raises(ValueError, match="included or excluded, not both"):
        matrix.select(["a"], ["b"])


def test_values_are_one_float32_division(make: Make) -> None:
    rng = np.random.default_rng(0)
    sums = (rng.random((3, 256)) * 10.0 ** rng.integers(-44, 38, (3, 256))).astype(np.float32)
    counts = [3, 16777217, 977]
    found = make({"w": (sums, counts)}).importance("w", (3, 5, 256))
    assert found.values is not None
    assert found.values.shape == (3, 256)
    for expert, count in enumerate(counts):
        expected = sums[expert] / np.float32(count)
        assert found.values[expert].tobytes() == expected.tobytes()
    assert found.notes == ()


def test_shapes(make: Make) -> None:
    matrix = make({"dense": ([range(8)], [2]), "experts": ([range(4), range(4, 8)], [2, 4])})
    halves = np.arange(8, dtype=np.float32) / 2
    for shape in ((8,), (3, 8), (1, 3, 8)):
        values = matrix.importance("dense", shape).values
        assert values is not None
        assert values.tolist() == halves.tolist()
    # A tensor of three dimensions without experts has one count for all of its matrices.
    values = matrix.importance("dense", (2, 3, 4)).values
    assert values is not None
    assert values.tolist() == halves.reshape(2, 4).tolist()
    values = matrix.importance("experts", (2, 3, 4)).values
    assert values is not None
    assert values.tolist() == [[0, 0.5, 1, 1.5], [1, 1.25, 1.5, 1.75]]


@pytest.mark.parametrize("shape", [(4,), (9, 16), (2, 3, 8), (8, 3, 4), (1, 1, 3, 8)])
def test_sizes_that_do_not_fit(make: Make, shape: tuple[int, ...]) -> None:
    entry = ([range(8)], [1])
    matrix = make({"blk.0.w": entry, "token_embd.weight": entry})
    what = "takes no importance" if len(shape) == 4 else r"has 8 values for it.*shape.* takes \d+"
    with pytest.raises(ImatrixError, match=rf"tensor 'blk\.0\.w': .*{what}") as caught:
        matrix.importance("blk.0.w", shape)
    assert caught.value.tensor == "blk.0.w"
    found = matrix.importance("token_embd.weight", shape)
    assert found.values is None
    assert "quantized without importance" in found.notes[0]


def test_a_missing_entry_is_noted(make: Make) -> None:
    found = make(_names("a")).importance("b", (1, 1))
    assert found.values is None
    assert found.notes == ("the importance matrix has no entry for it",)


def test_experts_never_seen_count_as_ones(make: Make) -> None:
    sums = np.full((12, 2), np.nan)
    sums[4] = 6
    matrix = make({"w": (sums, [0, 0, 0, -1, 3, *[0] * 7]), "one": (sums[:2], [0, 0])})
    found = matrix.importance("w", (12, 3, 2))
    assert found.values is not None
    assert found.values.tolist() == [[2, 2] if expert == 4 else [1, 1] for expert in range(12)]
    assert found.notes == (
        "experts 0, 1, 2, 3, 5, 6, 7, 8 and 3 more of 12 were never seen when the matrix was made: "
        "their weights count as one",
    )
    matrix.check()
    assert "experts 0, 1 of 2" in matrix.importance("one", (2, 3, 2)).notes[0]


def test_a_tensor_never_seen(make: Make) -> None:
    found = make({"w": ([[0, 0]], [0])}).importance("w", (3, 2))
    assert found.values is not None
    assert found.values.tolist() == [1, 1]
    assert "all its weights count as one" in found.notes[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(make: Make, value: float) -> None:
    sums = np.ones((2, 4), np.float32)
    sums[1, 2] = value
    matrix = make({"a": ([[1, value]], [1]), "w": (sums, [1, 2]), "z": ([[1, 1]], [1])})
    with pytest.raises(ImatrixError, match=rf"tensor 'a', column 1: .* is {value}, not finite"):
        matrix.check()
    with pytest.raises(ImatrixError, match=r"tensor 'w', column 2 of expert 1: "):
        matrix.importance("w", (2, 3, 4))
    assert matrix.importance("z", (5, 2)).values is not None
    matrix.select(exclude=["a", "w"]).check()


def test_signalling_nans_raise_nothing_else(make: Make) -> None:
    sums = np.array([[0x7F800001, 0]], np.uint32).view(np.float32)
    with pytest.raises(ImatrixError, match="tensor 'w', column 0"):
        make({"w": (sums, [1])}).check()


def test_keys_as_llama_quantize_writes_them(make: Make) -> None:
    matrix = make(_names("a", "b"), datasets=["first", "second"], chunk_count=9)
    found = imatrix_metadata(matrix)
    assert list(found.items()) == [
        ("quantize.imatrix.file", Value("STRING", matrix.path)),
        ("quantize.imatrix.dataset", Value("STRING", "first")),
        ("quantize.imatrix.entries_count", Value("UINT32", 2)),
        ("quantize.imatrix.chunks_count", Value("UINT32", 9)),
    ]
    found = imatrix_metadata(matrix.select(["a"]))
    assert found["quantize.imatrix.entries_count"].value == 1
    assert imatrix_metadata(matrix.select(["none"])) == {}
    found = imatrix_metadata(make(_names("a"), datasets=[], chunk_count=0))
    assert list(found) == ["quantize.imatrix.file", "quantize.imatrix.entries_count"]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("x" * 127, "x" * 127),
        ("x" * 128, "x" * 127),
        ("x" * 126 + "é", b"x" * 126 + b"\xc3"),
        (b"\xff" * 200, b"\xff" * 127),
        ("a\0b", "a"),
        ("", ""),
    ],
)
def test_strings_are_cut_at_127_bytes(make: Make, name: Any, stored: Any) -> None:
    found = imatrix_metadata(make(_names("a"), datasets=[name]))
    assert found["quantize.imatrix.dataset"] == Value("STRING", stored)


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**32 - 1])
def test_a_chunk_count_is_an_int_there(make: Make, count: int) -> None:
    found = imatrix_metadata(make(_names("a"), chunk_count=count))
    assert ("quantize.imatrix.chunks_count" in found) == (count < 2**31)
