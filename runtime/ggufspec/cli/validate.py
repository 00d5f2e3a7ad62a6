"""``ggufspec validate``: whether files are what the format says."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files.urls import Remote
from . import failures, machine, screen, text
from .failures import CommandError
from .inputs import Group, Target, expand, grouped
from .options import Dialect, Json, MaxBytes, Threads, limited, target_argument
from .screen import Column

if TYPE_CHECKING:
    from ..report import Finding, Report

FINDINGS = (
    Column("rule", style="cyan"),
    Column("severity"),
    Column("byte", right=True),
    Column("place", style="green"),
    Column("finding"),
)
OF_A_SET = (Column("file"), *FINDINGS)

_WORST = (failures.SYSTEM, failures.USAGE, failures.INVALID, failures.UNSUPPORTED)
"""Of several files the first of these is the exit code."""

_VERDICTS = ("invalid", "unsupported", "warnings", "valid")
"""The worst first: that of several files together."""

_STYLES = {"valid": "bold green", "warnings": "bold yellow"}
_LONGEST = 400  # characters of a finding on the screen
_SHOWN = 5  # findings of a rule in a file


class Profile(str, Enum):
    """What a file is held against."""

    strict = "strict"
    ggml = "ggml"
    spec = "spec"
    lenient = "lenient"


class Level(str, Enum):
    """The least finding that makes a file fail."""

    error = "error"
    warning = "warning"


@dataclass(frozen=True)
class Outcome:
    """What came of a file, or of the set that it is one of: a report, or why there is none."""

    path: Target
    report: Report | None = None
    failure: CommandError | None = None


def command(
    files: Annotated[
        list[Any],
        target_argument(
            "FILE...", "GGUF files, folders that are searched for them, patterns, or https:// "
            "URLs: of those the header alone is fetched.",
        ),
    ],
    profile: Annotated[
        Profile, typer.Option("--profile", help="The rules: whose reader has to accept the file.")
    ] = Profile.strict,
    data: Annotated[
        bool, typer.Option("--data", help="Scan the bytes of all tensors as well.")
    ] = False,
    checks: Annotated[
        str,
        typer.Option("--checks", metavar="LIST", help="What to look at, joined by commas."),
    ] = "structure,meaning,templates",
    base: Annotated[
        Path | None,
        typer.Option(
            "--with",
            metavar="BASE",
            readable=False,
            help="The model that an adapter, projector or control vector shall fit.",
        ),
    ] = None,
    dialect: Dialect = None,
    fail_on: Annotated[
        Level, typer.Option("--fail-on", help="The least finding that counts as invalid.")
    ] = Level.error,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print one line a file.")] = False,
    threads: Threads = None,
    max_bytes: MaxBytes = None,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code scanning.")
    ] = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Check files: valid 0, invalid 1, unknown version or type 3.

    A file of a split set stands for the set, a folder for the .gguf files in it and below.

    `ggufspec explain` tells what the rules mean.
    """
    if sarif and as_json:
        raise failures.usage("--json and --sarif exclude each other")
    looked_at = _checks(checks)
    if base is not None and (profile == Profile.ggml or "meaning" not in looked_at):
        raise failures.usage(
            "--with has no effect here",
            hint="it needs the check 'meaning', and another profile than ggml",
        )
    targets = [limited(file, max_bytes) for file in files]
    if data and any(isinstance(target, Remote) for target in targets):
        raise failures.usage("--data needs the whole file, not its URL", hint="download it first")
    options = {
        "profile": profile.value,
        "data": data,
        "checks": looked_at,
        "base": base,
        "dialect": dialect,
    }
    outcomes = []
    show = _brief if quiet else _full
    for outcome in _outcomes(targets, options, threads):
        outcomes.append(outcome)
        if outcome.failure is not None:
            failures.complain(outcome.failure)
        elif not (as_json or sarif):
            show(outcome)
    if as_json:
        machine.emit(_record_all(outcomes))
    elif sarif:
        from .sarif import log

        machine.emit(log([(str(o.path), o.report, o.failure) for o in outcomes]))
    codes = [_code(outcome, fail_on) for outcome in outcomes]
    raise typer.Exit(next((code for code in _WORST if code in codes), 0))


def _checks(wanted: str) -> tuple[str, ...]:
    from ..validation import CHECKS

    names = tuple(name.strip() for name in wanted.split(","))
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise failures.usage(
            f"there is no check {unknown[0]!r}", hint=f"--checks takes {', '.join(CHECKS)}"
        )
    return names


def _outcomes(
    arguments: Sequence[Target], options: dict[str, Any], threads: int | None
) -> Iterator[Outcome]:
    """One for every file and set, in the order of the arguments; bad arguments first."""
    found = list(expand(arguments))
    for failure in found:
        if isinstance(failure, CommandError):
            yield Outcome(Path(failure.file), failure=failure)
    groups = grouped(path for path in found if not isinstance(path, CommandError))
    if len(groups) == 1:
        yield from _one(groups[0], {**options, "threads": threads})
    elif groups:
        yield from _many(groups, options, threads)


def _one(group: Group, options: dict[str, Any]) -> list[Outcome]:
    """A single file or set, in this process."""
    from .progress import Progress

    size = sum(map(_size, group)) if options["data"] else 0
    with Progress("checking", size, quiet=not options["data"]) as progress:
        return _examine(group, {**options, "advance": progress.advance})


