"""Files on a server: what the header and the size alone cannot tell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..files.remote import RemoteSource
from ..generated.container import PROFILES, RULE_OF, RULES
from ..report import Report
from .findings import Collector
from .reading import Reading

_HINT = "download the file to check all of it"


def with_left_out(report: Report, file: Reading) -> Report:
    """The report, and findings that say what was not looked at."""
    source = file.source
    if not isinstance(source, RemoteSource) or not file.scan.whole or not len(file.scan.tensors):
        return report
    found = Collector(report.profile)
    for checks, why in _left_out(source, report.profile):
        found.add("GG0902", checks=checks, why=why)
    told = (replace(finding, hint=_HINT) for finding in found.findings)
    return replace(report, findings=(*report.findings, *told))


def _left_out(source: RemoteSource, profile: str) -> Iterator[tuple[str, str]]:
    number = [known.name for known in PROFILES].index(profile)
    if RULES[RULE_OF["zero_padding"]].severities[number]:
        yield "the padding between tensors", "only the header was fetched"
    if not source.size_known:
        yield "whether the data end where the file does", "the server does not tell its size"
