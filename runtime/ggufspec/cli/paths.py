"""Inputs and outputs of the commands, checked before any work."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GGUFError
from ..files.atomic import leftovers, resolved
from ..files.undo import check_undo
from . import screen
from .failures import SYSTEM, CommandError, of_file, usage
from .text import size

if TYPE_CHECKING:
    from ..files.reader import File
    from ..files.urls import Remote

SPARE = 1 << 20
"""Bytes that shall stay free on the disk of an output."""


def open_model(
    path: Path | Remote, profile: str = "lenient", *, dialect: str | None = None
) -> File:
    """The open file; what is wrong with it names it."""
    import ggufspec

    with reading(path):
        return ggufspec.open(path, profile=profile, dialect=dialect)


def check_output(output: Path, inputs: Iterable[str | os.PathLike[str]], *, force: bool) -> None:
    """Refuse an output that is an input by any path or link, exists, or cannot be made.

    Raises CommandError for wrong usage and OSError for a folder that is not there.
    """
    check_not_input(output, inputs)
    with reading(output):
        check_undo(output)
    try:
        kind = output.stat().st_mode
    except FileNotFoundError:
        _check_folder(output)
        return
    if not stat.S_ISREG(kind):
        what = "a folder" if stat.S_ISDIR(kind) else "not a regular file"
        raise usage(f"the output is {what}", file=str(output), hint="name a new file")
    if not force:
        raise usage("the output exists", file=str(output), hint="--force replaces it")


def check_not_input(output: Path, inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Refuse to write to what is read, by any path or link."""
    for path in inputs:
        if _same(output, Path(path)):
            raise usage("the output is the input", file=str(output), hint="write to another name")


def check_apart(written: Iterable[Path]) -> None:
    """Refuse names that lead to the same place, links followed; their folders exist."""
    seen: dict[tuple[int, int, str], Path] = {}
    for path in written:
        target = resolved(str(path))
        folder = target.parent.stat()
        other = seen.setdefault((folder.st_dev, folder.st_ino, target.name), path)
        if other is not path:
            raise usage(
                f"this is written to as {other} already",
                file=str(path),
                hint="write to other names",
            )


def check_space(output: Path, needed: int) -> None:
    """Raise OSError when ``needed`` bytes do not fit beside the output."""
    folder = Path(os.path.realpath(output)).parent
    free = shutil.disk_usage(folder).free
    if needed + SPARE > free:
        raise OSError(
            errno.ENOSPC,
            f"{size(needed + SPARE)} are needed ({size(SPARE)} of them stay free) and "
            f"{size(free)} are free",
            str(folder),
        )


def mention_leftovers(*outputs: Path) -> None:
    """Say what runs that were killed left beside outputs, each file once."""
    for left in dict.fromkeys(found for output in outputs for found in leftovers(output)):
        with suppress(OSError):  # it may go while we look
            held = size(left.stat().st_size)
            screen.warn(f"{left} ({held}) was left by a run that was killed; it can be removed")


@contextmanager
def reading(path: Path | Remote) -> Iterator[None]:
    """Let what is wrong with a file name it."""
    try:
        yield
    except GGUFError as error:
        raise of_file(error, str(path)) from error


@contextmanager
def writing(output: Path) -> Iterator[None]:
    """Let a full disk name the output."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(output)
        raise


@contextmanager
def telling(done: str) -> Iterator[None]:
    """Let standard output that takes no more say what was `done` all the same.

    Raises CommandError. A reader that went away is another matter, and not ours.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise CommandError(
            f"standard output: {reason[:1].lower() + reason[1:]}", SYSTEM, hint=done
        ) from error


def _same(first: Path, second: Path) -> bool:
    """Whether two names lead to one file: equal paths, symbolic or hard links, bind mounts."""
    try:
        return first.samefile(second)
    except OSError:
        return os.path.realpath(first) == os.path.realpath(second)


def _check_folder(output: Path) -> None:
    folder = Path(os.path.realpath(output)).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "the folder cannot be written to", str(folder))
