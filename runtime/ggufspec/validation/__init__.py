"""The verdict on a file: its structure, what it means, its templates, its data."""

from __future__ import annotations

from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from contextlib import ExitStack
from functools import partial
from typing import Any

from ..container.scan import profile_number
from ..files.source import ByteSource
from ..generated import container as tables
from ..report import Report
from .edits import with_edits
from .reading import Reading, read

__all__ = ["CHECKS", "validate"]

CHECKS = ("structure", "meaning", "templates")


def validate(
    source: ByteSource,
    profile: str = tables.DEFAULT_PROFILE["validate"],
    data: bool = False,
    dialect: str | None = None,
    *,
    checks: Collection[str] = CHECKS,
    base: ByteSource | None = None,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> Report:
    """Check a file, given by its path, as bytes or by its URL, under a profile.

    Any file of a split set stands for the set: all its files are checked, and whether they
    belong together. data: also scan the bytes of all tensors. dialect: whose type numbers the
    file uses; None finds out. checks: what to look at, of `structure`, `meaning` (keys, vocabulary,
    shapes, text) and `templates`. base: the model that an adapter or projector shall fit.
    Profile `ggml` is the verdict of ggml's reader and looks at the structure of this one file.
    threads: processors to use, None for all. advance: told bytes of tensor data as they are done.

    Of a URL only the header is fetched: what the report leaves out it says, and data is refused.

    Never raises for what a file holds. ValueError for an unknown profile, dialect or check,
    OSError where a file cannot be read, or is cut while it is.
    """
    profile_number(profile)  # before anything is opened
    for name in checks:
        if name not in CHECKS:
            raise ValueError(f"unknown check {name!r}; known are {', '.join(CHECKS)}")
    with ExitStack() as opened:
        open_file = partial(read, profile=profile, dialect=dialect, opened=opened)
        first = open_file(source)
        if data:
            first.source.check_data()
        wanted = {*checks, *["data"] * data}
        report = _report(
            first, open_file, wanted, profile, base=base, threads=threads, advance=advance
        )
        if first.source.remote and "structure" in wanted:
            from .remote import with_left_out

            return with_left_out(report, first)
        return with_edits(report)


def _report(
    first: Reading,
    open_file: Callable[[ByteSource], Reading],
    wanted: AbstractSet[str],
    profile: str,
    **options: Any,
) -> Report:
    if wanted <= {"structure"} and _is_simple(first):
        return _told_by_scan(first, profile, wanted)
    from ..generated.rules import READER
    from .closer import look

    if profile == READER:
        return _told_by_scan(first, profile, wanted)
    return look(first, open_file, wanted, profile=profile, **options)


def _told_by_scan(file: Reading, profile: str, wanted: Collection[str]) -> Report:
    findings = file.scan.findings if "structure" in wanted else ()
    return Report(findings, profile, file.paths)


def _is_simple(file: Reading) -> bool:
    """Whether the scan has said all there is to say of the structure."""
    return file.choice is None and not file.says_set
