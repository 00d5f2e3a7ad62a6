"""The bytes of a file: mapped read-only, until closed."""

from __future__ import annotations

import errno
import io
import mmap
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .urls import Remote, is_url

if TYPE_CHECKING:
    from ..container.dialects import Choice
    from ..container.scan import Scan

ByteSource = str | os.PathLike[str] | bytes | bytearray | memoryview | mmap.mmap | Any


class Source:
    """A file on disk (memory-mapped) or a buffer of the caller's.

    `path` is the file's name, None for a buffer; `size` its bytes when it was opened, and
    `status` what the system said of it then, None where that is nothing.
    Nothing is ever written through it. Views handed out stay valid after `close`: the mapping
    goes when the last of them does.
    """

    status: os.stat_result | None = None

    remote = False
    """Whether it lies on a server, from which the header alone is fetched."""

    def __init__(self, origin: ByteSource) -> None:
        """Open a path (OSError as `open` raises it) or take a contiguous buffer (TypeError)."""
        self._view: memoryview | None
        self._map: mmap.mmap | None = None
        self._file: io.FileIO | None = None
        self.path: str | None = None
        if isinstance(origin, (str, os.PathLike)):
            self.path = os.fspath(origin)
            self._file = _open_regular(self.path)
            try:
                self.status = os.fstat(self._file.fileno())
                self.size = self.status.st_size
                self._map = self._mapped(self._file)
            except BaseException:
                self._file.close()
                raise
            self._view = memoryview(self._map or b"")
        else:
            self._view = _bytes_of(origin)
            self.size = self._view.nbytes

    @property
    def view(self) -> memoryview:
        """All bytes, read-only. ValueError when closed, OSError when the file has shrunk.

        The size is asked for each time because touching a page behind the end of a mapped
        file that was cut kills the process.
        """
        if self._view is None:
            raise ValueError("the file is closed")
        if self._file is not None and os.fstat(self._file.fileno()).st_size < self.size:
            raise self._shrunk()
        return self._view

    @property
    def label(self) -> str:
        """What to call it in messages."""
        return Path(self.path).name if self.path else "the buffer"

    def check_data(self) -> None:
        """Nothing; of a remote file `io.UnsupportedOperation`, since its data are not there."""

    def scan(self, profile: str, dialect: str | None) -> tuple[Scan, Choice | None]:
        """Where everything lies: `scan_as` of these bytes."""
        from ..container.dialects import scan_as

        return scan_as(self.view, profile=profile, dialect=dialect)

    def read(self, offset: int, size: int) -> memoryview:
        """`size` bytes from `offset` on, outside of the mapping where there is a file.

        Copying a model through this leaves none of it in the process's memory.
        """
        if self._file is None or not hasattr(os, "preadv"):
            return self.view[offset : offset + size]
        parts = bytearray(size)
        target, done = memoryview(parts), 0
        while done < size:
            count = os.preadv(self._descriptor(), [target[done:]], offset + done)
            if not count:
                raise self._shrunk()
            done += count
        return target.toreadonly()

    def holes(self) -> Iterator[tuple[int, int]]:
        """First byte and end of each part of the file that was never written; see lseek(2).

        Nothing for buffers, and where the system does not tell.
        """
        if self._file is None or not hasattr(os, "SEEK_HOLE"):
            return
        file, at = self._descriptor(), 0
        while at < self.size:
            try:
                start = os.lseek(file, at, os.SEEK_HOLE)
                if start >= self.size:
                    return
                at = os.lseek(file, start, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:  # else: nothing but a hole follows
                    return
                at = self.size
            yield start, min(at, self.size)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._view is None

    def close(self) -> None:
        """Let go of the file; again is harmless."""
        view, self._view = self._view, None
        mapping, self._map = self._map, None
        try:
            if view is not None:
                view.release()
            if mapping is not None:
                mapping.close()
        except BufferError:
            pass  # arrays made from it are still in use and keep it
        if self._file is not None:
            self._file.close()

    def _mapped(self, file: io.FileIO) -> mmap.mmap | None:
        try:
            return (
                mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ) if self.size else None
            )
        except ValueError:  # it is smaller than it was a moment ago
            raise self._shrunk() from None

    def _descriptor(self) -> int:
        if self._file is None or self._view is None:
            raise ValueError("the file is closed")
        return self._file.fileno()

    def _shrunk(self) -> OSError:
        return OSError(errno.EIO, "the file was cut while it was open", self.path)


def open_source(origin: ByteSource) -> Source:
    """A file by its path or URL, or a buffer; raises as `Source` and `RemoteSource` do."""
    if isinstance(origin, Remote) or is_url(origin):
        from .remote import RemoteSource

        return RemoteSource(origin if isinstance(origin, Remote) else Remote(str(origin)))
    return Source(origin)


def _open_regular(path: str) -> io.FileIO:
    # A named pipe would block, and a device do who knows what, before anyone could look at it.
    _check_regular(Path(path).stat().st_mode, path)
    file = io.FileIO(path, "rb", opener=_open_at_once)
    try:
        _check_regular(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def _open_at_once(path: str, flags: int) -> int:
    """A pipe that has taken the file's place since must not block either."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _check_regular(mode: int, path: str) -> None:
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "not a regular file", path)


def _bytes_of(origin: Any) -> memoryview:
    try:
        view = memoryview(origin)
    except TypeError:
        kind = type(origin).__name__
        raise TypeError(f"a path or a bytes-like object is needed, not {kind}") from None
    if not view.c_contiguous:
        raise ValueError("the buffer is not contiguous")
    return view.toreadonly().cast("B")
