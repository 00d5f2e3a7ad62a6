"""A file that is open for checks: its bytes and what the scan says of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..container.scan import Buffer, Scan, scan
from ..files.guard import guarded
from ..files.source import ByteSource, Source, open_source
from ..generated.shards import COUNT_KEY

if TYPE_CHECKING:
    from ..container.dialects import Choice
    from ..files.part import Part


class Reading(NamedTuple):
    """All that checks of the structure of an ordinary file need.

    `filled`: whether its bytes were written, but for a few; see `holes`.
    """

    source: Source
    scan: Scan
    choice: Choice | None
    filled: bool = True

    @property
    def paths(self) -> tuple[str, ...]:
        """Its path, if it has one."""
        return (self.source.path,) if self.source.path is not None else ()

    @property
    def says_set(self) -> bool:
        """Whether it says of how many files it is one."""
        keys, view, name = self.scan.keys, self.source.view, COUNT_KEY.encode()
        return any(
            length == len(name) and view[offset : offset + length] == name
            for offset, length in zip(keys.key_offset, keys.key_length, strict=True)
        )

    def part(self) -> Part:
        """The same as a file of a model."""
        from ..files.part import Part

        return Part(self.source, self.scan, choice=self.choice)


def read(origin: ByteSource, *, profile: str, dialect: str | None, opened: ExitStack) -> Reading:
    """Open a file until `opened` ends, and scan it; raises as `open_source` and `scan_as` do."""
    source = open_source(origin)
    opened.callback(source.close)
    if source.remote:
        return Reading(source, *source.scan(profile, dialect))
    opened.enter_context(guarded(source))
    if next(source.holes(), None) is not None:
        return _read_with_holes(source, profile, dialect)
    return Reading(source, *_scan(source.view, profile, dialect))


def _read_with_holes(source: Source, profile: str, dialect: str | None) -> Reading:
    """The same for a file of which parts were never written, where nobody walks through them."""
    from .holes import find_holes, in_data, in_metadata

    view, holes = source.view, find_holes(source)
    if holes is None:
        return Reading(source, *_scan(view, profile, dialect))
    start, choice = _scan(view[: holes.passed], profile, dialect)
    if not start.whole:
        found = in_metadata(holes, start.findings)
        return Reading(source, replace(start, findings=found), choice, filled=False)
    whole, choice = _scan(view, profile, dialect)
    found = (*whole.findings, *in_data(holes, profile))
    return Reading(source, replace(whole, findings=found), choice, filled=False)


def _scan(view: Buffer, profile: str, dialect: str | None) -> tuple[Scan, Choice | None]:
    """`scan_as`, which a file without tensors does not need: it tells nothing of dialects."""
    if dialect is None:
        found = scan(view, profile=profile)
        if not len(found.tensors):
            return found, None
        from ..container.dialects import settled

        return settled(view, found, profile)
    from ..container.dialects import scan_as

    return scan_as(view, profile=profile, dialect=dialect)
