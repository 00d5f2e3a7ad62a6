"""Types that nobody has reach every language by one regenerate, and their vectors pass.

The spec is copied; block types, among them some that are ggml's by their id, and two value types
are added to the copy, T3_0 and Q2_0 as the tutorial writes them; every package is generated from
it; the hand-written programs are built on those packages. No code is edited. The vectors are made
from the same copy, by the interpreter.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from ggufspec.codegen import generate
from languages.questions import of_vectors
from languages.runner import ask, report
from languages.session import program_of, skipped
from languages.toolchains import LANGUAGES
from support import walkthrough
from support.project import ROOT, SPEC
from support.specs import MADE_UP
from vectors.make import make, write

IDS = {"GROUPED": 70, "M3_48": 71, "WORDS": 72}
"""Made-up types that a file can hold; one has bytes in front of rows, one behind the tensor."""

VALUES = """\
SHORT: {id: 20, kind: int, bytes: 2}
STAMP: {id: 21, kind: uint, bytes: 8, since: 2}
RATIO: {id: 22, kind: float, bytes: 4}
"""

LEFT_OUT = {"c-clang", "c++", "c-aarch64", "c-s390x", "go-arm64"}
"""The same packages as others have, compiled in another way."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the changed spec: all that is generated, the programs, the vectors."""
    root = tmp_path_factory.mktemp("made_up")
    shutil.copytree(SPEC, root / "spec", ignore=shutil.ignore_patterns("conformance"))
    for path in (MADE_UP / "types").iterdir():
        text = path.read_text(encoding="utf-8")
        name = path.stem.upper()
        if name in IDS:
            text = text.replace("status: fork", f"status: internal\nid: {IDS[name]}")
        (root / "spec/types" / path.name).write_text(text, encoding="utf-8")
    for path in (MADE_UP / "tables").iterdir():
        shutil.copy(path, root / "spec/tables")
    for name, text in (("t3_0", walkthrough.t3_0()), ("q2_0", walkthrough.q2_0())):
        (root / f"spec/types/{name}.yaml").write_text(text, encoding="utf-8")
    values = root / "spec/container/values.yaml"
    values.write_text(values.read_text(encoding="utf-8") + VALUES, encoding="utf-8")
    generate.write(root / "generated", generate.make_all(root))
    ignore = shutil.ignore_patterns("__pycache__", "node_modules", "target", "dist")
    shutil.copytree(ROOT / "tests/languages", root / "tests/languages", ignore=ignore)
    write(root / "spec/conformance", make(root / "spec"))
    return root


@pytest.mark.parametrize("name", [name for name in LANGUAGES if name not in LEFT_OUT])
def test_language(name: str, tree: Path, tmp_path: Path) -> None:
    language = LANGUAGES[name]
    reason = skipped(language)
    if reason:
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    place = language.built(tree, tree / "build")
    with program_of(language, place) as program:
        outcome = ask(name, program, of_vectors(tree / "spec/conformance", tmp_path))
        said = program.lines("types")
    assert outcome.good, report(outcome)
    assert any(line.startswith("type\t70\tGROUPED\t64\t58\t") for line in said)


def test_other_languages_are_all_there(tree: Path) -> None:
    """A language that was written is generated for the copy too."""
    for language in LANGUAGES.values():
        assert language.exists(tree) or not language.exists(), language.name
