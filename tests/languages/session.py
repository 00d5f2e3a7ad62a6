"""A whole run: which languages there are, what each is asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from support.project import SPEC

from . import more_questions
from .pipe import Program
from .questions import Question, of_vectors
from .runner import Outcome, ask, known_failures
from .toolchains import LANGUAGES, Language, Place

VECTORS = SPEC / "conformance"
SEED = int(os.environ.get("GGUFSPEC_SEED", "1"))
DAMAGED = 400


def skipped(language: Language) -> str | None:
    """Why a language cannot run here; None if it can."""
    if not language.exists():
        return f"{language.name}: not written"
    missing = language.missing()
    return f"{language.name}: {', '.join(missing)} not installed" if missing else None


@contextmanager
def everything() -> Iterator[list[Question]]:
    """All questions; the files they name are there as long as this is open."""
    with tempfile.TemporaryDirectory(prefix="ggufspec-languages-") as folder:
        work = Path(folder)
        yield [
            more_questions.registry(),
            *of_vectors(VECTORS, work),
            *more_questions.random_blocks(SEED),
            *more_questions.random_codes(SEED),
            *more_questions.hostile(work / "hostile"),
            *more_questions.damaged(work / "damaged", DAMAGED, SEED),
            *more_questions.cut(work / "cut"),
            *more_questions.real(work),
        ]


def program_of(language: Language, place: Place) -> Program:
    """Its program, not started yet."""
    return Program(language.command(place), language.environment(place))


def examine(language: Language, questions: Sequence[Question]) -> Outcome:
    """Build a language's program and ask it."""
    place = language.built()
    most = language.largest
    asked = [
        question
        for question in questions
        if (not language.groups or question.group in language.groups)
        and (most is None or (question.size or 0) <= most)
    ]
    with program_of(language, place) as program:
        return ask(language.name, program, asked, known_failures())


def wanted(names: Sequence[str]) -> list[Language]:
    """The languages of these names, or all; ValueError for a name that is none."""
    unknown = set(names) - set(LANGUAGES)
    if unknown:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(LANGUAGES)}")
    return [LANGUAGES[name] for name in names or LANGUAGES]
