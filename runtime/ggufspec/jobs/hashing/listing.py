"""Lists of hashes as llama-gguf-hash and gguf-py's gguf_hash print them, to be checked against.

A line is an algorithm, a hash and a name: `FILE:TENSOR` for a tensor, `FILE` for all data.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from .algorithms import ALGORITHMS
from .hashes import Hashes, TensorHashes
from .manifest import ManifestError, is_hash

_LINE = re.compile(r"(\S+)\s+([0-9A-Fa-f-]+) [ *]?(.+?)(?:  -  .*)?")


class _Line(NamedTuple):
    algorithm: str
    text: str
    name: str


def looks_like_listing(text: bytes) -> bool:
    """Whether text starts as such a list does, and not as JSON."""
    return text.lstrip().partition(b" ")[0].decode("ascii", "replace").lower() in ALGORITHMS


def write_listing(hashes: Hashes, file: str) -> Iterator[str]:
    """The lines for the data of a model; the names as they are."""
    for tensor in hashes.tensors:
        for algorithm, text in tensor.hashes.items():
            yield line(algorithm, text, f"{file}:{tensor.name}")
    for algorithm, text in hashes.data.items():
        yield line(algorithm, text, file)


def line(algorithm: str, text: str, name: str) -> str:
    """One line of a list."""
    return f"{algorithm:<8}  {text}  {name}"


def read_listing(text: bytes, tensors: Collection[str]) -> Hashes:
    """What a list says of a model that has these tensors; ManifestError names a damaged line.

    The file may have had another name, or path, when the list was made.
    """
    lines = list(_lines(text))
    known = frozenset(tensors)
    split = [_split(one.name, known) for one in lines]
    files = Counter(file for file, tensor in split if tensor is not None)
    of_tensors: dict[str, dict[str, str]] = {}
    of_data: dict[str, str] = {}
    for one, (file, tensor) in zip(lines, split, strict=True):
        name = _unknown(one.name, files) if tensor is None else tensor
        held = of_data if name is None else of_tensors.setdefault(name, {})
        if held.get(one.algorithm, one.text) != one.text:
            raise ManifestError(f"the list has two values of {one.algorithm} for {one.name!r:.80}")
        held[one.algorithm] = one.text
        if len(files) > 1 and tensor is not None and file != files.most_common(1)[0][0]:
            raise ManifestError(
                f"the list is of several files: {file!r:.80} and "
                f"{files.most_common(1)[0][0]!r:.80}",
                hint="make a list of the lines of one file",
            )
    return Hashes(
        algorithms=tuple(dict.fromkeys(one.algorithm for one in lines)),
        data=of_data,
        tensors=tuple(TensorHashes(name, texts) for name, texts in of_tensors.items()),
    )


def _lines(text: bytes) -> Iterator[_Line]:
    for number, raw in enumerate(text.decode("utf-8", "surrogateescape").splitlines(), 1):
        if not raw.strip() or raw.startswith("#"):
            continue
        match = _LINE.fullmatch(raw.rstrip())
        if not match:
            raise ManifestError(f"line {number} of the list is no hash: {raw!r:.80}")
        name, value = match[1].lower(), match[2].lower()
        algorithm = ALGORITHMS.get(name)
        if algorithm is None:
            raise ManifestError(f"line {number} of the list: algorithm {name!r:.40} is not known")
        if not is_hash(value, algorithm.digits):
            raise ManifestError(f"line {number} of the list: {value!r:.80} is no {name}")
        yield _Line(name, value, match[3].strip())


def _split(name: str, tensors: frozenset[str]) -> tuple[str, str | None]:
    """File and tensor of a name; both may have colons, so that the tensors tell."""
    for match in re.finditer(":", name):
        if name[match.end() :] in tensors:
            return name[: match.start()], name[match.end() :]
    return name, None


def _unknown(name: str, files: Iterable[str]) -> str | None:
    """The tensor that a name stands for though the model has none of it; None for the file."""
    for file in files:
        if name == file:
            return None
        if name.startswith(f"{file}:"):
            return name[len(file) + 1 :]
    if files or name.lower().endswith(".gguf") or ":" not in name:
        return None
    return name.rpartition(":")[2]
