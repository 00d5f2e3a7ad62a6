"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import reduce
from operator import and_
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import Self

_Open = TypeVar("_Open")


class AtomicFile:
    """A file written under a temporary name beside its target and renamed when it is whole.

    As a context manager it commits at the end of the block and vanishes on any exception. A
    target that exists is replaced only by `commit`; whoever has it open keeps the old one. A
    symbolic link stays, what it points to is replaced. OSErrors name the path that was asked
    for, not the temporary one.

    replace: whether `commit` may take the place of a file; if not, and one has appeared
    meanwhile, it raises FileExistsError and leaves the whole file under its temporary name.

    like: the files that it is made from: as with cp, a new file is for nobody who may not use all
    of them, and one that takes the place of another keeps the permissions of that.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        replace: bool = True,
        like: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        self.path = os.fspath(path)
        self.replace = replace
        self._file: io.BufferedWriter | None = None
        allowed = permissions_of(like)
        with naming(self.path):
            self.target = resolved(self.path)
            self._mode = mode_of(self.target)
            self.temporary = temporary_beside(self.target)
            first = next(mode for mode in (self._mode, allowed, _ALL) if mode is not None)
            descriptor = os.open(self.temporary, _NEW, first | _OWN)
            self._file = os.fdopen(descriptor, "wb")
            lock(descriptor)
            if self._mode is None and allowed is not None:
                self._mode = masked(descriptor, allowed)
            self._permit(descriptor, _OWN)  # until it is whole, it can be opened again

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes. ValueError after commit or abort."""
        file = unfinished(self._file)
        with naming(self.path):
            file.write(data)

    def skip(self, count: int) -> None:
        """Leave `count` bytes out: a hole, which reads as zeros."""
        file = unfinished(self._file)
        with naming(self.path):
            file.seek(count, os.SEEK_CUR)

    def flush(self) -> None:
        """Let others read under the temporary name what was written."""
        file = unfinished(self._file)
        with naming(self.path):
            file.flush()

    def settle(self, *, close: bool = False) -> None:
        """Flush to the disk; `commit` has only to rename then.

        close: nothing more will be written, and no descriptor is kept: for files of a large set.
        """
        file = unfinished(self._file)
        with naming(self.path):
            if not file.closed:
                file.flush()
                if close:
                    self._permit(file.fileno())
                os.fsync(file.fileno())
            if close:
                file.close()

    def _permit(self, descriptor: int, also: int = 0) -> None:
        """Let those use it who shall, no others."""
        if self._mode is not None and hasattr(os, "fchmod"):
            os.fchmod(descriptor, self._mode | also)

    def commit(self) -> None:
        """Flush to the disk and give the file its name."""
        unfinished(self._file)
        try:
            self.settle(close=True)
            with naming(self.path):
                name_it(self.temporary, self.target, replace=self.replace)
        except FileExistsError:
            self._file = None  # hours of work may be in it
            raise
        except BaseException:
            self.abort()
            raise
        self._file = None
        sync_folder(self.target.parent)

    def abort(self) -> None:
        """Leave nothing behind; harmless after commit."""
        if self._file is None:
            return
        file, self._file = self._file, None
        with suppress(OSError):  # what could not be flushed is not wanted any more
            file.close()
        with suppress(OSError):
            self.temporary.unlink()

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


SUFFIX = ".ggufspec-tmp"
"""What names of files in the making end with."""

_OWN = stat.S_IRUSR | stat.S_IWUSR
_ALL = 0o666

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def temporary_beside(target: Path) -> Path:
    """A new name in the target's folder, of those that `leftovers` finds."""
    import secrets  # of no use to those who only read

    return target.with_name(f"{_prefix(target)}.{secrets.token_hex(6)}{SUFFIX}")


def leftovers(path: str | os.PathLike[str]) -> list[Path]:
    """Files that runs which were killed have left beside a target: nobody writes them any more."""
    target = resolved(os.fspath(path))
    pattern = re.compile(re.escape(_prefix(target)) + r"\.[0-9a-f]{12}" + re.escape(SUFFIX))
    try:
        names = sorted(entry.name for entry in os.scandir(target.parent))
    except OSError:
        return []
    found = [target.with_name(name) for name in names if pattern.fullmatch(name)]
    return [path for path in found if not _in_use(path)]


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Let the system's errors tell the path that the caller knows."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def unfinished(file: _Open | None) -> _Open:
    """The file that is written; ValueError where there is none any more."""
    if file is None:
        raise ValueError("the file is finished")
    return file


def name_it(temporary: Path, target: Path, *, replace: bool) -> None:
    """Rename a whole file; FileExistsError where another has appeared that must stay."""
    if replace:
        if target.exists() and target.samefile(temporary):  # rename does nothing then
            temporary.unlink()
        else:
            temporary.replace(target)
        return
    try:
        target.hardlink_to(temporary)  # the one rename that replaces nothing
    except OSError as error:
        if isinstance(error, FileExistsError) or target.exists():
            reason = f"it has appeared meanwhile; what was written is {temporary.name}"
            raise FileExistsError(errno.EEXIST, reason, str(target)) from None
        temporary.replace(target)  # no hard links on this file system
    else:
        temporary.unlink()


def lock(descriptor: int) -> bool:
    """Mark an open file as one in the making, until it is closed; False if another holds it."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # not on this system, or not on this file system
        pass
    return True


class IrregularFileError(OSError):
    """A link, folder, pipe or device where a regular file is wanted."""


def open_regular(path: Path, flags: int) -> int:
    """Open a file of our own: never through a link, and without waiting for a pipe.

    OSError as `os.open` raises it, IrregularFileError for anything but a regular file.
    """
    for name in ("O_BINARY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC"):
        flags |= getattr(os, name, 0)
    if path.is_symlink():
        raise IrregularFileError(errno.ELOOP, "it is a symbolic link", str(path))
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):  # link, pipe, folder
            raise IrregularFileError(error.errno, "it is not a regular file", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise IrregularFileError(errno.EINVAL, "it is not a regular file", str(path))
    return descriptor


def stands_for(descriptor: int, path: Path) -> bool:
    """Whether a path still names an open file, which another process may have renamed."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def _in_use(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return True
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)


def _prefix(target: Path) -> str:
    """Shorter than the target's own name may be, so that it fits wherever that does."""
    return target.name[:32]


def resolved(path: str) -> Path:
    """The path behind all links; OSError for links that go in a circle."""
    try:
        return Path(path).resolve()
    except RuntimeError:  # until Python 3.13
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def mode_of(target: Path) -> int | None:
    """The permissions of the file that is to be replaced; OSError for what is no regular file."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return stat.S_IMODE(mode)


def permissions_of(sources: Iterable[str | os.PathLike[str]]) -> int | None:
    """What everybody may do with all of these files, for one that is made from them.

    None where there are none.
    """
    modes = [stat.S_IMODE(Path(source).stat().st_mode) & 0o777 for source in sources]
    return reduce(and_, modes) if modes else None


def masked(descriptor: int, mode: int) -> int:
    """As much of a mode as the umask has left a file that was created with it, or with more."""
    return mode & stat.S_IMODE(os.fstat(descriptor).st_mode)


def sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    with suppress(OSError):
        os.fsync(descriptor)
    os.close(descriptor)
