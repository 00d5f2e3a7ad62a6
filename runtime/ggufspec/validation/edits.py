"""Files that an edit in place may have left between two states."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from ..files.undo import RULE, find_undo, undo_message
from ..report import Finding, Report, Severity


def with_edits(report: Report) -> Report:
    """The report, and a finding for each of its files that has an undo file beside it."""
    undone = [(path, undo) for path in report.files if (undo := find_undo(path))]
    if not undone:
        return report
    from ..generated.rules import RULES

    rule = RULES[RULE]
    severity = rule.severities.get(report.profile, "info")  # ggml's reader does not look for it
    found = (
        Finding(
            RULE, cast("Severity", severity), None, "", undo_message(undo), rule.hint,
            file=Path(path).name if len(report.files) > 1 else "",
        )
        for path, undo in undone
    )  # fmt: skip
    return replace(report, findings=(*found, *report.findings))
