"""Which rules a file breaks."""

from __future__ import annotations

import ggufspec
from ggufspec.files.source import ByteSource


def errors(source: ByteSource, profile: str = "strict", *, data: bool = False) -> set[str]:
    """The ids of the rules that a profile calls broken."""
    return _found(source, profile, data, ("error",))


def findings(source: ByteSource, profile: str = "strict", *, data: bool = False) -> set[str]:
    """The ids of all rules that a profile has something to say by."""
    return _found(source, profile, data, ("error", "warning", "info"))


def _found(source: ByteSource, profile: str, data: bool, severities: tuple[str, ...]) -> set[str]:
    report = ggufspec.validate(source, profile, data=data)
    return {finding.rule for finding in report.findings if finding.severity in severities}
