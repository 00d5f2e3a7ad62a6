"""Files that get their names together: all of them, or none, and never a mixture with old ones."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

from ..files.atomic import mode_of, naming, sync_folder, temporary_beside


class Made(Protocol):
    """A whole file that waits for its name."""

    path: str
    target: Path
    temporary: Path
    replace: bool


def name_together(files: Sequence[tuple[Made, Callable[[], object]]]) -> None:
    """Give all files their names, the first last; where one cannot have it, none has.

    Each comes with what renames it. Files that are replaced are set aside, the first before any
    other changes: nobody finds a mixture of old and new files that begins with a first one, not
    even where this is killed. Whatever fails, all old files have their names again; OSError says
    where one is that cannot have it.
    """
    first, *others = [_Step(made, rename) for made, rename in files]
    steps = [*reversed(others), first]
    try:
        if others:
            first.set_aside()
        for step in steps:
            if others:
                step.set_aside()
            step.give()
    except BaseException:
        _take_back(steps)
        raise
    with ExitStack() as rest:  # all of it, even if one is interrupted
        for step in steps:
            rest.callback(step.finish)


def _take_back(steps: Sequence[_Step]) -> None:
    """Everything as it was: old files come back, the first last."""
    *others, first = steps
    with ExitStack() as rest:
        rest.callback(lambda: first.take_back(remain=any(step.displaced for step in others)))
        for step in others:
            rest.callback(step.take_back)
    lost = [step for step in steps if step.displaced]
    if lost:
        names = ", ".join(step.backup.name for step in lost if step.backup)
        raise OSError(
            lost[0].errno, f"what it held cannot get its name back and is now {names}",
            lost[0].made.path,
        )  # fmt: skip


class _Step:
    """One file on the way to its name, and the one that had it."""

    def __init__(self, made: Made, rename: Callable[[], object]) -> None:
        self.made, self._rename = made, rename
        self.backup: Path | None = None  # what the one that had the name is called, or shall be
        self.errno = 0
        self._status = made.temporary.stat()

    @property
    def displaced(self) -> bool:
        """Whether the one that had the name is under another."""
        return self.backup is not None and os.path.lexists(self.backup)

    def set_aside(self) -> None:
        """Let the file that is to be replaced have another name."""
        target = self.made.target
        if self.backup is not None or not self.made.replace:
            return
        with naming(self.made.path):
            if mode_of(target) is None:
                return
            self.backup = temporary_beside(target)
            target.rename(self.backup)
            sync_folder(target.parent)

    def give(self) -> None:
        """Let the new file have the name."""
        self._rename()

    def take_back(self, *, remain: bool = False) -> None:
        """As before. remain: the name shall be free rather."""
        target = self.made.target
        try:
            if self._is_new(target):
                target.replace(self.made.temporary)
            if self.backup is not None and self.displaced and not remain:
                self.backup.rename(target)
                sync_folder(target.parent)
        except OSError as error:
            self.errno = error.errno or 0

    def finish(self) -> None:
        """Let go of what was replaced."""
        if self.backup is not None:
            with suppress(OSError):  # the next run names it
                self.backup.unlink()

    def _is_new(self, target: Path) -> bool:
        """Whether it is the file that was made here, and no other."""
        try:
            return os.path.samestat(target.lstat(), self._status)
        except OSError:
            return False
