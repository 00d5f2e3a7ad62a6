"""The runner itself: it sees wrong answers, ends, hangs, greed, and a list that is not true."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest

from languages import runner
from languages.pipe import Program
from languages.questions import Question, equals
from languages.runner import Known, Outcome, ask, known_failures, matrix, report

CHILD = """
import sys, time
for line in sys.stdin:
    word = line.strip()
    if word == "die":
        sys.exit(3)
    if word == "hang":
        time.sleep(60)
    if word == "greed":
        bytearray(b"x") * (200 << 20)
    print(word, flush=False)
    print("end", flush=True)
"""


def _asked(requests: Sequence[str], known: Sequence[Known] = (), right: str = "") -> Outcome:
    questions = [
        Question("hostile", word, word, equals(right or word), size=10) for word in requests
    ]
    with Program([sys.executable, "-c", CHILD]) as program:
        return ask("child", program, questions, known)


def test_right_answers() -> None:
    outcome = _asked(["a", "b"])
    assert outcome.good
    assert outcome.cell("hostile") == "2"


@pytest.mark.parametrize(
    ("word", "wrong"), [("die", "ended with 3"), ("greed", "takes"), ("hang", "no answer in time")]
)
def test_bad_programs(word: str, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "SECONDS", 3.0)
    outcome = _asked(["a", word, "b"])
    assert [(f.name, f.wrong[: len(wrong)]) for f in outcome.failures] == [(word, wrong)]
    assert outcome.cell("hostile") == "2/3"


def test_known_failure_and_unexpected_pass() -> None:
    entry = Known("chi*", "hostile", "a", "because")
    assert _asked(["a"], [entry], right="other").good
    outcome = _asked(["a"], [entry])
    assert not outcome.good
    assert "unexpected: hostile a passes; because" in report(outcome)
    assert "1" in matrix([outcome], ["x: y not installed"])
    assert _asked(["a"], [entry._replace(language="other")]).good


def test_reasons_are_given() -> None:
    assert all(len(entry.reason) > 10 for entry in known_failures())
