"""Archives that are too large, encrypted or damaged are refused with the reason, and soon."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from ggufspec.codegen.upstream import tree
from ggufspec.codegen.upstream.facts import UnreadError
from ggufspec.codegen.upstream.tree import load_tree


def member(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def test_a_member_says_that_it_is_large(tmp_path: Path) -> None:
    """What is not wanted is not unpacked to get past it: the header alone is refused."""
    info = tarfile.TarInfo("weights.bin")
    info.size = 1500 << 20
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(info.tobuf() + bytes(1 << 16)))
    with pytest.raises(UnreadError, match=r"a\.tar\.gz is too large: weights\.bin in it has"):
        load_tree(tmp_path / "a.tar.gz")


def test_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "_LARGEST_ARCHIVE", 3 << 20)
    with tarfile.open(tmp_path / "a.tar.xz", "w:xz") as archive:
        for number in range(8):
            member(archive, f"{number}", bytes(1 << 20))
    with pytest.raises(UnreadError, match="it unpacks to more than"):
        load_tree(tmp_path / "a.tar.xz")


def test_a_plain_tar_is_jumped_through(tmp_path: Path) -> None:
    with (tmp_path / "a.tar").open("wb") as stream:
        info = tarfile.TarInfo("weights.bin")
        info.size = 1500 << 20
        stream.write(info.tobuf())
        stream.seek(info.size, 1)
        with tarfile.open(fileobj=stream, mode="w|") as archive:
            member(archive, "include/ggml.h", b"text")
    assert load_tree(tmp_path / "a.tar").texts == {"ggml.h": "text"}


@pytest.mark.parametrize("kind", ["zip", "tar.gz", "folder"])
def test_a_wanted_file_is_large(tmp_path: Path, kind: str) -> None:
    data, path = bytes(5 << 20), tmp_path / f"a.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("include/ggml.h", data)
    elif kind == "tar.gz":
        with tarfile.open(path, "w:gz") as archive:
            member(archive, "include/ggml.h", data)
    else:
        (path / "include").mkdir(parents=True)
        (path / "include/ggml.h").write_bytes(data)
    with pytest.raises(UnreadError, match=r"include/ggml\.h is too large"):
        load_tree(path)


def test_an_encrypted_zip(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("include/ggml.h", b"text")
    data = bytearray(path.read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + flags] |= 1
    path.write_bytes(data)
    with pytest.raises(UnreadError, match=r"a\.zip is encrypted"):
        load_tree(path)


@pytest.mark.parametrize("start", [b"\x1f\x8b\x08\0", b"BZh9", b"\xfd7zXZ\0"])
def test_damaged_streams(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(start + b"and nothing that follows is right" * 30)
    with pytest.raises(UnreadError, match="damaged"):
        load_tree(path)
