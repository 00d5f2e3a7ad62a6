"""Files that change, shrink or cannot be written while they are open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ggufspec

TEXTS = [f"token {number}" for number in range(5000)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    ggufspec.write(path, {"texts": TEXTS}, {"t": np.ones((64, 64), np.float32)})
    return path


@pytest.mark.parametrize("size", [0, 30, 4096, 60_000])
def test_a_file_that_was_cut_raises_and_kills_nothing(size: int, path: Path) -> None:
    code = """
import os, sys, ggufspec
path, size = sys.argv[1], int(sys.argv[2])
with ggufspec.open(path) as f:
    texts, tensor = f.metadata["texts"], f.tensors["t"]
    os.truncate(path, size)
    for use in (
        lambda: texts[4000], lambda: list(texts), lambda: f.metadata["texts"][:3],
        lambda: tensor.data,
        tensor.array, tensor.dequantize, lambda: list(tensor.chunks()),
        lambda: ggufspec.write(path + ".copy", f.metadata, f.tensors),
    ):
        try:
            use()
        except OSError as error:
            assert error.filename == path, error
        else:
            raise AssertionError("nothing was raised")
assert not os.path.exists(path + ".copy")
"""
    subprocess.run([sys.executable, "-c", code, str(path), str(size)], check=True)


def test_a_file_cut_while_it_is_copied(path: Path) -> None:
    with ggufspec.open(path) as f:
        pieces = f.tensors["t"].chunks(size=1024)
        next(pieces)
        os.truncate(path, 60_000)
        with pytest.raises(OSError, match="cut while it was open"):
            list(pieces)


def test_bytes_overwritten_in_place(path: Path) -> None:
    """The length of a string changes before its array is indexed."""
    with ggufspec.open(path) as f:
        where = path.read_bytes().index(b"token 3000") - 8
        with path.open("r+b") as file:
            file.seek(where)
            file.write(b"\xff" * 8)
        with pytest.raises(ggufspec.GGUFError):
            list(f.metadata["texts"])


def test_a_buffer_overwritten_in_place(path: Path) -> None:
    data = bytearray(path.read_bytes())
    with ggufspec.open(data) as f:
        texts = f.metadata["texts"]
        assert texts[0] == TEXTS[0]
        for offset in range(len(data)):
            data[offset] = 255
        assert all(isinstance(text, bytes) for text in texts)


def test_a_file_that_grows_is_still_the_file_that_was_opened(path: Path) -> None:
    with ggufspec.open(path) as f:
        with path.open("ab") as file:
            file.write(bytes(1000))
        assert list(f.metadata["texts"]) == TEXTS
        assert f.tensors["t"].dequantize().sum() == 4096


def test_read_only_files_and_folders(path: Path) -> None:
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with ggufspec.open(path) as f:
            assert f.tensors["t"].data.sum() > 0
        before = path.stat()
        if os.geteuid():  # root writes anywhere
            with pytest.raises(PermissionError, match=str(path)):
                ggufspec.write(path, {})
        assert path.stat() == before
    finally:
        path.parent.chmod(0o755)


def test_reading_changes_nothing(path: Path) -> None:
    before = path.stat()
    with ggufspec.open(path) as f:
        list(f.metadata["texts"])
        f.tensors["t"].dequantize()
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    assert list(path.parent.iterdir()) == [path]


def test_no_descriptors_are_left_open(path: Path) -> None:
    bad = path.with_name("bad.gguf")
    bad.write_bytes(b"no GGUF")
    count = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        with ggufspec.open(path) as f:
            f.tensors["t"].array()
        with pytest.raises(ggufspec.GGUFError):
            ggufspec.open(bad)
    assert len(list(Path("/proc/self/fd").iterdir())) == count
