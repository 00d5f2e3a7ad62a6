"""Asks one language everything and judges the answers."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import yaml

from .pipe import Program, ProgramError
from .questions import GROUPS, Question

EXPECTED = Path(__file__).with_name("expected_failures.yaml")
SECONDS, PER_BYTE = 20.0, 2e-6
"""For one answer, and more for files of many MB: catches a hang, is no measure of speed."""

ROOM, FACTOR = 64 << 20, 16
"""Memory that a program may grow by for a file: so much, and so much for each byte that it reads
or answers."""


class Failure(NamedTuple):
    """A question whose answer was wrong, and how."""

    group: str
    name: str
    wrong: str


@dataclass
class Outcome:
    """What one language made of all questions."""

    language: str
    asked: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    expected: list[Failure] = field(default_factory=list)
    surprises: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        """No failure without a reason, and no reason without a failure."""
        return not self.failures and not self.surprises

    def cell(self, group: str) -> str:
        """A cell of the matrix."""
        asked = self.asked[group]
        failed = sum(f.group == group for f in self.failures)
        known = sum(f.group == group for f in self.expected)
        if not asked:
            return ""
        text = str(asked) if not failed + known else f"{asked - failed - known}/{asked}"
        return f"{text} ({known} known)" if known else text


class Known(NamedTuple):
    """An entry of expected_failures.yaml: patterns, and why."""

    language: str
    group: str
    name: str
    reason: str

    def covers(self, language: str, failure: Failure) -> bool:
        """Whether a failure is one of these."""
        return (
            fnmatchcase(language, self.language)
            and failure.group == self.group
            and fnmatchcase(failure.name, self.name)
        )


def known_failures(path: Path = EXPECTED) -> list[Known]:
    """The list; each entry says why."""
    entries = yaml.safe_load(path.read_text(encoding="utf-8")) or []
    return [Known(**entry) for entry in entries]


def ask(
    language: str, program: Program, questions: Iterable[Question], known: Sequence[Known] = ()
) -> Outcome:
    """Ask everything; a program that dies is started anew for the next question."""
    outcome = Outcome(language)
    start = time.monotonic()
    used: set[Known] = set()
    for question in questions:
        outcome.asked[question.group] += 1
        wrong = _wrong(program, question)
        if wrong is None:
            continue
        failure = Failure(question.group, question.name, wrong)
        reasons = [entry for entry in known if entry.covers(language, failure)]
        used.update(reasons)
        (outcome.expected if reasons else outcome.failures).append(failure)
    for entry in known:
        concerns = fnmatchcase(language, entry.language) and outcome.asked[entry.group]
        if concerns and entry not in used:
            outcome.surprises.append(f"{entry.group} {entry.name} passes; {entry.reason}")
    outcome.seconds = time.monotonic() - start
    return outcome


def _wrong(program: Program, question: Question) -> str | None:
    """What is wrong with the answer, its time or its memory."""
    try:
        if question.size is None:
            return question.judge(program.ask(question.request, SECONDS))
        program.forget_peak()
        before = program.peak()
        limit = SECONDS + PER_BYTE * question.size
        answer = program.ask(question.request, limit)
        return question.judge(answer) or _too_much(
            program.peak() - before, question.size + len(answer)
        )
    except ProgramError as error:
        return str(error)


def _too_much(used: int, size: int) -> str | None:
    most = ROOM + FACTOR * size
    return f"takes {used >> 20} MB, at most {most >> 20} are allowed" if used > most else None


def matrix(outcomes: Sequence[Outcome], skipped: Sequence[str]) -> str:
    """A table: a row for each group of questions, a column for each language."""
    groups = [group for group in GROUPS if any(o.asked[group] for o in outcomes)]
    rows = [["", *(outcome.language for outcome in outcomes)]]
    rows += [[group, *(outcome.cell(group) for outcome in outcomes)] for group in groups]
    rows.append(["seconds", *(f"{outcome.seconds:.1f}" for outcome in outcomes)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(w) if n == 0 else cell.rjust(w)
            for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([*lines, *(f"skipped: {text}" for text in skipped)])


def report(outcome: Outcome, most: int = 20) -> str:
    """What is wrong, a line each."""
    lines = [f"{outcome.language}: {f.group}: {f.name}: {f.wrong}" for f in outcome.failures]
    shown = lines[:most] + ([f"... {len(lines) - most} more"] if len(lines) > most else [])
    return "\n".join([*shown, *(f"{outcome.language}: unexpected: {s}" for s in outcome.surprises)])
