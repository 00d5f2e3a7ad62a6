"""Split sets: any file opens all, and every way not to belong together has its own rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.files.shard_names import parse_shard_name, shard_name
from support.models import split_keys

COUNT = 3


def write_set(folder: Path, **changed: dict[str, Any]) -> list[Path]:
    """Three files, the first without tensors; `changed` are options of one file, by number."""
    tensors: list[dict[str, Any]] = [
        {},
        {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(1, np.int8)},
        {"c": np.full(5, 7, np.int16), "d": np.zeros(2, np.float16)},
    ]
    paths = []
    for number in range(COUNT):
        own = changed.get(f"file{number}", {})
        metadata = {"general.architecture": "llama", "llama.block_count": 2} if number == 0 else {}
        metadata |= split_keys(number, COUNT, 4) | own.get("metadata", {})
        metadata = {key: value for key, value in metadata.items() if value is not None}
        path = folder / own.get("name", shard_name("model", number + 1, COUNT))
        content = tensors[number] | own.get("tensors", {})
        ggufspec.write(path, metadata, content, **own.get("options", {}))
        paths.append(path)
    return paths


@pytest.mark.parametrize("opened", range(COUNT))
def test_any_file_opens_the_set(opened: int, tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    with ggufspec.open(paths[opened]) as f:
        assert f.paths == tuple(paths)
        assert f.size == sum(path.stat().st_size for path in paths)
        assert list(f.tensors) == ["a", "b", "c", "d"]
        assert [t.shard for t in f.tensors.values()] == [1, 1, 2, 2]
        assert [t.offset for t in f.tensors.values()] == [0, 32, 0, 32]
        assert f.metadata["llama.block_count"] == 2
        assert (f.metadata["split.no"], f.metadata["split.count"]) == (0, 3)
        assert f.tensors["a"].array().tolist() == [[0, 1, 2], [3, 4, 5]]
        assert f.tensors["c"].array().tolist() == [7] * 5
        first, last = f.tensors["a"], f.tensors["d"]
    for tensor in (first, last):
        with pytest.raises(ValueError, match="closed"):
            tensor.dequantize()


def test_a_relative_path_opens_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_set(tmp_path)
    monkeypatch.chdir(tmp_path)
    with ggufspec.open(paths[1].name) as f:
        assert len(f.tensors) == 4


def test_a_set_written_is_one_file(tmp_path: Path) -> None:
    whole = tmp_path / "whole.gguf"
    with ggufspec.open(write_set(tmp_path)[0]) as f:
        ggufspec.write(whole, f.metadata, f.tensors)
    with ggufspec.open(whole, profile="strict") as f:
        assert list(f.metadata) == ["general.architecture", "llama.block_count"]
        assert list(f.tensors) == ["a", "b", "c", "d"]
        assert f.tensors["d"].array().tolist() == [0, 0]


def test_files_of_a_set_are_written_back_as_they_were(tmp_path: Path) -> None:
    """One file alone, say for an editor of its metadata."""
    path = write_set(tmp_path)[0]
    with ggufspec.open(path) as f:
        values = {k: Value(f.metadata.type_of(k), f.metadata[k]) for k in f.metadata}
        ggufspec.write(tmp_path / "copy.gguf", values)
    assert (tmp_path / "copy.gguf").read_bytes() == path.read_bytes()


def test_files_with_their_own_default_alignment_belong_together(tmp_path: Path) -> None:
    """llama.cpp's splitter copies general.alignment to the first file alone."""
    paths = write_set(tmp_path, file0={"metadata": {"general.alignment": 64}})
    with ggufspec.open(paths[2]) as f:
        assert f.alignment == 64
        assert f.tensors["d"].offset == 32


