"""What a collector keeps: bounded, escaped, in order."""

from __future__ import annotations

import numpy as np
import pytest

from ggufspec.container.findings import ROOM
from ggufspec.generated.rules import RULES
from ggufspec.validation.findings import ROOM_OF_RULE, Collector

RULE = "GG1702"  # a warning of strict alone
NAMES = {"count": 1, "character": "U+001B", "at": 0}


def add(found: Collector, **more: object) -> None:
    found.add(RULE, **{"key": "k", **NAMES, **more})  # type: ignore[arg-type]


def test_other_profiles_do_not_ask() -> None:
    for profile in ("spec", "lenient", "ggml"):
        found = Collector(profile)
        assert not found.asks(RULE)
        add(found)
        assert found.findings == ()
    assert Collector("strict").asks(RULE)


def test_text_is_escaped_and_cut() -> None:
    found = Collector("strict")
    add(found, key="a\x1b[2J\u202e\u200b\udcff" + "x" * 10_000)
    add(found, key=b"\xff\x00", character=["\n"] * 9)
    add(found, key="{at}{}", count=np.int64(3), path="p\n" * 500)
    first, second, third = (finding.message for finding in found.findings)
    assert r"a\x1b[2J\u202e\u200b\xff" in first
    assert "more characters" in first
    assert r"\xff\0" in second
    assert r"\n, \n, \n, \n, \n and 4 more" in second
    assert "{at}{} contains control characters (3)" in third
    for finding in found.findings:
        assert finding.message.isprintable()
        assert finding.path.isprintable()
        assert len(finding.message) + len(finding.path) < 500


def test_room() -> None:
    found = Collector("strict")
    for number in range(3 * ROOM_OF_RULE):
        add(found, offset=number)
    found.add("GG0803", file="f", missing=1, count=2)
    *kept, last = found.findings
    assert len(kept) == ROOM_OF_RULE + 1
    assert (last.rule, last.severity) == ("GG0901", "info")
    assert f" {2 * ROOM_OF_RULE} other findings" in last.message


def test_errors_without_room_are_an_error() -> None:
    found = Collector("strict")
    others = [rule for rule in RULES if "{" not in RULES[rule].message.replace("{limit}", "")]
    for _ in range(ROOM):
        for rule in others[:20]:
            found.add(rule)
    for _ in range(ROOM_OF_RULE + 1):
        found.add("GG0803", file="f", missing=1, count=2)
    assert len(found.findings) <= ROOM + 1
    assert found.findings[-1].rule == "GG0901"
    assert found.findings[-1].severity == "error"


def test_order() -> None:
    found = Collector("strict", ("one", "two"))
    add(found, offset=5, shard=1)
    add(found, shard=1)
    add(found, offset=7)
    add(found, offset=0, shard=1)
    assert [(f.file, f.offset) for f in found.findings] == [
        ("one", 7), ("two", 0), ("two", 5), ("two", None),
    ]  # fmt: skip


def test_wrong_names_are_a_fault_of_ours() -> None:
    with pytest.raises(KeyError):
        Collector("strict").add(RULE, key="k")
