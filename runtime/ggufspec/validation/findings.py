"""Collects what the checks find beyond the scan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..container.findings import ROOM
from ..errors import GGUFError
from ..generated.container import RULE_OF
from ..generated.container import RULES as CONTAINER_RULES
from ..generated.rules import RULES
from ..report import Finding, Severity
from ..text import printable

ROOM_OF_RULE = 100
"""Findings of one rule that are kept, so that it does not take the room of all others."""

ALL_SHOWN = CONTAINER_RULES[RULE_OF["all_shown"]].id
"""The rule that tells how many findings are left out."""

_SHOWN = 80  # characters of one text in a message
_FEW = 5  # items of one list in a message


class Collector:
    """Findings of one file or set under a profile; rules it does not ask are dropped.

    files: the names of the files of a set, by their number; one empty name for a single file.
    """

    def __init__(self, profile: str, files: Sequence[str] = ("",)) -> None:
        self.profile = profile
        self._files = files
        self._kept: list[Finding] = []
        self._of_rule: Counter[str] = Counter()
        self._left_out: Counter[str] = Counter()  # by severity

    def asks(self, rule_id: str) -> bool:
        """Whether the profile wants to know; spares the work for findings that are dropped."""
        return self.profile in RULES[rule_id].severities

    def limit(self, rule_id: str) -> int:
        """The number that the rule compares with under the profile; asked rules only."""
        return RULES[rule_id].limits[self.profile]

    def add(
        self,
        rule_id: str,
        *,
        offset: int | None = None,
        path: str = "",
        shard: int = 0,
        **names: Any,
    ) -> None:
        """Keep a finding, if the profile asks and there is room.

        offset: in bytes from the start of the file of that number, `shard` (`Tensor.shard`).
        path: the place in the spec (`metadata[3].value`, `tensors[7].dims`); `Model` has them.
        names: what stands in the braces of the rule's message, `limit` aside. Text of the file
        goes in as str or bytes, whatever it holds: it is escaped and cut here; a list is shown
        by its first items.
        """
        rule = RULES[rule_id]
        severity = rule.severities.get(self.profile)
        if severity is None:
            return
        self._of_rule[rule_id] += 1
        if self._of_rule[rule_id] > ROOM_OF_RULE or len(self._kept) >= ROOM:
            self._left_out[severity] += 1
            return
        if self.profile in rule.limits:
            names["limit"] = rule.limits[self.profile]
        self._kept.append(
            Finding(
                rule=rule_id,
                severity=cast("Severity", severity),
                offset=offset,
                path=printable(path, _SHOWN),
                message=rule.message.format(**{name: _shown(v) for name, v in names.items()}),
                hint=rule.hint,
                unsupported=rule.unsupported,
                file=self._files[shard],
            )
        )

    def keep(self, error: GGUFError) -> None:
        """An error of a reader as a finding."""
        message = printable(error.message)
        self._kept.append(
            Finding(error.code, "error", error.offset, error.path, message, error.hint)
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """In the order of the files; the last says how many there was no room for."""
        return (*ordered(self._kept, self._files), *self._more())

    def _more(self) -> Iterable[Finding]:
        errors = self._left_out["error"]
        others = sum(self._left_out.values()) - errors
        if errors or others:
            rule = RULES[ALL_SHOWN]
            message = rule.message.format(errors=errors, others=others)
            severity: Severity = "error" if errors else "info"
            yield Finding(rule.id, severity, None, "", message, rule.hint)


def ordered(findings: Iterable[Finding], files: Sequence[str]) -> list[Finding]:
    """By file, place and rule; what has no place goes last, how many are not listed at the end."""
    number = {file: place for place, file in enumerate(files)}

    def place(finding: Finding) -> tuple[bool, int, bool, int, str]:
        offset, rule = finding.offset, finding.rule
        return rule == ALL_SHOWN, number.get(finding.file, 0), offset is None, offset or 0, rule

    return sorted(findings, key=place)


def _shown(value: Any) -> Any:
    """A value as it may stand in a message; numbers stay numbers, for the message's format."""
    if isinstance(value, (str, bytes)):
        return printable(value, _SHOWN)
    if isinstance(value, (bool, int, float)) or value is None:
        return value
    if hasattr(value, "item"):  # a scalar of NumPy
        return _shown(value.item())
    items = list(value)
    more = f" and {len(items) - _FEW} more" if len(items) > _FEW else ""
    return ", ".join(str(_shown(item)) for item in items[:_FEW]) + more
