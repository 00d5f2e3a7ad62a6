"""Faults in spec/rules are refused with file, line, YAML path and a sentence."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ggufspec.codegen.errors import SpecError, show_path
from ggufspec.codegen.rules import outputs
from support.project import SPEC
from support.specs import real_spec

FAULTS = {
    # name: (file, text, what stands for it, YAML path, message)
    "unknown_profile": (
        "text", "severity: {strict: warning}", "severity: {strickt: warning}",
        "GG1701.severity.strickt", "profiles are ggml, spec, strict, lenient",
    ),
    "the_readers_profile": (
        "text", "severity: {strict: warning}", "severity: {ggml: warning}",
        "GG1701.severity.ggml", "profile ggml is the verdict of its reader",
    ),
    "unknown_severity": (
        "text", "severity: {strict: warning}", "severity: {strict: fatal}",
        "GG1701.severity.strict", '"fatal" is not one of error, warning, info',
    ),
    "id_that_is_taken": (
        "text", "GG1702:", "GG0101:", "GG0101", "another rule has this id",
    ),
    "name_that_is_taken": (
        "text", "name: text-control", "name: magic", "GG1702.name", "GG0101 has that name already",
    ),
    "area_that_nobody_names": (
        "text", "GG1702:", "GG1802:", "GG1802", "rules/areas.yaml has no area GG18",
    ),
    "id_of_another_form": (
        "text", "GG1702:", "GGX702:", "GGX702", '"GGX702" is not of the form',
    ),
    "no_reason": (
        "shards", "  reason: >-", "  resaon: >-", "GG0811.resaon",
        "unknown key; did you mean reason?",
    ),
    "lone_brace": (
        "shards", "one of {count};", "one of {count;", "GG0811.message", "expected '}'",
    ),
    "no_name_in_braces": (
        "shards", "one of {count};", "one of {0};", "GG0811.message", "{0} is not a name in braces",
    ),
    "limit_that_is_not_there": (
        "shards", "one of {count};", "one of {limit};", "GG0811.message", "{limit} needs a limit",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_fault(name: str, tmp_path: Path) -> None:
    stem, old, new, path, message = FAULTS[name]
    for folder in ("container", "rules", "schema"):
        shutil.copytree(SPEC / folder, tmp_path / folder)
    file = tmp_path / "rules" / f"{stem}.yaml"
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        outputs(replace(real_spec(), root=tmp_path))
    error = caught.value
    assert (error.file, show_path(error.path)) == (f"rules/{stem}.yaml", path)
    assert error.message.startswith(message)


def test_a_severity_that_stands_alone_is_for_all_but_the_reader(tmp_path: Path) -> None:
    for folder in ("container", "rules", "schema"):
        shutil.copytree(SPEC / folder, tmp_path / folder)
    [made] = outputs(replace(real_spec(), root=tmp_path))
    names: dict[str, object] = {}
    exec(compile(made.body, "rules.py", "exec"), names)
    rule = names["RULES"]["GG0811"]  # type: ignore[index]
    assert rule.severities == {"strict": "info", "spec": "info", "lenient": "info"}
