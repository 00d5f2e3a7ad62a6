"""Which files are served, and under which names."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..text import printable

SUFFIX = ".gguf"

MOST = 10_000
"""Files that are listed at most."""


@dataclass(frozen=True)
class Shared:
    """A file that is served: `id` tells nothing of its path, `name` is what people see."""

    id: str
    name: str
    path: Path
    size: int


class Library:
    """The .gguf files of folders, looked up anew each time, and files by themselves."""

    def __init__(self, roots: Iterable[Path], secret: str) -> None:
        """roots: folders and files that exist. secret: what keeps ids from being guessed."""
        self._roots = [Path(os.path.realpath(root)) for root in roots]
        self._secret = secret.encode()
        self._places: dict[str, tuple[Path, Path, str]] = {}

    def files(self) -> list[Shared]:
        """All that is there now, by name; no more than MOST."""
        found: dict[str, Shared] = {}
        for root, path, prefix in self._listed():
            shared = self._shared(root, path, prefix)
            if shared is not None and shared.id not in found:
                found[shared.id] = shared
                self._places[shared.id] = root, path, prefix
            if len(found) == MOST:
                break
        return sorted(found.values(), key=lambda file: (file.name.casefold(), file.name))

    def find(self, wanted: str) -> Shared | None:
        """The file of an id, if it is there and still may be served."""
        if wanted not in self._places:
            self.files()
        place = self._places.get(wanted)
        return self._shared(*place) if place else None

    def _listed(self) -> Iterator[tuple[Path, Path, str]]:
        for root in self._roots:
            prefix = f"{root.name or root}/" if len(self._roots) > 1 and root.is_dir() else ""
            for path in _gguf_files(root):
                yield root, path, prefix

    def _shared(self, root: Path, path: Path, prefix: str) -> Shared | None:
        """A file, unless its links lead out of the folder or to something else."""
        real = Path(os.path.realpath(path))
        if real != root and not (real.is_relative_to(root) and _named_so(real.name)):
            return None
        try:
            status = real.stat()
        except OSError:
            return None
        if not stat.S_ISREG(status.st_mode):
            return None
        inside = path.relative_to(root).as_posix() if path != root else path.name
        number = hmac.new(self._secret, os.fsencode(path), hashlib.sha256).hexdigest()[:32]
        return Shared(number, printable(prefix + inside, 1000), real, status.st_size)


def _named_so(name: str) -> bool:
    return name.lower().endswith(SUFFIX)


def _gguf_files(root: Path) -> Iterator[Path]:
    """Files below a folder whose names end in .gguf; links to folders are not followed."""
    if not root.is_dir():
        yield root
        return
    for folder, below, names in os.walk(root):
        below.sort()
        for name in sorted(names):
            if _named_so(name):
                yield Path(folder, name)