BROKEN: dict[str, tuple[str, dict[str, Any]]] = {
    "name without numbers": ("GG0801", {"file1": {"name": "other.gguf"}}),
    "number is no number": ("GG0802", {"file1": {"metadata": {"split.no": Value("STRING", "1")}}}),
    "number is missing": ("GG0802", {"file1": {"metadata": {"split.no": None}}}),
    "count is a bool": ("GG0802", {"file1": {"metadata": {"split.count": Value("BOOL", True)}}}),
    "tensor count is negative": (
        "GG0802", {"file1": {"metadata": {"split.tensors.count": Value("INT32", -1)}}},
    ),
    "name counts from 0": ("GG0801", {"file1": {"name": "model-00000-of-00003.gguf"}}),
    "name and count disagree": ("GG0805", {"file1": {"name": "model-00002-of-00004.gguf"}}),
    "wrong number": ("GG0804", {"file1": {"metadata": {"split.no": Value("UINT16", 2)}}}),
    "numbers from 1": (
        "GG0804",
        {f"file{n}": {"metadata": {"split.no": Value("UINT16", n + 1)}} for n in range(3)},
    ),
    "another file counts otherwise": (
        "GG0805", {"file2": {"metadata": {"split.count": Value("UINT16", 4)}}},
    ),
    "another file is of no set": ("GG0802", {"file2": {"metadata": {"split.count": None}}}),
    "tensor twice": ("GG0806", {"file2": {"tensors": {"a": np.ones(1, np.int8)}}}),
    "tensor too many": ("GG0807", {"file2": {"tensors": {"e": np.ones(1, np.int8)}}}),
    "total disagrees": (
        "GG0807", {"file2": {"metadata": {"split.tensors.count": Value("INT32", 5)}}},
    ),
    "version": ("GG0808", {"file2": {"options": {"version": 2}}}),
    "alignment": ("GG0809", {"file2": {"metadata": {"general.alignment": 64}}}),
    "byte order": ("GG0810", {"file2": {"options": {"byte_order": "big"}}}),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_what_does_not_belong_together(broken: str, tmp_path: Path) -> None:
    code, changed = BROKEN[broken]
    paths = write_set(tmp_path, **changed)
    with pytest.raises(ggufspec.GGUFError) as caught:
        ggufspec.open(paths[1])
    assert caught.value.code == code
    assert caught.value.hint


def test_a_missing_file(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[2].unlink()
    with pytest.raises(
        ggufspec.GGUFError, match=r"model-00003-of-00003\.gguf is missing"
    ) as caught:
        ggufspec.open(paths[0])
    assert caught.value.code == "GG0803"


def test_swapped_files(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    data = [path.read_bytes() for path in paths]
    paths[1].write_bytes(data[2])
    paths[2].write_bytes(data[1])
    for path in paths:
        with pytest.raises(ggufspec.GGUFError) as caught:
            ggufspec.open(path)
        assert caught.value.code == "GG0804"


def test_a_broken_file_of_a_set_is_named(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[2].write_bytes(paths[2].read_bytes()[:40])
    with pytest.raises(ggufspec.GGUFError, match="model-00003-of-00003") as caught:
        ggufspec.open(paths[0])
    assert caught.value.code.startswith("GG00")


def test_a_file_of_a_set_in_memory_has_no_neighbours(tmp_path: Path) -> None:
    data = write_set(tmp_path)[0].read_bytes()
    with pytest.raises(ggufspec.GGUFError) as caught:
        ggufspec.open(data)
    assert caught.value.code == "GG0801"


def test_a_huge_set_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "x-00001-of-65535.gguf"
    ggufspec.write(path, split_keys(0, 65535, 4))
    with pytest.raises(ggufspec.GGUFError) as caught:
        ggufspec.open(path)
    assert caught.value.code == "GG0803"


@pytest.mark.parametrize("count", [0, 1])
def test_merged_and_single_files_are_files_of_their_own(count: int, tmp_path: Path) -> None:
    path = tmp_path / "any name.gguf"
    ggufspec.write(path, split_keys(0, count, 1), {"a": np.ones(1, np.int8)})
    with ggufspec.open(path) as f:
        assert len(f.tensors) == 1
        ggufspec.write(tmp_path / "copy.gguf", f.metadata, f.tensors)
    assert (tmp_path / "copy.gguf").read_bytes() == path.read_bytes()


def test_a_name_alone_makes_no_set(tmp_path: Path) -> None:
    path = tmp_path / "model-00001-of-00003.gguf"
    ggufspec.write(path, {"a": "x"})
    with ggufspec.open(path) as f:
        assert f.metadata["a"] == "x"


def test_names() -> None:
    assert shard_name("a-b", 3, 12) == "a-b-00003-of-00012.gguf"
    parsed = parse_shard_name("a-b-00003-of-00012.gguf")
    assert parsed is not None
    assert (parsed.prefix, parsed.number, parsed.count) == ("a-b", 3, 12)
    for name in ("a.gguf", "a-3-of-12.gguf", "a-00003-of-00012.gguf.part", "00003-of-00012.gguf"):
        assert parse_shard_name(name) is None
