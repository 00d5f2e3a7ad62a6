"""Whether the input is still the one that a part of an output was made from."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.tensor import Tensor

_CHUNK = 8 << 20

SETTLED = 2_000_000_000
"""Nanoseconds without a change after which the clock of a file system tells the next one."""

Stamp = list[int] | None


class Origin:
    """The source data of the tensors of one output, in their order.

    What is promised: a tensor that is done counts only while its source data are those it was
    made from. Either nothing has touched the file since (same inode, change time and
    modification time; the change time cannot be set back by a program), or the sha256 of the
    tensor's data says so; a file that was copied, moved or touched is read once more for that.
    Not seen are changes while the clock was set back, and those made in the course of one run.
    """

    def __init__(self, source: File, tensors: Sequence[Tensor]) -> None:
        self.stamps = [_stamp(part.source.path) for part in source.parts]
        self._tensors = tensors

    def unchanged(self, stamps: object) -> bool:
        """Whether the files themselves are untouched since ``stamps`` were taken."""
        return None not in self.stamps and stamps == self.stamps

    def sha256(self, number: int) -> str:
        """Of the data of tensor ``number``; "" where there is none."""
        return sha256_of(self._tensors[number]) if number < len(self._tensors) else ""


def sha256_of(tensor: Tensor) -> str:
    """Of a tensor's data as its file holds them."""
    hashed = hashlib.sha256()
    for chunk in tensor.chunks(size=_CHUNK):
        hashed.update(chunk)
    return hashed.hexdigest()


def _stamp(path: str | None) -> Stamp:
    """None where a change could go unnoticed: of buffers, and of what was changed just now."""
    if path is None:
        return None
    status = Path(path).stat()
    if time.time_ns() - max(status.st_ctime_ns, status.st_mtime_ns) < SETTLED:
        return None
    return [status.st_ino, status.st_ctime_ns, status.st_mtime_ns]
