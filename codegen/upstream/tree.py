"""The files of a ggml or llama.cpp source: out of a folder, or out of an archive."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Protocol, cast

from .facts import UnreadError

LAYOUTS = (
    {"include": "ggml/include", "src": "ggml/src"},  # llama.cpp
    {"include": "include", "src": "src"},  # ggml
)
"""Where ggml's headers and sources stand below the root."""

GGML = {
    "ggml.h": "include",
    "gguf.h": "include",
    "ggml-common.h": "src",
    "ggml.c": "src",
    "gguf.cpp": "src",
}
LLAMA = {
    "llama.h": "include/llama.h",
    "llama-arch.cpp": "src/llama-arch.cpp",
    "constants.py": "gguf-py/gguf/constants.py",
    "clip-impl.h": "tools/mtmd/clip-impl.h",
}

_LARGEST = 4 << 20
"""Bytes of a file that is read; ggml's largest has 0.4 million."""
_LARGEST_MEMBER = 128 << 20
"""Bytes of any member of a compressed archive, which has to be unpacked to get past it."""
_LARGEST_ARCHIVE = 1 << 30
"""Bytes of all of them; llama.cpp's own archives have 0.2 thousand million."""
_MOST = 64
"""Files of those names; a source archive has about ten."""
_DEEPEST = 5
"""Folders between the root that is given and ggml's own."""
_SKIPPED = {".git", "node_modules", "build", "models", "tests", "examples"}


@dataclass(frozen=True)
class Tree:
    """Texts by file name, and where each stands below ``root``."""

    root: str
    texts: dict[str, str]
    places: dict[str, str]


def load_tree(path: Path, advance: Callable[[int], None] = lambda _count: None) -> Tree:
    """Read what is needed of a checkout, or of a .tar.gz, .tar or .zip of one.

    advance: called with the bytes of an archive that were read.

    The root may lie some folders below, as in the archives of language bindings. Raises OSError,
    and UnreadError where no ggml is found.
    """
    found = dict(_of_folder(path) if path.is_dir() else _of_archive(path, advance))
    root, layout = _root(found, path)
    wanted = {name: f"{layout[part]}/{name}" for name, part in GGML.items()} | LLAMA
    texts, places = {}, {}
    for name, where in wanted.items():
        place = _joined(root, where)
        data = found.get(place)
        if place in found and data is None:
            raise UnreadError(f"{path}: {place} is too large: more than {_LARGEST} bytes")
        if data is not None:
            texts[name] = data.decode("utf-8", "replace")
            places[name] = where
    return Tree(root or ".", texts, places)


def _joined(root: str, where: str) -> str:
    return f"{root}/{where}" if root else where


def _root(found: dict[str, bytes | None], path: Path) -> tuple[str, dict[str, str]]:
    """The shallowest folder that has ggml.h where one of the layouts has it."""
    roots = []
    for layout in LAYOUTS:
        ending = f"{layout['include']}/ggml.h"
        roots += [
            (name.count("/"), name.removesuffix(ending).rstrip("/"), layout)
            for name in found
            if name == ending or name.endswith(f"/{ending}")
        ]
    # llama.cpp's ggml folder is a root of ggml's layout too; the shorter one wins.
    if not roots:
        raise UnreadError(f"{path} holds no include/ggml.h of ggml or llama.cpp")
    _, root, layout = min(roots, key=lambda one: (len(one[1]), one[0]))
    return root, layout


def _is_wanted(name: str) -> bool:
    return PurePosixPath(name).name in GGML or any(
        name == where or name.endswith(f"/{where}") for where in LLAMA.values()
    )


Found = Iterator[tuple[str, bytes | None]]
"""Names and contents; no content of a file that is too large."""


def _of_folder(folder: Path) -> Found:
    count = 0
    for place, folders, files in os.walk(folder):
        below = Path(place).relative_to(folder)
        depth = len(below.parts)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED) if depth < _DEEPEST else []
        for file in files:
            name = (below / file).as_posix()
            full = Path(place) / file
            if _is_wanted(name) and full.is_file():
                count += 1
                if count <= _MOST:
                    large = full.stat().st_size > _LARGEST
                    yield name, None if large else full.read_bytes()


class _Readable(Protocol):
    def read(self, count: int = -1, /) -> bytes: ...


class _Counted:
    """A stream that tells how much of it was read."""

    def __init__(self, stream: _Readable, advance: Callable[[int], None]) -> None:
        self.stream, self.advance = stream, advance

    def read(self, count: int = -1) -> bytes:
        data = self.stream.read(count)
        self.advance(len(data))
        return data


def _of_archive(path: Path, advance: Callable[[int], None]) -> Found:
    with path.open("rb") as stream:
        start = stream.read(6)
    if start[:2] == b"PK":
        yield from _of_zip(path)
        return
    try:
        with path.open("rb") as stream:
            unpacked = _unpacked(start, _Counted(stream, advance))
            if unpacked is None:  # a plain tar: what is not wanted is jumped over
                with tarfile.open(mode="r:", fileobj=stream) as archive:
                    yield from _of_tar(archive)
                return
            limited = _Counted(unpacked, _Limit(path).count)
            with tarfile.open(
                mode="r|", fileobj=cast(BinaryIO, limited), bufsize=1 << 20
            ) as archive:
                yield from _of_tar(archive, path)
    except UnreadError:
        raise
    except (tarfile.TarError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise UnreadError(f"{path} is neither a folder nor a source archive: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise UnreadError(f"{path} is damaged: {error}") from None


def _unpacked(start: bytes, stream: _Counted) -> _Readable | None:
    """What a compressed stream holds; None where it is not compressed."""
    packed = cast(BinaryIO, stream)
    if start[:2] == b"\x1f\x8b":
        return gzip.GzipFile(fileobj=packed)
    if start[:3] == b"BZh":
        return bz2.BZ2File(packed)
    return lzma.LZMAFile(packed) if start == b"\xfd7zXZ\0" else None


class _Limit:
    """Ends the reading of an archive that unpacks to too much."""

    def __init__(self, path: Path) -> None:
        self.path, self.left = path, _LARGEST_ARCHIVE

    def count(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise UnreadError(
                f"{self.path} is too large: it unpacks to more than {_LARGEST_ARCHIVE} bytes"
            )


def _of_tar(archive: tarfile.TarFile, packed: Path | None = None) -> Found:
    """The wanted files; ``packed``: the path, where members are unpacked to get past them."""
    count = 0
    for member in archive:
        wanted = member.isfile() and _is_wanted(member.name)
        if wanted and member.size > _LARGEST:
            yield member.name, None
        elif wanted:
            count += 1
            opened = archive.extractfile(member)
            if count <= _MOST and opened is not None:
                yield member.name, opened.read()
        if packed and member.size > _LARGEST_MEMBER:
            raise UnreadError(
                f"{packed} is too large: {member.name} in it has {member.size} bytes, and more "
                f"than {_LARGEST_MEMBER} are not unpacked to get past it"
            )


def _of_zip(path: Path) -> Found:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if _is_wanted(m.filename)]
            for member in members[:_MOST]:
                if member.flag_bits & 1:
                    raise UnreadError(f"{path} is encrypted ({member.filename})")
                large = member.file_size > _LARGEST
                yield member.filename, None if large else archive.read(member)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UnreadError(f"{path} is no archive that can be read: {error}") from None
