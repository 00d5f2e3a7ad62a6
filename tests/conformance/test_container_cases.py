"""Crafted files: which error each profile sees first, and where."""

from __future__ import annotations

import pytest

from support.container import PROFILES, first_error
from support.crafted_cases import Case, all_cases

CASES = all_cases()


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_first_error(case: Case, profile: str) -> None:
    assert first_error(case.data, profile) == case.expected[profile]
