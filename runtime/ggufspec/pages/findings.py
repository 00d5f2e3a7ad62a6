"""What the validator says, rule by rule, with the explanations of the specification."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cli.text import printable

if TYPE_CHECKING:
    from ..report import Finding, Report

_SHOWN = 12  # findings of a rule
_MOST = 120  # groups
_SERIOUS = ("error", "warning", "info")

VERDICTS = {
    "valid": "valid",
    "warnings": "valid, with warnings",
    "invalid": "invalid",
    "unsupported": "not supported: newer than this program, or from a fork",
}


@dataclass(frozen=True)
class Item:
    """One finding."""

    message: str
    path: str
    offset: str
    file: str


@dataclass(frozen=True)
class Group:
    """The findings of one rule, and what the rule is about."""

    rule: str
    name: str
    severity: str
    items: tuple[Item, ...]
    count: int
    hint: str
    reason: str
    example: str

    @property
    def more(self) -> int:
        """Findings that are not shown."""
        return self.count - len(self.items)


def groups(report: Report) -> list[Group]:
    """The findings by rule, errors first; at most so many that a page can hold them."""
    together: dict[tuple[str, str], list[Finding]] = {}
    for finding in report.findings:
        together.setdefault((finding.severity, finding.rule), []).append(finding)
    ordered = sorted(together.items(), key=lambda item: _SERIOUS.index(item[0][0]))
    return [_group(rule, severity, found) for (severity, rule), found in ordered[:_MOST]]


def counts(report: Report) -> dict[str, int]:
    """How many findings there are of each severity."""
    return {
        severity: sum(finding.severity == severity for finding in report.findings)
        for severity in _SERIOUS
    }


def _group(rule_id: str, severity: str, found: list[Finding]) -> Group:
    from ..generated.rules import RULES

    rule = RULES.get(rule_id)
    return Group(
        rule=rule_id,
        name=rule.name if rule else "",
        severity=severity,
        items=tuple(map(_item, found[:_SHOWN])),
        count=len(found),
        hint=_hint(found),
        reason=rule.reason if rule else "",
        example=rule.example if rule else "",
    )


def _hint(found: Iterable[Finding]) -> str:
    """What helps, said once."""
    return "; ".join(dict.fromkeys(printable(f.hint, 300) for f in list(found)[:3] if f.hint))


def _item(finding: Finding) -> Item:
    return Item(
        printable(finding.message, 400),
        printable(finding.path),
        "" if finding.offset is None else f"{finding.offset:,}",
        printable(finding.file),
    )
