"""The report: what a file holds, as one page."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GGUFError
from ..files.reader import open as open_file
from ..text import printable

if TYPE_CHECKING:
    from ..files.reader import File
    from ..report import Report

EXTRA = "report"
"""The extra that brings what draws the plots and fills the page."""

LIMIT = 2_000_000
"""Bytes that no page exceeds, whatever the file."""


def missing() -> str:
    """The module that has to be installed before a report can be made; "" for none."""
    from importlib.util import find_spec

    return next((name for name in ("jinja2", "vl_convert") if find_spec(name) is None), "")


def make_report(
    file: str | os.PathLike[str],
    reference: str | os.PathLike[str] | None = None,
    *,
    dialect: str | None = None,
    data: bool = False,
    threads: int | None = None,
    begin: Callable[[int], None] = lambda _: None,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[str, Report]:
    """The page about a file, and the validator's report that is part of it.

    The page is HTML that loads nothing: below `LIMIT` bytes as UTF-8, with all text out of the
    file escaped. Any file of a split set stands for the set. A file that cannot be opened has a
    page of its findings. reference: a file to measure the error against. data: also scan the
    bytes of all tensors for values that cannot be. begin, advance: told how many bytes there are
    to be read, and those that were.

    ImportError without the extra; OSError from the system; GGUFError where the reference cannot
    be opened.
    """
    from ..validation import validate

    with ExitStack() as stack:
        other = stack.enter_context(open_file(reference, dialect=dialect)) if reference else None
        try:
            opened = stack.enter_context(open_file(file, dialect=dialect))
        except GGUFError as error:
            opened, failure = None, error.message
        else:
            failure = ""
        begin(_work(opened, other, data=data))
        report = validate(file, dialect=dialect, data=data, threads=threads, advance=advance)
        context = _context(Path(file), opened, report) | {"failure": printable(failure, 400)}
        if opened is not None:
            context |= _contents(opened, other, threads, advance)
    from .frame import page

    return page(context, LIMIT), report


def _work(opened: File | None, other: File | None, *, data: bool) -> int:
    if opened is None:
        return 0
    from .comparison import work

    scanned = sum(tensor.nbytes for tensor in opened.tensors.values()) if data else 0
    return scanned + (work(other, opened) if other else 0)


def _context(path: Path, opened: File | None, report: Report) -> dict[str, Any]:
    """What there is to say of any file."""
    from . import facts, findings

    size = opened.size if opened else path.stat().st_size
    return {
        "title": facts.title(path, opened),
        "file": printable(path.name),
        "headline": facts.headline(size, opened),
        "further": facts.further(opened) if opened else [],
        "verdict": {"kind": report.verdict, "text": findings.VERDICTS[report.verdict]},
        "profile": report.profile,
        "findings": findings.groups(report),
        "counts": findings.counts(report),
    }


def _contents(
    opened: File, other: File | None, threads: int | None, advance: Callable[[int], None]
) -> dict[str, Any]:
    """What a file that can be opened holds."""
    from . import colours, metadata, places, plots, tables

    every = list(opened.tensors.values())
    shades = colours.of_types(every)
    grid = places.grid(every)
    rows, left = metadata.rows(opened.metadata)
    made: dict[str, Any] = {
        "metadata": rows,
        "metadata_more": f"{left:,} keys more: ggufspec meta get FILE lists all." if left else "",
        "templates": metadata.templates(opened.metadata),
    }
    if not every:
        return made
    comparison = None
    if other is not None:
        from .comparison import compared

        comparison = compared(other, opened, grid, threads=threads, advance=advance)
    return made | {
        "size_plot": plots.size_plot(every, shades),
        "roles": tables.roles(grid),
        "type_plot": plots.type_plot(grid, shades),
        "bits_plot": plots.bits_plot(grid, places.Cell(every).bits),
        "comparison": comparison,
        "tensors": tables.tensors(every, comparison.by_tensor if comparison else None),
        "kinds": tables.kinds(shades),
    }
