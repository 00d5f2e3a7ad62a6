"""Every rule is explained, used, and told with the names that its message has."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from ggufspec.generated import container, shards
from ggufspec.generated.rules import AREAS, READER, RULES
from support.project import ROOT

RUNTIME = ROOT / "runtime" / "ggufspec"
CHECKS = sorted((RUNTIME / "validation").glob("*.py"))
PLACES = {"offset", "path", "shard"}


def braces(message: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(message) if name}


def additions(path: Path) -> Iterator[tuple[str, set[str], bool]]:
    """Each `found.add("GG...", ...)` of a module: the rule, the names, whether these are all."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Attribute(attr="add"), args=[ast.Constant(str(rule))]):
                names = {word.arg for word in node.keywords if word.arg}
                more = [ast.unparse(word.value) for word in node.keywords if not word.arg]
                yield rule, names - PLACES, all("place" in text for text in more)


@pytest.mark.parametrize("path", CHECKS, ids=lambda path: path.stem)
def test_messages_get_their_names(path: Path) -> None:
    for rule, names, all_of_them in additions(path):
        wanted = braces(RULES[rule].message) - {"limit"}
        assert names == wanted if all_of_them else names <= wanted, rule


def test_every_rule_is_used() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in RUNTIME.rglob("*.py"))
    used = set(re.findall(r'"(GG\d{4})"', text))
    elsewhere = {rule.id for rule in container.RULES} | {r.id for r in shards.RULES.values()}
    assert set(RULES) - elsewhere - used == set()
    assert used <= set(RULES)


def test_rules_are_whole() -> None:
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    for number, rule in RULES.items():
        assert rule.id == number
        assert number[:4] in AREAS
        for words in (rule.message, rule.hint, rule.reason, rule.example):
            assert words.strip() == words != ""
            assert words.isprintable()


def test_the_readers_profile_has_the_containers_rules_alone() -> None:
    of_reader = {number for number, rule in RULES.items() if READER in rule.severities}
    assert of_reader <= {rule.id for rule in container.RULES}
    profiles = [profile.name for profile in container.PROFILES]
    for rule in container.RULES:
        asked = {p: s for p, s in zip(profiles, rule.severities, strict=True) if s}
        assert RULES[rule.id].severities == asked
