"""Every language with a toolchain here answers every question rightly.

In CI a missing toolchain is a failure. GGUFSPEC_SEED takes other random blocks and damage.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from languages.questions import Question
from languages.runner import report
from languages.session import everything, examine, skipped
from languages.toolchains import LANGUAGES


@pytest.fixture(scope="module")
def questions() -> Iterator[list[Question]]:
    with everything() as asked:
        yield asked


@pytest.mark.parametrize("name", LANGUAGES)
def test_language(name: str, questions: list[Question]) -> None:
    language = LANGUAGES[name]
    reason = skipped(language)
    if reason:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    outcome = examine(language, questions)
    assert outcome.good, report(outcome)
    assert sum(outcome.asked.values()) > (1000 if language.groups else 4000)
