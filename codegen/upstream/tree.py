"""The files of a ggml or llama.cpp source: out of a folder, or out of an archive."""

from __future__ import annotations

import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

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
        data = found.get(_joined(root, where))
        if data is not None:
            texts[name] = data.decode("utf-8", "replace")
            places[name] = where
    return Tree(root or ".", texts, places)


def _joined(root: str, where: str) -> str:
    return f"{root}/{where}" if root else where


def _root(found: dict[str, bytes], path: Path) -> tuple[str, dict[str, str]]:
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


def _of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    count = 0
    for place, folders, files in os.walk(folder):
        below = Path(place).relative_to(folder)
        depth = len(below.parts)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED) if depth < _DEEPEST else []
        for file in files:
            name = (below / file).as_posix()
            full = Path(place) / file
            if _is_wanted(name) and full.is_file() and full.stat().st_size <= _LARGEST:
                count += 1
                if count <= _MOST:
                    yield name, full.read_bytes()


class _Counted:
    """A stream that tells how much of it was read."""

    def __init__(self, stream: BinaryIO, advance: Callable[[int], None]) -> None:
        self.stream, self.advance = stream, advance

    def read(self, count: int = -1) -> bytes:
        data = self.stream.read(count)
        self.advance(len(data))
        return data


def _of_archive(path: Path, advance: Callable[[int], None]) -> Iterator[tuple[str, bytes]]:
    with path.open("rb") as stream:
        start = stream.read(4)
    if start[:2] == b"PK":
        yield from _of_zip(path)
        return
    count = 0
    try:
        with (
            path.open("rb") as stream,
            tarfile.open(mode="r|*", fileobj=cast(BinaryIO, _Counted(stream, advance))) as archive,
        ):
            for member in archive:
                if member.isfile() and _is_wanted(member.name) and member.size <= _LARGEST:
                    count += 1
                    opened = archive.extractfile(member)
                    if count <= _MOST and opened is not None:
                        yield member.name, opened.read()
    except (tarfile.TarError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise UnreadError(f"{path} is neither a folder nor a source archive: {error}") from None


def _of_zip(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if _is_wanted(m.filename)]
            for member in members[:_MOST]:
                if member.file_size <= _LARGEST:
                    yield member.filename, archive.read(member)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise UnreadError(f"{path} is no archive that can be read: {error}") from None
