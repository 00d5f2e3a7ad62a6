"""Real files: no errors, and no warnings but those that the table explains."""

from __future__ import annotations

import time

import pytest

import ggufspec
from support.project import ROOT
from support.realfiles import gemma3, smollm2, vocabulary, vocabulary_names
from support.rules import errors

_HYPHEN = "the architecture's name has a hyphen, and so have the keys it starts"
TRUE: dict[str, dict[str, str]] = {
    # file -> rule -> why it is right, under the profile strict
    "ggml-vocab-command-r.gguf": {"GG0206": _HYPHEN},
    "ggml-vocab-nomic-bert-moe.gguf": {"GG0206": _HYPHEN},
    "smollm2-135m.imatrix.gguf": {"GG0701": "importance matrices have no architecture; an info"},
}
ERRORS = {
    # under the profile spec, where the documentation asks for what these files do not have
    "spec": {"GG0206", "GG0701", "GG0702"},
    "strict": set(),
    "lenient": set(),
}
MODELS = {"smollm2": smollm2, "gemma3": gemma3}


def told(report: ggufspec.Report) -> dict[str, str]:
    """Rules and messages of all findings but those of templates, which have tests of their own."""
    return {f.rule: f.message for f in report.findings if not f.rule.startswith("GG14")}


@pytest.mark.parametrize("name", vocabulary_names())
def test_vocabularies(name: str) -> None:
    path = vocabulary(name)
    report = ggufspec.validate(path)
    assert report.ok
    assert told(report).keys() == TRUE.get(name, {}).keys(), told(report)
    for profile, known in ERRORS.items():
        assert errors(path, profile) <= known


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    path = MODELS[name]()
    assert told(ggufspec.validate(path)) == {}
    for profile in ERRORS:
        assert errors(path, profile) == set()


def test_importance_matrix() -> None:
    path = ROOT / "tests" / "data" / "smollm2-135m.imatrix.gguf"
    assert told(ggufspec.validate(path)).keys() == TRUE[path.name].keys()


def test_the_largest_vocabulary_takes_no_time() -> None:
    """262,144 tokens and 514,906 merges: a tenth of a second of work, ten to catch a hang."""
    path = vocabulary("ggml-vocab-gemma-4.gguf")
    start = time.process_time()
    assert ggufspec.validate(path, checks=("meaning",)).ok
    assert time.process_time() - start < 10
