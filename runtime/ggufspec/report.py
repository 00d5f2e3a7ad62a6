"""Findings about a file and the verdict they add up to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .errors import GGUFError

Severity = Literal["error", "warning", "info"]
Verdict = Literal["valid", "warnings", "invalid", "unsupported"]


@dataclass(frozen=True)
class Finding:
    """One violated rule: `offset` in bytes from the start of the file, `path` in the spec.

    `unsupported` marks errors that mean "newer than this program or from a fork",
    not "broken". `file` is the name of the file it is in when the report is about a set.
    """

    rule: str
    severity: Severity
    offset: int | None
    path: str
    message: str
    hint: str = ""
    unsupported: bool = False
    file: str = ""

    def error(self) -> GGUFError:
        """The same as an exception."""
        return GGUFError(
            self.message, code=self.rule, offset=self.offset, path=self.path, hint=self.hint
        )


@dataclass(frozen=True)
class Report:
    """What `validate` found: findings in the order of their place in the file.

    `files` are the paths of what was looked at, all files of a set; none for bytes.
    """

    findings: tuple[Finding, ...]
    profile: str
    files: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """`unsupported` only when nothing but unknown versions and type ids is wrong."""
        errors = [finding for finding in self.findings if finding.severity == "error"]
        if errors:
            return "unsupported" if all(error.unsupported for error in errors) else "invalid"
        return "warnings" if any(f.severity == "warning" for f in self.findings) else "valid"

    @property
    def ok(self) -> bool:
        """True when the file has no errors; warnings do not count."""
        return self.verdict in ("valid", "warnings")
