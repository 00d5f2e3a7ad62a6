"""Parts of a file that were never written: they read as zeros and cost nothing to claim."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple, cast

from ..files.source import Source
from ..generated.container import RULE_OF
from ..generated.container import RULES as CONTAINER_RULES
from ..generated.rules import RULES
from ..report import Finding, Severity
from .findings import ALL_SHOWN

LIMIT = max(RULES["GG0903"].limits.values())
"""Bytes of holes that nobody minds: zeros that a copy has left out."""

_MOST = 100_000  # holes that are counted
_BOUNDS = {CONTAINER_RULES[RULE_OF[check]].id for check in ("fits", "count_fits")}
"""Rules that compare with the end of what was looked at."""


class Holes(NamedTuple):
    """Holes of a file of more than `LIMIT` bytes together: where they pass it, and all of them."""

    first: int
    passed: int
    total: int


def find_holes(source: Source) -> Holes | None:
    """What a file has of them; None for nearly all files."""
    first = passed = None
    count = 0
    for _, (start, end) in zip(range(_MOST), source.holes(), strict=False):
        first = start if first is None else first
        if passed is None and count + end - start > LIMIT:
            passed = start + LIMIT - count
        count += end - start
    return None if first is None or passed is None else Holes(first, passed, count)


def in_metadata(holes: Holes, found: Collection[Finding]) -> tuple[Finding, ...]:
    """What a scan up to there has found, and whether the keys reach further than anyone should go.

    That is so if it ended there, and not at something else that is wrong.
    """
    if not any(finding.rule in {*_BOUNDS, ALL_SHOWN} for finding in found):
        return tuple(found)
    beyond = _finding("GG0903", "error", holes.passed, "metadata", LIMIT)
    return (*(finding for finding in found if finding.rule not in _BOUNDS), beyond)


def in_data(holes: Holes, profile: str) -> tuple[Finding, ...]:
    """Tensors lie where nothing is."""
    severity = RULES["GG0904"].severities.get(profile)
    if severity is None:
        return ()
    return (_finding("GG0904", cast("Severity", severity), holes.first, "data", holes.total),)


def _finding(rule_id: str, severity: Severity, offset: int, path: str, count: int) -> Finding:
    rule = RULES[rule_id]
    message = rule.message.format(offset=offset, count=count)
    return Finding(rule_id, severity, offset, path, message, rule.hint)
