"""``ggufspec report``: a file as one HTML page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import machine, screen, text
from .failures import USAGE, CommandError
from .options import Dialect, Force, Json, Threads, file_argument, file_name
from .paths import check_output, reading, writing
from .progress import Progress

if TYPE_CHECKING:
    from ..report import Report

EXAMPLES = (
    "ggufspec report model.gguf",
    "ggufspec report model-Q4_K_M.gguf -o q4.html --reference model-F16.gguf",
    "ggufspec report model.gguf --data --force --json",
)

_SHARD = re.compile(r"-\d{5}-of-\d{5}$")


def command(
    file: Annotated[Path, file_argument("FILE", "A GGUF file, or any file of a split set.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            parser=file_name,
            show_default=False,
            help="The page to write; by default the file's name with .report.html, here.",
        ),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            "--reference",
            metavar="REFERENCE",
            parser=file_name,
            show_default=False,
            help="The file that counts as exact: the page shows the error against it.",
        ),
    ] = None,
    data: Annotated[
        bool,
        typer.Option("--data", help="Scan the bytes of all tensors as well, as validate does."),
    ] = False,
    threads: Threads = None,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Write one HTML page that shows what a file holds: size, types, error, findings, metadata.

    The page is below 2 MB, needs no network and sends nothing. A broken file gets a page too: the
    exit code says whether the page was written, and `validate` whether the file is good.
    """
    from .. import pages

    if module := pages.missing():
        raise CommandError(
            f"the report needs {module}, which is not installed",
            USAGE,
            hint=f"pip install 'ggufspec[{pages.EXTRA}]'",
        )
    target = output or Path(_SHARD.sub("", file.stem) + ".report.html")
    check_output(target, [path for path in (file, reference) if path], force=force)
    page, report, seconds = _make(file, reference, dialect, threads, data=data, quiet=as_json)
    content = page.encode()
    _write(target, content, force=force)
    if as_json:
        machine.emit(
            {
                "output": str(target),
                "bytes": len(content),
                "verdict": report.verdict,
                "findings": len(report.findings),
                "seconds": round(seconds, 3),
            }
        )
    else:
        findings = text.plural(len(report.findings), "finding")
        screen.say(
            f"{text.printable(str(target))}: {text.size(len(content))}; the file is "
            f"{report.verdict if report.verdict != 'warnings' else 'valid, with warnings'} "
            f"({findings})"
        )


def _make(
    file: Path,
    reference: Path | None,
    dialect: str | None,
    threads: int | None,
    *,
    data: bool,
    quiet: bool,
) -> tuple[str, Report, float]:
    """The page, the validator's report in it, and the seconds that it took."""
    from ..files.undo import check_undo
    from ..pages import make_report

    for path in filter(None, (file, reference)):
        with reading(path):
            check_undo(path)

    with Progress("reading", 0, quiet=quiet) as progress:

        def begin(total: int) -> None:
            progress.total = total

        with reading(reference or file):  # a file that cannot be opened has a page of its findings
            page, report = make_report(
                file,
                reference,
                dialect=dialect,
                data=data,
                threads=threads,
                begin=begin,
                advance=progress.advance,
            )
        return page, report, progress.seconds


def _write(target: Path, content: bytes, *, force: bool) -> None:
    from ..files.atomic import AtomicFile

    with writing(target), AtomicFile(target, replace=force) as sink:
        sink.write(content)
