"""SARIF 2.1.0: findings as code-scanning services take them.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..files.urls import is_url
from ..generated.rules import AREAS, RULES
from .failures import LIMIT
from .text import printable

if TYPE_CHECKING:
    from ..report import Finding, Report
    from .failures import CommandError

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_HOME = "https://github.com/ggml-org/ggml/blob/master/docs/gguf.md"  # what the rules are about

Told = tuple[str, "Report | None", "CommandError | None"]
"""The path of a file, and the report on it or why there is none."""


def log(outcomes: Sequence[Told]) -> dict[str, Any]:
    """One run over all files."""
    from .. import __version__

    used = sorted({finding.rule for _, report, _ in outcomes for finding in _findings(report)})
    results = [
        _result(finding, path, report, used.index(finding.rule))
        for path, report, _ in outcomes
        if report is not None
        for finding in report.findings
    ]
    driver = {
        "name": "ggufspec",
        "version": __version__,
        "informationUri": _HOME,
        "rules": [_rule(rule_id) for rule_id in used],
    }
    notes = [_notification(path, failure) for path, _, failure in outcomes if failure is not None]
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "artifacts": [{"location": {"uri": reference}} for reference in _references(outcomes)],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def uri(path: str) -> str:
    """A path as a reference: relative ones stay relative, whatever bytes are in the name."""
    if is_url(path):
        return path
    encoded = quote(os.fsencode(Path(path).as_posix()))
    if Path(path).is_absolute():
        return f"file://{'' if encoded.startswith('/') else '/'}{encoded}"
    # A colon in the first part would make it a scheme.
    return encoded.replace("%3A", ":") if "/" in encoded.partition("%3A")[0] else encoded


def _references(outcomes: Sequence[Told]) -> Iterable[str]:
    """Every file once, all files of a set."""
    files = (report.files if report is not None else (path,) for path, report, _ in outcomes)
    return dict.fromkeys(map(uri, chain.from_iterable(files)))


def _findings(report: Report | None) -> Iterable[Finding]:
    return report.findings if report is not None else ()


def _rule(rule_id: str) -> dict[str, Any]:
    rule = RULES[rule_id]
    levels = list(rule.severities.values())
    grave = next(level for level in _LEVELS if level in levels)
    text = f"{rule.reason}\n\nExample: {rule.example}\n\nWhat to do: {rule.hint}"
    return {
        "id": rule.id,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": f"{AREAS[rule.id[:4]]}: {rule.name.replace('-', ' ')}"},
        "fullDescription": {"text": rule.reason or rule.hint},
        "help": {"text": text},
        "defaultConfiguration": {"level": _LEVELS[grave]},
        "properties": {"tags": list(rule.source), "severities": rule.severities},
    }


def _result(finding: Finding, path: str, report: Report, index: int) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": uri(_file(finding, path, report))}}
    if finding.offset is not None:
        where["region"] = {"byteOffset": finding.offset}
    location: dict[str, Any] = {"physicalLocation": where}
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.path)}]
    message = f"{finding.message} ({finding.hint})" if finding.hint else finding.message
    return {
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": printable(message, LIMIT)},
        "locations": [location],
    }


def _file(finding: Finding, path: str, report: Report) -> str:
    """The file of a set that a finding is in."""
    return next((file for file in report.files if Path(file).name == finding.file), path)


def _notification(path: str, failure: CommandError) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": printable(failure.message, LIMIT)},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri(path)}}}],
    }
