"""``ggufspec explain``: every rule, by id and by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ggufspec.generated.rules import RULES

Run = Callable[..., Any]


@pytest.mark.parametrize("wanted", ["GG0101", "gg0101", "magic", " Magic "])
def test_one(wanted: str, run: Run) -> None:
    result = run("explain", wanted)
    rule = RULES["GG0101"]
    assert result.code == 0
    for words in ("GG0101 magic", rule.reason, rule.example, rule.hint, "docs/gguf.md", "strict"):
        assert words in " ".join(result.out.split())


def test_every_rule(run: Run) -> None:
    told = {record["rule"]: record for record in run("explain", "--json").json}
    assert list(told) == list(RULES)
    for number in ("GG0206", "GG0803", "GG1702"):
        for wanted in (number, RULES[number].name):
            assert run("explain", wanted, "--json").json == told[number]


def test_list(run: Run) -> None:
    result = run("explain")
    for rule in RULES.values():
        assert rule.id in result.out
        assert rule.name in result.out


def test_list_of_a_profile(run: Run) -> None:
    listed = [record["rule"] for record in run("explain", "--profile", "ggml", "--json").json]
    assert listed == [number for number, rule in RULES.items() if "ggml" in rule.severities]
    assert "GG0206" not in run("explain", "--profile", "ggml").out


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("GG9999", "did you mean"),
        ("GG0110", "GG0104"),
        ("magik", "magic"),
        ("tensor-name", "tensor-name-empty"),
        ("", "lists them all"),
        ("\x1b[2J", "lists them all"),
    ],
)
def test_unknown(wanted: str, hint: str, run: Run) -> None:
    result = run("explain", wanted)
    assert (result.code, result.out) == (2, "")
    assert hint in result.err
    assert result.err.replace("\n", "").isprintable()


def test_limits_are_shown(run: Run) -> None:
    assert "65,535" in run("explain", "key-too-long").out
