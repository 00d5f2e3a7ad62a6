"""Whether the input is still the one that parts of outputs were made from."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor

_CHUNK = 8 << 20

SETTLED = 2_000_000_000
"""Nanoseconds without a change after which the clock of a file system tells the next one."""

Stamp = list[int] | None


class Origin:
    """The source and the importance matrix of a run, looked at once for all its outputs.

    What is promised: a tensor that is done counts only while its source data are those it was
    made from. Either nothing has touched the file since (same inode, change time and
    modification time; the change time cannot be set back by a program), or the sha256 of the
    tensor's data says so; a file that was copied, moved or touched is read once more for that.
    Not seen are changes while the clock was set back, and those made in the course of one run.

    ``facts``: what tells one input from another without the data of its tensors.
    """

    def __init__(self, source: File, imatrix: str | None) -> None:
        self.stamps = [_stamp(part.source.path) for part in source.parts]
        self.facts = {
            "input": _input(source),
            "dialect": source.dialect,
            "imatrix": _sha256(Path(imatrix)) if imatrix is not None else None,
        }
        self._known: dict[str, str] = {}  # sha256 by name

    def unchanged(self, stamps: object) -> bool:
        """Whether the files themselves are untouched since ``stamps`` were taken."""
        return None not in self.stamps and stamps == self.stamps

    def sha256(self, tensor: Tensor) -> str:
        """Of a tensor's data; several outputs may ask for the same."""
        if tensor.name not in self._known:
            self._known[tensor.name] = sha256_of(tensor)
        return self._known[tensor.name]


def sha256_of(tensor: Tensor) -> str:
    """Of a tensor's data as its file holds them."""
    hashed = hashlib.sha256()
    for chunk in tensor.chunks():
        hashed.update(chunk)
    return hashed.hexdigest()


def _sha256(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            hashed.update(data)
    return hashed.hexdigest()


def _input(source: File) -> list[dict[str, Any]]:
    return [
        {
            "size": part.source.size,
            "sha256_before_data": hashlib.sha256(
                part.source.view[: part.scan.data_offset]
            ).hexdigest(),
        }
        for part in source.parts
    ]


def _stamp(path: str | None) -> Stamp:
    """None where a change could go unnoticed: of buffers, and of what was changed just now."""
    if path is None:
        return None
    status = Path(path).stat()
    if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) < SETTLED:
        return None
    return [status.st_ino, status.st_ctime_ns, status.st_mtime_ns]
