"""Metadata in the making: those of one file, and what an edit does to them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ..files.arrays import Stored, value_of
from ..files.atomic import resolved
from ..files.reader import load_part
from ..files.values import architecture_of
from ..text import printable
from .errors import EditError
from .plain import Entry

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..files.metadata import Metadata
    from ..files.part import Part


@dataclass(frozen=True)
class Stamp:
    """Which file it is, and whether somebody has written to it."""

    device: int
    inode: int
    size: int
    changed: int

    @staticmethod
    def of(status: os.stat_result) -> Stamp:
        """That of a file."""
        return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


@dataclass
class Draft:
    """The keys and values of a file, to be changed and planned (`plan_edit`).

    Of a split set it is the named file alone. `before` is what the file holds, `entries` what it
    is to hold, in order. A context manager: the file stays open until its end.
    """

    path: Path
    part: Part
    stamp: Stamp
    before: Mapping[str, Stored]
    entries: dict[str, Entry] = field(default_factory=dict)

    @staticmethod
    def open(path: str | os.PathLike[str], *, dialect: str | None = None) -> Draft:
        """Start from what the file holds. GGUFError, OSError and ValueError as `ggufspec.open`."""
        target = resolved(os.fspath(path))
        stamp = Stamp.of(target.stat())
        part = load_part(path, "lenient", dialect)
        before = part.metadata.stored_items()
        return Draft(Path(path), part, stamp, before, dict(before))

    def set(self, key: str, entry: Entry) -> None:
        """Give a key a value: in its place if it is there, else behind all others."""
        if not key:
            raise EditError("a key is empty", "usage", file="")
        self.entries[key] = entry

    def delete(self, key: str) -> None:
        """Remove a key; EditError where there is none."""
        self._present(key)
        del self.entries[key]

    def rename(self, old: str, new: str) -> None:
        """Give a key another name in its place."""
        self._present(old)
        if not new:
            raise EditError("the new key is empty", "usage", file="")
        if new in self.entries and new != old:
            raise EditError(
                f"the key {printable(new)!r} is there already", "usage",
                hint="delete it first",
            )  # fmt: skip
        self.entries = {new if key == old else key: e for key, e in self.entries.items()}

    def replace(self, entries: Mapping[str, Entry]) -> None:
        """Hold these keys and no others, in this order."""
        self.entries = dict(entries)

    def copy(self, source: Metadata, keys: Iterable[str]) -> None:
        """Take keys over from another file."""
        for key in keys:
            self.set(key, source.stored(key))

    def matching(self, pattern: str) -> list[str]:
        """The key of that name, or those that a pattern with ``*`` fits; EditError for none."""
        return matching(self.entries, pattern)

    @property
    def architecture(self) -> str | None:
        """The architecture that the entries name."""
        return architecture(self.entries)

    def close(self) -> None:
        """Let go of the file."""
        self.part.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _present(self, key: str) -> None:
        if key not in self.entries:
            raise missing(key)


def matching(keys: Iterable[str], pattern: str) -> list[str]:
    """The key of that name, or those that a pattern with ``*`` fits; EditError for none."""
    known = list(keys)
    if pattern in known:
        return [pattern]
    found = [key for key in known if fnmatchcase(key, pattern)] if "*" in pattern else []
    if not found:
        raise missing(pattern)
    return found


def missing(key: str) -> EditError:
    """A key that is not there."""
    return EditError(f"there is no key {printable(key)!r}", "check")


def architecture(entries: Mapping[str, Any]) -> str | None:
    """The architecture that entries name."""
    entry = entries.get("general.architecture")
    value = value_of(entry) if isinstance(entry, Stored) else entry
    return architecture_of({"general.architecture": value})
