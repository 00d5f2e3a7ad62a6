"""YAML as spec files use it: plain data, each value with the line it came from."""

from __future__ import annotations

from typing import Any

import pytest

from ggufspec.codegen.source import parse_yaml

TEXT = """\
name: Q
codes:
  q: ['one',
    'two']
  r:
    p=0: three

order: {a: 1,
        b: 2}
"""


def test_lines() -> None:
    source = parse_yaml(TEXT, "q.yaml")
    lines = {(): 1, ("name",): 1, ("codes",): 2, ("codes", "q"): 3, ("codes", "q", 0): 3}
    lines |= {("codes", "q", 1): 4, ("codes", "r", "p=0"): 6, ("order", "a"): 8, ("order", "b"): 9}
    assert {path: source.line(path) for path in lines} == lines
    assert source.line(("codes", "q", 7)) == 3, "a missing place has its parent's line"
    assert source.line(("nothing", "there")) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("0x1f", 31),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("010", "010"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2024-05-01", "2024-05-01"),
        ("2024-13-45", "2024-13-45"),
        ("'7'", "7"),
        ("<<", "<<"),
        ("=", "="),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_values(text: str, value: Any) -> None:
    """Numbers, true, false and null mean something; all else is text, dates too."""
    found = parse_yaml(f"key: {text}\n", "file.yaml").data["key"]
    assert (found, type(found)) == (value, type(value))
