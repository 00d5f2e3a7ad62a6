"""``ggufspec validate``: whether files are what the format says."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import failures, machine, screen, text
from .options import Json, file_argument
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

_WORST = (failures.SYSTEM, failures.INVALID, failures.UNSUPPORTED)
"""Of several files the first of these is the exit code."""

_STYLES = {"valid": "bold green", "warnings": "bold yellow"}


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


def command(
    files: Annotated[list[Path], file_argument("FILE...", "GGUF files.")],
    profile: Annotated[
        Profile, typer.Option("--profile", help="The rules: whose reader has to accept the file.")
    ] = Profile.strict,
    fail_on: Annotated[
        Level, typer.Option("--fail-on", help="The least finding that counts as invalid.")
    ] = Level.error,
    as_json: Json = False,
) -> None:
    """Check the structure of files: valid 0, invalid 1, unknown version or type 3."""
    codes, records = [], []
    for path in files:
        try:
            report = _validate(path, profile.value)
        except OSError as error:
            failure = failures.of_error(error)
            codes.append(failure.exit)
            records.append({"file": str(path), **failures.record(failure)})
            failures.complain(failure)
            continue
        codes.append(_code(report, fail_on))
        records.append(_record(path, report))
        if not as_json:
            _show(path, report)
    if as_json:
        machine.emit({"files": records})
    raise typer.Exit(next((code for code in _WORST if code in codes), 0))


def _validate(path: Path, profile: str) -> Report:
    import ggufspec

    report: Report = ggufspec.validate(path, profile)
    return report


def _code(report: Report, fail_on: Level) -> int:
    if report.verdict == "warnings":
        return failures.INVALID if fail_on == Level.warning else 0
    return {"valid": 0, "unsupported": failures.UNSUPPORTED}.get(report.verdict, failures.INVALID)


def _show(path: Path, report: Report) -> None:
    verdict = "valid, with warnings" if report.verdict == "warnings" else report.verdict
    screen.say(
        f"{text.printable(str(path))}: {verdict} (profile {report.profile})",
        _STYLES.get(report.verdict, "bold red"),
    )
    if report.findings:
        screen.table(FINDINGS, map(_row, report.findings))
        screen.say()


def _row(finding: Finding) -> tuple[str, str, str, str, str]:
    hint = f" ({finding.hint})" if finding.hint else ""
    return (
        finding.rule,
        finding.severity,
        "" if finding.offset is None else f"{finding.offset:,}",
        text.printable(finding.path),
        text.printable(finding.message + hint, 400),
    )


def _record(path: Path, report: Report) -> dict[str, Any]:
    return {
        "file": str(path),
        "profile": report.profile,
        "verdict": report.verdict,
        "ok": report.ok,
        "findings": [
            {
                "rule": finding.rule,
                "severity": finding.severity,
                "offset": finding.offset,
                "path": finding.path,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in report.findings
        ],
    }
