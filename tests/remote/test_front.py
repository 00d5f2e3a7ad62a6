"""A file of which only the beginning is there is scanned as if all of it were."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggufspec.container.front import Front
from ggufspec.container.scan import Scan, scan
from ggufspec.generated import container as tables
from support.crafted_cases import all_cases
from support.damaged import FORMS, everything
from support.strategies import Sample, files

PROFILES = [profile.name for profile in tables.PROFILES]
PADDING = tables.RULES[tables.RULE_OF["zero_padding"]].id


class Growing:
    """A file whose bytes come `step` by `step`, and never again the same buffer's worth too far."""

    def __init__(self, data: bytes, step: int) -> None:
        self.data, self.step, self.there, self.asked = data, step, 0, 0
        self.buffer = bytearray(b"\xff" * len(data))

    def reach(self, end: int) -> int:
        assert end <= len(self.data)
        self.asked = max(self.asked, end)
        if end > self.there:
            start, self.there = self.there, min(len(self.data), max(end, self.there + self.step))
            self.buffer[start : self.there] = self.data[start : self.there]
        return self.there

    def scan(self, profile: str) -> Scan:
        front = Front(memoryview(self.buffer), len(self.data), self.reach)
        return scan(front, profile=profile)


def told(found: Scan, data_from: int) -> dict[str, Any]:
    """All that a scan says, but for the padding behind the start of the data."""
    plain = dict(vars(found))
    plain["findings"] = [
        finding
        for finding in found.findings
        if finding.rule != PADDING or (finding.offset or 0) < data_from
    ]
    return plain


def same(data: bytes, step: int, profile: str) -> Growing:
    growing = Growing(data, step)
    expected, found = scan(data, profile=profile), growing.scan(profile)
    assert told(found, expected.data_offset) == told(expected, expected.data_offset)
    return growing


def _crafted() -> Iterator[Any]:
    for case in all_cases():
        if len(case.data) <= 1 << 16:
            yield pytest.param(case.data, id=case.name)


@pytest.mark.parametrize("data", [*_crafted()])
def test_crafted_files(data: bytes) -> None:
    for profile in PROFILES:
        for step in (1, 7, 1 << 20):
            same(data, step, profile)


@pytest.mark.parametrize("form", FORMS)
def test_every_edge_between_pieces(form: str) -> None:
    data = everything(FORMS[form])
    for step in range(1, len(data) + 1):
        same(data, step, "strict")


@pytest.mark.parametrize("form", FORMS)
def test_files_that_end_anywhere(form: str) -> None:
    data = everything(FORMS[form])
    for end in range(len(data)):
        same(data[:end], 1 + end % 50, PROFILES[end % len(PROFILES)])


@given(files(), st.integers(1, 5000), st.sampled_from(PROFILES))
def test_any_file(sample: Sample, step: int, profile: str) -> None:
    same(sample.data, step, profile)


@given(files(), st.data())
def test_any_damaged_file(sample: Sample, draw: st.DataObject) -> None:
    data = bytearray(sample.data)
    for _ in range(draw.draw(st.integers(1, 3))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    same(bytes(data), draw.draw(st.integers(1, 500)), draw.draw(st.sampled_from(PROFILES)))


@given(files(), st.sampled_from(PROFILES))
def test_nothing_behind_the_header_is_asked_for(sample: Sample, profile: str) -> None:
    growing = same(sample.data, 1, profile)
    start = scan(sample.data, profile=profile).data_offset
    assert growing.asked <= start
