"""A file that is open for checks: its bytes and what the scan says of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..container.dialects import Choice, scan_as
from ..container.scan import Scan
from ..files.guard import guarded
from ..files.source import ByteSource, Source
from ..generated.shards import COUNT_KEY
from .holes import find_holes, in_data, in_metadata

if TYPE_CHECKING:
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
    """Open a file until `opened` ends, and scan it; raises as `Source` and `scan_as` do."""
    source = Source(origin)
    opened.callback(source.close)
    opened.enter_context(guarded(source))
    holes = find_holes(source)
    view = source.view
    if holes is not None:
        start, choice = scan_as(view[: holes.passed], profile=profile, dialect=dialect)
        if not start.whole:
            found = in_metadata(holes, start.findings)
            return Reading(source, replace(start, findings=found), choice, filled=False)
    scanned, choice = scan_as(view, profile=profile, dialect=dialect)
    if holes is not None:
        found = (*scanned.findings, *in_data(holes, profile))
        scanned = replace(scanned, findings=found)
    return Reading(source, scanned, choice, filled=holes is None)
