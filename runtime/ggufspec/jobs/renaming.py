"""Giving files other names, those of a set together: all of them, or none."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.atomic import sync_folder, temporary_beside
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.reader import File
    from .names import StandardName


@dataclass(frozen=True)
class Renaming:
    """A file and the name it is to get, in its own folder."""

    old: Path
    new: Path

    @property
    def changes(self) -> bool:
        """Whether the name is another one."""
        return self.old.name != self.new.name


def plan_renaming(file: File, name: StandardName) -> tuple[Renaming, ...]:
    """The new names of an open file, or of all files of its set."""
    count = len(file.paths)
    if not count:
        raise ConversionError("what is not a file has no name", "usage")
    return tuple(
        Renaming(
            path,
            path.with_name(str(replace(name, shard=(number, count) if count > 1 else None))),
        )
        for number, path in enumerate(file.paths, 1)
    )


def taken(renamings: Sequence[Renaming]) -> list[Path]:
    """New names that other files have already."""
    return [one.new for one in renamings if one.changes and _is_taken(one)]


def carry_out(renamings: Sequence[Renaming], *, force: bool = False) -> None:
    """Rename files; OSError, and all have their old names again, where one of them cannot be.

    force: whether files that have such a name already are replaced. Each file has both names
    before the first one loses its old name, so that the whole set is there under its old names or
    its new ones, even if this is ended in the middle. Only on file systems without hard links
    they change one by one.
    """
    steps = [_Step(one) for one in renamings if one.changes]
    try:
        for step in steps:
            step.give(force=force)
    except BaseException:
        for step in reversed(steps):
            step.take_back()
        raise
    for step in steps:
        step.finish()
    for folder in {one.new.parent for one in renamings}:
        sync_folder(folder)


class _Step:
    """One file on the way from one name to another."""

    def __init__(self, one: Renaming) -> None:
        self.old, self.new = one.old, one.new
        self.target_taken = _is_taken(one)
        self.linked = False  # it has both names
        self.moved = False  # it has the new one alone
        self.backup: Path | None = None  # the file that had the new name

    def give(self, *, force: bool) -> None:
        """Give the file its new name, beside the old one where the file system can."""
        if self.target_taken:
            if not force:
                raise FileExistsError(errno.EEXIST, "a file has the new name", str(self.new))
            if self.new.is_dir():
                raise IsADirectoryError(errno.EISDIR, "a folder has the new name", str(self.new))
            backup = temporary_beside(self.new)
            self.new.rename(backup)
            self.backup = backup
        try:
            os.link(self.old, self.new, follow_symlinks=False)
            self.linked = True
        except (OSError, NotImplementedError) as error:
            if isinstance(error, FileExistsError) and not _one_entry(self.old, self.new):
                reason = "a file has the new name"
                raise FileExistsError(errno.EEXIST, reason, str(self.new)) from None
            self.old.rename(self.new)  # no hard links here, or the names differ in case alone
            self.moved = True

    def take_back(self) -> None:
        """As if nothing had happened."""
        if self.moved:
            self.new.rename(self.old)
        elif self.linked:
            self.new.unlink()
        if self.backup is not None:
            self.backup.rename(self.new)

    def finish(self) -> None:
        """Let go of the old name, and of what was replaced."""
        if self.linked:
            self.old.unlink()
        if self.backup is not None:
            self.backup.unlink()


def _is_taken(one: Renaming) -> bool:
    return os.path.lexists(one.new) and not _one_entry(one.old, one.new)


def _one_entry(first: Path, second: Path) -> bool:
    """Whether two names of a folder are one to its file system, which ignores case."""
    if first.name.casefold() != second.name.casefold():
        return False
    try:
        return second.name not in os.listdir(second.parent) and first.samefile(second)  # noqa: PTH208
    except OSError:
        return False
