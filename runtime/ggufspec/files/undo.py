"""FILE.undo: what an edit in place is about to write over, and with what.

It is there, whole and on the disk, before the first byte of FILE changes, and goes when the last
one has. Whoever opens FILE looks for it, since nobody can tell otherwise which state it is in.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from ..errors import GGUFError
from .atomic import open_regular, resolved

MAGIC = b"ggufspec undo 1\n"
"""What every such file starts with."""

RULE = "GG0905"
"""The rule that a file with an undo file beside it breaks."""

_HEAD = struct.Struct("<QQQQQ")
_DIGEST = 32  # bytes of a SHA-256


@dataclass(frozen=True)
class Undo:
    """An edit of the bytes of a file from `start` on: `old` becomes `new`.

    `old_size` and `new_size` are those of the whole file. They differ only where the bytes reach
    to its end.
    """

    old_size: int
    new_size: int
    start: int
    old: bytes
    new: bytes

    @property
    def fits(self) -> bool:
        """Whether the bytes lie in the file, before and after, and account for its sizes."""
        old_end, new_end = self.start + len(self.old), self.start + len(self.new)
        if old_end == new_end and self.old_size == self.new_size:
            return old_end <= self.old_size
        return (old_end, new_end) == (self.old_size, self.new_size)

    def pack(self) -> bytes:
        """The content of the undo file."""
        head = _HEAD.pack(self.old_size, self.new_size, self.start, len(self.old), len(self.new))
        body = b"".join((MAGIC, head, self.old, self.new))
        return body + _sha256(body)

    @staticmethod
    def unpack(data: bytes) -> Undo | None:
        """The edit that an undo file tells of; None where it is damaged."""
        body, digest = data[:-_DIGEST], data[-_DIGEST:]
        if not data.startswith(MAGIC) or _sha256(body) != digest:
            return None
        place = len(MAGIC) + _HEAD.size
        old_size, new_size, start, old, new = _HEAD.unpack(body[len(MAGIC) : place])
        if place + old + new != len(body):
            return None
        edit = Undo(old_size, new_size, start, body[place : place + old], body[place + old :])
        return edit if edit.fits else None


def _sha256(data: bytes) -> bytes:
    import hashlib  # of no use to those who only look whether there is an undo file

    return hashlib.sha256(data).digest()


def undo_path(path: str | os.PathLike[str]) -> Path:
    """Where the undo file of a file lies: beside what all links lead to."""
    target = resolved(os.fspath(path))
    return target.with_name(target.name + ".undo")


def find_undo(path: str | os.PathLike[str]) -> Path | None:
    """The undo file beside a file; None where there is none of ours."""
    try:
        undo = undo_path(path)
        descriptor = open_regular(undo, os.O_RDONLY)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as file:
        return undo if file.read(len(MAGIC)) == MAGIC else None


def undo_message(undo: Path) -> str:
    """What to say of a file that has one."""
    from ..generated.rules import RULES

    return RULES[RULE].message.format(undo=undo.name)


def check_undo(path: str | os.PathLike[str]) -> None:
    """GGUFError where an edit in place of this file has not come to its end."""
    undo = find_undo(path)
    if undo is not None:
        from ..generated.rules import RULES

        raise GGUFError(undo_message(undo), code=RULE, hint=RULES[RULE].hint)
