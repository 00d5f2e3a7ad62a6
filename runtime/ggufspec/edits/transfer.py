"""Bytes from one file to another: shared where the file system can, never through much memory."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .moves import Move

_CLONE_RANGE = 0x4020940D  # FICLONERANGE of linux/fs.h
_STEP = 64 << 20  # bytes that the kernel copies between two signs of life
_CHUNK = 8 << 20  # bytes in memory
_ELSEWHERE = {
    getattr(errno, name)
    for name in ("EXDEV", "EINVAL", "ENOSYS", "EOPNOTSUPP", "EPERM", "ENOTTY", "EBADF", "ETXTBSY")
    if hasattr(errno, name)
}
"""What the system says where it cannot do it this way."""


@dataclass
class Transferred:
    """Bytes that the new file shares with the old one, and bytes that were copied."""

    cloned: int = 0
    copied: int = 0


def transfer(source: int, target: int, move: Move, advance: Callable[[int], object]) -> Transferred:
    """Put bytes of one open file into another; OSError as the system has it.

    advance: told bytes as they are done.
    """
    done = Transferred()
    first, last = _cloneable(target, move)
    if last > first and _clone(source, target, move, first, last):
        done.cloned = last - first
        _copy(source, target, move, 0, first, advance)
        advance(last - first)
        _copy(source, target, move, last, move.count, advance)
    else:
        _copy(source, target, move, 0, move.count, advance)
    done.copied = move.count - done.cloned
    return done


def _cloneable(target: int, move: Move) -> tuple[int, int]:
    """The part of a move that whole blocks of the disk make up in both files."""
    if not sys.platform.startswith("linux"):
        return 0, 0
    block = os.fstatvfs(target).f_bsize
    if (move.source - move.target) % block:
        return 0, 0
    first = -move.source % block
    return first, max(first, move.count - (move.source + move.count) % block)


def _clone(source: int, target: int, move: Move, first: int, last: int) -> bool:
    """Let the new file share blocks with the old one; False where that is not possible."""
    import fcntl

    request = struct.pack("qQQQ", source, move.source + first, last - first, move.target + first)
    try:
        fcntl.ioctl(target, _CLONE_RANGE, request)
    except OSError as error:
        if error.errno in _ELSEWHERE:
            return False
        raise
    return True


def _copy(
    source: int, target: int, move: Move, first: int, last: int, advance: Callable[[int], object]
) -> None:
    at = _copy_in_kernel(source, target, move, first, last, advance)
    while at < last:
        data = os.pread(source, min(_CHUNK, last - at), move.source + at)
        if not data:
            raise OSError(errno.EIO, "the file was cut while it was read")
        view = memoryview(data)
        while view:
            count = os.pwrite(target, view, move.target + at)
            view, at = view[count:], at + count
        advance(len(data))


def _copy_in_kernel(
    source: int, target: int, move: Move, first: int, last: int, advance: Callable[[int], object]
) -> int:
    """Copy without this process; up to where it got. File systems may share blocks then too."""
    at = first
    if not hasattr(os, "copy_file_range"):
        return at
    while at < last:
        step = min(_STEP, last - at)
        try:
            count = os.copy_file_range(source, target, step, move.source + at, move.target + at)
        except OSError as error:
            if error.errno in _ELSEWHERE:
                return at
            raise
        if not count:
            return at
        at += count
        advance(count)
    return at


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A file that is there, open for these functions."""
    for name in ("O_BINARY", "O_CLOEXEC", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
