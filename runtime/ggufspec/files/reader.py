"""Opening files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from ..container.scan import ByteOrder
from ..errors import GGUFError
from ..generated.container import DEFAULT_PROFILE, PROFILES
from ..report import Finding
from .dialects import BASE, agree, rotation_keys
from .metadata import Metadata
from .part import Part
from .shards import SET_KEYS, set_count, whole_set
from .source import ByteSource, open_source
from .tensor import Tensors
from .undo import check_undo

if TYPE_CHECKING:
    from typing_extensions import Self


class File:
    """An open GGUF file, or the set of files that it is one of. Read-only; a context manager.

    `metadata` are those of the first file; `tensors` those of all. Arrays made from it stay
    valid after `close`, everything else raises ValueError then. Threads may share it.
    """

    def __init__(self, parts: Sequence[Part], profile: str = DEFAULT_PROFILE["open"]) -> None:
        self.parts = tuple(parts)
        self.profile = profile
        first = parts[0]
        of_set = len(parts) > 1
        self.metadata = Metadata(first.source, first.scan, SET_KEYS) if of_set else first.metadata
        self.tensors = Tensors(self.parts)

    @property
    def version(self) -> int:
        """The version of the container: 1, 2 or 3."""
        return self.parts[0].scan.version

    @property
    def byte_order(self) -> ByteOrder:
        """`little` or `big`."""
        return self.parts[0].scan.byte_order

    @property
    def alignment(self) -> int:
        """Bytes that tensors of the first file are aligned to."""
        return self.parts[0].scan.alignment

    @property
    def dialect(self) -> str:
        """Whose type numbers the files use: `ggml`, or a fork that the tensors' sizes point to.

        Where several fit, the first of them; `findings` say so, and what they disagree about is
        not decoded.
        """
        choice = self.parts[0].choice
        return BASE if choice is None else choice.dialect.name

    @property
    def fitting(self) -> tuple[str, ...]:
        """The dialects that the file may be in: more than one where its sizes fit several."""
        choice = self.parts[0].choice
        return (choice.fitting if choice else ()) or (self.dialect,)

    @cached_property
    def notes(self) -> tuple[Finding, ...]:
        """What to know of the types of forks and their weights; none for an ordinary file."""
        if self.parts[0].choice is None and not rotation_keys(self.metadata):
            return ()
        from ..validation.dialects import notes

        return notes(self)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the profile has against the file without refusing it, and the `notes`."""
        scanned = (finding for part in self.parts for finding in part.scan.findings)
        return (*scanned, *self.notes)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files of the set; none for a buffer."""
        return tuple(Path(part.source.path) for part in self.parts if part.source.path)

    @property
    def size(self) -> int:
        """Bytes of the files together."""
        return sum(part.source.size for part in self.parts)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return all(part.source.closed for part in self.parts)

    def close(self) -> None:
        """Let go of the files."""
        for part in self.parts:
            part.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self.paths[0] if self.paths else "buffer"
        return f"<GGUF {name}: {len(self.metadata)} keys, {len(self.tensors)} tensors>"


def open(  # noqa: A001 - the name is the contract
    source: ByteSource, *, profile: str = DEFAULT_PROFILE["open"], dialect: str | None = None
) -> File:
    """Open a GGUF file for reading: a path, a bytes-like object, or a URL.

    Of a URL (`https://...` as str, or a `files.remote.Remote`) the header is fetched by ranges and
    nothing else: the data of its tensors raise `io.UnsupportedOperation`. It needs httpx.

    Any file of a split set opens the set; of a URL this one file. profile: how much is asked of the
    file before it is opened (`lenient`, `strict`, `spec`, `ggml`). dialect: which fork's type
    numbers it uses. With None the profiles `lenient` and `strict` take the dialect under which the
    tensors tile the data section, the others ggml's own; a file that fits several is opened all the
    same, says so in its `findings`, and decodes nothing that they disagree about.

    GGUFError for what is wrong in the file, with rule, offset and hint; OSError from the
    system; TypeError and ValueError for wrong arguments.
    """
    if profile not in (known.name for known in PROFILES):
        names = ", ".join(known.name for known in PROFILES)
        raise ValueError(f"unknown profile {profile!r}; known: {names}")
    if dialect is not None:
        from ..dialects import find_dialect

        find_dialect(dialect)  # before the file is touched
    part = load_part(source, profile, dialect)
    try:
        parts = [part]
        count = set_count(part)
        if count > 1 and not part.source.remote:
            parts = whole_set(part, count, lambda path: _load_named(path, profile, dialect))
            parts = agree(parts, profile=profile)
        return File(parts, profile)
    except BaseException:
        part.source.close()
        raise


def load_part(origin: ByteSource, profile: str, dialect: str | None) -> Part:
    """One file by itself; GGUFError for what the profile refuses."""
    source = open_source(origin)
    try:
        if source.path is not None:
            check_undo(source.path)
        result, choice = source.scan(profile, dialect)
        result.raise_error()
    except BaseException:
        source.close()
        raise
    return Part(source, result, choice=choice)


def _load_named(path: Path, profile: str, dialect: str | None) -> Part:
    """Another file of a set: its errors say which one it is."""
    try:
        return load_part(path, profile, dialect)
    except GGUFError as error:
        error.message = f"{path}: {error.message}"
        raise
