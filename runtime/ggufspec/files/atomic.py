"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class AtomicFile:
    """A file written under a temporary name beside its target and renamed when it is whole.

    As a context manager it commits at the end of the block and vanishes on any exception. A
    target that exists is replaced only by `commit`; whoever has it open keeps the old one. A
    symbolic link stays, what it points to is replaced. OSErrors name the path that was asked
    for, not the temporary one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._file: io.BufferedWriter | None = None
        with self._named():
            self.target = _resolved(self.path)
            mode = _mode_of(self.target)
            # Shorter than the target's own name may be, so that it fits wherever that does.
            name = f".{self.target.name[:32]}.{secrets.token_hex(6)}.tmp"
            self.temporary = self.target.with_name(name)
            descriptor = os.open(self.temporary, _NEW, 0o666)
            self._file = os.fdopen(descriptor, "wb")
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes. ValueError after commit or abort."""
        file = self._opened()
        with self._named():
            file.write(data)

    def commit(self) -> None:
        """Flush to the disk and give the file its name."""
        file = self._opened()
        try:
            with self._named():
                file.flush()
                os.fsync(file.fileno())
                file.close()
                self.temporary.replace(self.target)
        except BaseException:
            self.abort()
            raise
        self._file = None
        _sync_folder(self.target.parent)

    def abort(self) -> None:
        """Leave nothing behind; harmless after commit."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with suppress(OSError):  # what could not be flushed is not wanted any more
            file.close()
        with suppress(OSError):
            self.temporary.unlink()

    def _opened(self) -> io.BufferedWriter:
        if self._file is None:
            raise ValueError("the file is finished")
        return self._file

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Let the system's errors tell the path that the caller knows."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.abort()


_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def _resolved(path: str) -> Path:
    try:
        return Path(path).resolve()
    except RuntimeError:  # until Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def _mode_of(target: Path) -> int | None:
    """The permissions of the file that is to be replaced; refuses what is no regular file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
