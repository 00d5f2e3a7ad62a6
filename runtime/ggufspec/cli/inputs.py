"""Which files the arguments stand for: files, folders and patterns, sets taken together."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator
from itertools import dropwhile
from pathlib import Path

from ..files.shard_names import parse_shard_name
from ..files.urls import Remote
from .failures import CommandError, of_error

SUFFIX = ".gguf"

Target = Path | Remote
"""A file, or one on a server."""

Group = tuple[Target, ...]
"""Files whose names make them one set, or one file of its own."""


def expand(arguments: Iterable[Target]) -> Iterator[Target | CommandError]:
    """Each file once, in the order of the arguments, and what is wrong with an argument.

    A folder stands for every file in it and below whose name ends in .gguf (links to folders are
    not followed), a pattern that is no file itself for what it matches; `**` goes through folders
    in the same way. A file is found again by another path to its folder, not by a link to it.
    """
    seen: set[str] = set()
    for found in _all(arguments):
        name = _identity(found)
        if name not in seen:
            seen.add(name)
            yield found


def grouped(files: Iterable[Target]) -> list[Group]:
    """Files of one set side by side, at the place of the first of them; URLs by themselves."""
    groups: dict[object, list[Target]] = {}
    for path in files:
        if isinstance(path, Remote):
            groups[path] = [path]
            continue
        name = parse_shard_name(path.name)
        key = (os.path.realpath(path.parent), name.prefix, name.count) if name else path
        groups.setdefault(key, []).append(path)
    return [tuple(group) for group in groups.values()]


def _all(arguments: Iterable[Target]) -> Iterator[Target | CommandError]:
    for argument in arguments:
        if isinstance(argument, Remote):
            yield argument
            continue
        name = str(argument)
        if os.path.lexists(name) or not glob.has_magic(name):
            yield from _one(argument)
            continue
        matches = sorted(set(_matching(name)))
        for match in matches:
            yield from _one(Path(match))
        if not matches:
            yield of_error(FileNotFoundError(errno.ENOENT, "no file matches", name))


def _matching(pattern: str) -> Iterator[str]:
    """What `glob.glob` finds, whose own `**` follows links to folders, round and round.

    A `**` at the end stands for the folder.
    """
    parts = Path(pattern).parts
    if "**" not in parts:
        yield from glob.iglob(pattern)  # noqa: PTH207 - patterns of any folder
        return
    at = parts.index("**")
    rest = [*dropwhile("**".__eq__, parts[at:])]
    tops = glob.iglob(os.path.join(*parts[:at])) if at else [os.curdir]  # noqa: PTH118, PTH207
    for top in tops:
        if not rest:
            yield top
            continue
        for folder, below, _ in os.walk(top):
            below[:] = [name for name in below if not name.startswith(".")]
            yield from _matching(os.path.join(glob.escape(folder), *rest))  # noqa: PTH118


def _identity(found: Target | CommandError) -> str:
    """A file's name in its folder, however the folder is reached; a link to a file has its own."""
    match found:
        case CommandError():
            return found.file
        case Remote():
            return found.url
    return os.path.join(os.path.realpath(found.parent), found.name)  # noqa: PTH118


def _one(path: Path) -> Iterator[Path | CommandError]:
    if not path.is_dir():
        yield path
        return
    errors: list[OSError] = []
    count = 0
    for folder, below, names in os.walk(path, onerror=errors.append):
        below.sort()
        for name in sorted(names):
            if name.lower().endswith(SUFFIX):
                count += 1
                yield Path(folder, name)
    yield from map(of_error, errors)
    if not count and not errors:
        yield of_error(FileNotFoundError(errno.ENOENT, f"no *{SUFFIX} file in it", str(path)))
