"""reports.md speaks of every report that has a test, and of the others says which issue."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_the_list_is_complete() -> None:
    text = HERE.with_name("reports.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (R\d\d) \|.*\| (.*) \|$", text, re.MULTILINE))
    tested: dict[str, set[str]] = {}
    for path in HERE.glob("test_*.py"):
        for number in re.findall(
            r"^def test_r(\d\d)_", path.read_text(encoding="utf-8"), re.MULTILINE
        ):
            tested.setdefault(f"R{number}", set()).add(path.name)
    assert set(tested) <= set(rows)
    for number, where in rows.items():
        assert set(re.findall(r"test_\w+\.py", where)) <= tested.get(number, set()), number
        assert number in tested or "issue" in where, number
