"""What is said about arrays: every change is told, and together they make one of the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ggufspec
from ggufspec import Value
from ggufspec.edits.elements import ArrayChange, array_change, first_difference

WORDS = st.lists(st.text("abc", max_size=2), max_size=12)
NUMBERS = st.lists(st.integers(0, 5), max_size=12)


def applied(before: list[Any], change: ArrayChange) -> list[Any]:
    """The array after the changes: what stays keeps its order."""
    gone = {one.before_at for one in change.first if one.kind != "insert"}
    new = {one.after_at: one.after for one in change.first if one.kind != "delete"}
    kept = iter([item for at, item in enumerate(before) if at not in gone])
    return [new[at] if at in new else next(kept) for at in range(change.after_count)]


@pytest.mark.parametrize("kind", ["STRING", "INT32"])
@given(st.data())
def test_changes_make_the_other_array(kind: str, data: st.DataObject) -> None:
    items = WORDS if kind == "STRING" else NUMBERS
    before, after = data.draw(items), data.draw(items)
    pair = [Value(f"ARRAY[{kind}]", part) for part in (before, after)]
    change = array_change(*pair, shown=100)
    assert change is not None
    assert applied(before, change) == after
    counts = change.changed, change.inserted, change.deleted
    assert sum(counts) == len(change.first)
    assert change.after_count - change.before_count == change.inserted - change.deleted
    for one in change.first:
        if one.before_at is not None:
            assert one.before == before[one.before_at]
        if one.kind == "change":
            assert one.before != one.after
    if before == after:
        assert counts == (0, 0, 0)


def test_one_element_more_is_one_insertion() -> None:
    """In the midst of many, with some elsewhere that changed."""
    before = [f"w{n}" for n in range(3000)]
    after = before.copy()
    after.insert(1500, "new")
    after[10] = "other"
    del after[2500]
    after += ["x", "y"]
    change = array_change(*(Value("ARRAY[STRING]", part) for part in (before, after)))
    assert change is not None
    assert (change.changed, change.inserted, change.deleted) == (1, 3, 1)
    first, second, *_ = change.first
    assert (first.kind, first.before_at, first.before, first.after) == (
        "change",
        10,
        "w10",
        "other",
    )
    assert (second.kind, second.after_at, second.after) == ("insert", 1500, "new")


def test_arrays_in_files(tmp_path: Path) -> None:
    """Of any form, also nested; a NaN is compared by its bits."""
    nan = np.array([1, np.nan, 3], np.float32)
    other = nan.copy()
    other.view(np.uint32)[1] += 1
    nested = [[1, 2], [3]], [[1, 2], [4]]
    files = []
    for number, order in enumerate(("little", "big")):
        path = tmp_path / f"{number}.gguf"
        keys = {
            "same": Value("ARRAY[FLOAT32]", nan),
            "bits": Value("ARRAY[FLOAT32]", (nan, other)[number]),
            "nested": Value("ARRAY[ARRAY[INT32]]", nested[number]),
            "long": Value("ARRAY[UINT8]", bytes(100_000) + bytes([number])),
            "text": "a",
        }
        ggufspec.write(path, keys, {}, byte_order=order)  # type: ignore[arg-type]
        files.append(ggufspec.open(path))
    with files[0] as first, files[1] as second:
        pairs = {key: [file.metadata.stored(key) for file in files] for key in first.metadata}
        found = {key: array_change(*pair) for key, pair in pairs.items()}
        del pairs
    assert second.closed
    assert found["text"] is None
    told = {
        key: change and [one.before_at for one in change.first] for key, change in found.items()
    }
    assert told == {"same": [], "bits": [1], "nested": [1], "long": [100_000], "text": None}


@given(st.text("ab", max_size=6), st.text("ab", max_size=6))
def test_first_difference(one: str, other: str) -> None:
    at = first_difference(one, other)
    assert one[:at] == other[:at]
    assert one == other or one[at : at + 1] != other[at : at + 1]