def _many(
    groups: Sequence[Group], options: dict[str, Any], threads: int | None
) -> Iterator[Outcome]:
    """Files in other processes: whatever one does to its process, the others are told of."""
    from ..blocks.kernels import at_most_processors  # loads NumPy once for all processes
    from .progress import Progress
    from .workers import each

    used = at_most_processors(threads)
    processes = min(used, len(groups))
    work = partial(_examine, options={**options, "threads": used // processes})
    sizes = [sum(map(_size, group)) for group in groups]
    with Progress("checking", sum(sizes)) as progress:
        for size, outcomes in zip(sizes, each(work, groups, _lost, processes), strict=True):
            yield from outcomes
            progress.advance(size)


def _examine(group: Group, options: dict[str, Any]) -> list[Outcome]:
    """What is to be said of files whose names make them a set; what does belong is said once."""
    from ..validation import validate

    outcomes = []
    told: set[str] = set()
    for path in group:
        remote = isinstance(path, Remote)
        if not remote and os.path.abspath(str(path)) in told:  # noqa: PTH100 - links stay links
            continue
        try:
            report = validate(path, **options)
        except Exception as error:
            if os.environ.get("GGUFSPEC_TRACEBACK"):
                raise
            failure = failures.of_error(error)
            outcomes.append(Outcome(path, failure=replace(failure, file=failure.file or str(path))))
        else:
            told.update(map(os.path.abspath, report.files))
            outcomes.append(Outcome(path, report))
    return outcomes


def _lost(group: Group, code: int) -> list[Outcome]:
    """The process that looked at the files is gone."""
    ending = f"signal {-code}" if code < 0 else f"exit code {code}"
    failure = CommandError(
        f"the process that checked it ended with {ending}",
        failures.SYSTEM,
        hint="out of memory, or a fault of ggufspec: please report it, with the file",
    )
    return [Outcome(path, failure=replace(failure, file=str(path))) for path in group]


def _size(path: Target) -> int:
    try:
        return 0 if isinstance(path, Remote) else path.stat().st_size
    except OSError:
        return 0


def _code(outcome: Outcome, fail_on: Level) -> int:
    if outcome.report is None:
        return outcome.failure.exit if outcome.failure else failures.SYSTEM
    verdict = outcome.report.verdict
    if verdict == "warnings":
        return failures.INVALID if fail_on == Level.warning else 0
    return {"valid": 0, "unsupported": failures.UNSUPPORTED}.get(verdict, failures.INVALID)


def _headline(outcome: Outcome, report: Report) -> str:
    verdict = "valid, with warnings" if report.verdict == "warnings" else report.verdict
    of_set = f", {len(report.files)} files" if len(report.files) > 1 else ""
    return f"{text.printable(str(outcome.path))}: {verdict} (profile {report.profile}{of_set})"


def _brief(outcome: Outcome) -> None:
    """One line: the verdict, and how many findings there are."""
    report = outcome.report
    assert report is not None
    counts = [
        text.plural(count, severity) if severity != "info" else f"{count:,} info"
        for severity in ("error", "warning", "info")
        if (count := sum(finding.severity == severity for finding in report.findings))
    ]
    line = ": ".join([_headline(outcome, report), *[", ".join(counts)] * bool(counts)])
    screen.say(line, _STYLES.get(report.verdict, "bold red"))


def _full(outcome: Outcome) -> None:
    """The verdict and a table of all findings."""
    report = outcome.report
    assert report is not None
    screen.say(_headline(outcome, report), _STYLES.get(report.verdict, "bold red"))
    if report.findings:
        of_set = any(finding.file for finding in report.findings)
        row: Callable[[Finding], tuple[str, ...]] = _row_of_set if of_set else _row
        screen.table(OF_A_SET if of_set else FINDINGS, map(row, _shortened(report.findings)))
        screen.say()


def _shortened(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The first few of a kind with their hint once, and how many more there are."""
    kinds = [(finding.file, finding.rule, finding.severity) for finding in findings]
    counts = Counter(kinds)
    told: Counter[tuple[str, str, str]] = Counter()
    hints: set[tuple[str, str]] = set()
    for finding, kind in zip(findings, kinds, strict=True):
        told[kind] += 1
        more = counts[kind] - _SHOWN
        if told[kind] <= _SHOWN or more == 1:
            known = (finding.rule, finding.hint) in hints
            yield replace(finding, hint="") if known else finding
            hints.add((finding.rule, finding.hint))
        elif told[kind] == _SHOWN + 1:
            message = f"{more:,} more of these; --json lists all"
            yield replace(finding, offset=None, path="", message=message, hint="")


def _row(finding: Finding) -> tuple[str, ...]:
    hint = f" ({finding.hint})" if finding.hint else ""
    return (
        finding.rule,
        finding.severity,
        "" if finding.offset is None else f"{finding.offset:,}",
        text.printable(finding.path),
        text.printable(finding.message + hint, _LONGEST),
    )


def _row_of_set(finding: Finding) -> tuple[str, ...]:
    return (text.printable(finding.file), *_row(finding))


def _record_all(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """For machines; the verdict over all is the worst, null when a file could not be checked."""
    verdicts = [o.report.verdict if o.report else None for o in outcomes]
    worst = next((verdict for verdict in _VERDICTS if verdict in verdicts), None)
    return {
        "verdict": None if None in verdicts else worst,
        "files": [_record(outcome) for outcome in outcomes],
    }


def _record(outcome: Outcome) -> dict[str, Any]:
    report, failure = outcome.report, outcome.failure
    record: dict[str, Any] = {"file": str(outcome.path)}
    if report is None:
        return {**record, **(failures.record(failure) if failure else {})}
    if len(report.files) > 1:
        record["set"] = list(report.files)
    return {
        **record,
        "profile": report.profile,
        "verdict": report.verdict,
        "ok": report.ok,
        "findings": [_finding(finding) for finding in report.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        **({"file": finding.file} if finding.file else {}),
        "rule": finding.rule,
        "severity": finding.severity,
        "offset": finding.offset,
        "path": finding.path,
        "message": finding.message,
        "hint": finding.hint,
    }
