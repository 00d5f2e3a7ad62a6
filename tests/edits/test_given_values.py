"""Values and documents that say no one thing, or something that only Python would take."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError
from ggufspec.edits.assignments import parse_assignment
from ggufspec.edits.documents import Format, read_document
from ggufspec.edits.elements import array_change

PYTHON = ("int()", "float()", "base 10", "sys.", "codec", "Exceeds", "None", "True", "dict")
ARABIC = "\u0663"
DOTLESS = "\u0131"


@pytest.fixture
def draft(tmp_path: Path) -> Iterator[Draft]:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {"general.name": "a"}, {"t": np.ones(8, np.float32)})
    with Draft.open(path) as opened:
        yield opened


@pytest.mark.parametrize(
    "word",
    [
        "INT8:1_0", f"INT8:{ARABIC}", "INT8:1e1", "INT8:0x", "INT8:0x_f", "INT8:010", "INT8:",
        "INT8:+-1", "INT8:\u00a01", "UINT64:" + "9" * 6000, "UINT64:0x" + "f" * 6000,
        "FLOAT32:1_0", f"FLOAT32:{ARABIC}", "FLOAT32:1e", "FLOAT32:.", "FLOAT32:",
        "FLOAT32:infinite", "FLOAT64:1e400", "FLOAT64:-1e400", "FLOAT32:1e400",
        "FLOAT64:" + "9" * 400, "ARRAY[FLOAT64]:[1e400]", "ARRAY[FLOAT64]:[[-1e400]]",
        "ARRAY[UINT64]:[" + "9" * 6000 + "]", "ARRAY[UINT8]:{\"a\": 1, \"a\": 1}",
        f"ARRAY[{DOTLESS}nt8]:[1]", f"{DOTLESS}nt8:1", 'ARRAY[STRING]:["a", {"bits": "01"}]',
        "ARRAY[BOOL]:[null]", "ARRAY[BOOL]:[1]", "ARRAY[STRING]:[true]",
    ],
)  # fmt: skip
def test_words_that_are_refused(draft: Draft, word: str) -> None:
    with pytest.raises(EditError) as told:
        parse_assignment(f"x.y={word}", draft)
    assert not any(word in str(told.value) for word in PYTHON)


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("INT8:-0x10", -16), ("UINT8:0b11", 3), ("UINT8:0o17", 15), ("UINT8: 3 ", 3),
        ("UINT8:00", 0), ("FLOAT32:.5", 0.5), ("FLOAT32:5.", 5.0), ("FLOAT32:-1E3", -1000.0),
        ("FLOAT64:-Infinity", float("-inf")), ("FLOAT64:inf", float("inf")),
        ("FLOAT64:1.7976931348623157e308", 1.7976931348623157e308), ("FLOAT64:1e-999", 0.0),
    ],
)  # fmt: skip
def test_words_that_are_taken(draft: Draft, word: str, value: float) -> None:
    [(_, entry)] = parse_assignment(f"x.y={word}", draft)
    assert isinstance(entry, Value)
    assert entry.value == value


def one(type_: str, value: str, form: Format = "json") -> str:
    """A document with a value as it is written there."""
    if form == "json":
        record = f'{{"key": "a", "type": "{type_}", "value": {value}}}'
        return f'{{"gguf_metadata": 1, "metadata": [{record}]}}'
    return f"gguf_metadata: 1\nmetadata:\n- {{key: a, type: '{type_}', value: {value}}}\n"


JSON = {
    "overflow": one("FLOAT64", "1e400"),
    "overflow of FLOAT32": one("FLOAT32", "1e39"),
    "overflow in an array": one("ARRAY[FLOAT64]", "[1e400]"),
    "too large": one("UINT8", "256"),
    "negative": one("UINT8", "-1"),
    "digits": one("UINT64", "9" * 6000),
    "fewer digits": one("UINT64", "9" * 4000),
    "surrogate": one("STRING", '"\\ud800"'),
    "other letters": one("ARRAY[\\u0131nt8]", "[1]"),
    "bits of no number": one("ARRAY[STRING]", '["a", {"bits": "01"}]'),
    "alignment": one("UINT32", "0").replace('"a"', '"general.alignment"'),
    "text as alignment": one("STRING", '"32"').replace('"a"', '"general.alignment"'),
    "no key": one("UINT8", "1").replace('"a"', '{"base64": ""}'),
    "mark is true": one("UINT8", "1").replace(": 1, ", ": true, "),
    "mark is 1.0": one("UINT8", "1").replace(": 1, ", ": 1.0, "),
    "key twice": one("UINT8", "1").replace('"a"', '"b", "key": "a"'),
    "value twice": one("UINT8", '1, "value": 2'),
    "metadata twice": one("UINT8", "1")[:-1] + ', "metadata": []}',
    "members inside twice": one("STRING", '{"base64": "", "base64": ""}'),
}

YAML = {
    "overflow": one("FLOAT64", "1.0e+400", "yaml"),
    "negative overflow": one("FLOAT64", "-1.0e+400", "yaml"),
    "bool": one("BOOL", "!!bool x", "yaml"),
    "timestamp": one("STRING", "!!timestamp x", "yaml"),
    "empty int": one("UINT8", '!!int ""', "yaml"),
    "int": one("UINT8", "!!int x", "yaml"),
    "float": one("FLOAT32", "!!float x", "yaml"),
    "empty float": one("FLOAT32", '!!float ""', "yaml"),
    "binary": one("STRING", '!!binary "\u00e9"', "yaml"),
    "a date": one("STRING", "2001-01-01", "yaml"),
    "no date": one("STRING", "2001-99-99", "yaml"),
    "a set": one("STRING", "!!set {a}", "yaml"),
    "omap": one("STRING", "!!omap [1]", "yaml"),
    "pairs": one("STRING", "!!pairs [1]", "yaml"),
    "unknown": one("STRING", "!foo x", "yaml"),
    "python": one("STRING", "!!python/object/apply:os.getpid []", "yaml"),
    "null": one("STRING", "!!null x", "yaml"),
    "digits": one("UINT64", "9" * 6000, "yaml"),
    "hexadecimal digits": one("UINT64", "0x" + "f" * 6000, "yaml"),
    "sixties": one("UINT64", "1" + ":59" * 20_000, "yaml"),
    "twice": one("UINT8", "1, value: 2", "yaml"),
    "twice at the top": one("UINT8", "1", "yaml") + "metadata: []\n",
    "alias": "a: &a [1]\nb: *a\n",
    "key that is a list": "? [a]\n: b\n",
    "deep": "[" * 20_000,
}


@pytest.mark.parametrize(
    ("form", "name"), [*(("json", name) for name in JSON), *(("yaml", name) for name in YAML)]
)
def test_documents_that_are_refused(form: Format, name: str) -> None:
    """All as faults of the document, in words of our own."""
    if form == "yaml":
        pytest.importorskip("yaml")
    with pytest.raises(EditError, match="the document cannot be used") as told:
        read_document((JSON if form == "json" else YAML)[name], form)
    assert told.value.kind == "data"
    assert form == "json" or "JSON" not in str(told.value)
    assert not any(word in str(told.value) for word in PYTHON)


def test_infinity_that_is_meant() -> None:
    pytest.importorskip("yaml")
    for form, word in (("json", '"Infinity"'), ("json", "Infinity"), ("yaml", ".inf")):
        entry = read_document(one("FLOAT64", word, form), form)["a"]  # type: ignore[arg-type]
        assert entry.value == float("inf")  # type: ignore[union-attr]


def test_what_is_stored_compares_with_what_is_given(tmp_path: Path) -> None:
    """By what would lie in the file, and not by what Python has of it."""
    path = tmp_path / "m.gguf"
    values = {
        "ARRAY[UINT8]": ([1, 2, 3], [1, 9, 3]),
        "ARRAY[FLOAT32]": ([0.1, float("nan"), 3], [0.1, 2, 3]),
        "ARRAY[STRING]": (["a", b"\xff", "c"], ["a", "b", "c"]),
        "ARRAY[BOOL]": ([True, False, True], [True, True, True]),
        "ARRAY[ARRAY[FLOAT32]]": ([[0.1], [float("nan")], []], [[0.1], [2], []]),
    }
    ggufspec.write(path, {kind: Value(kind, before) for kind, (before, _) in values.items()})
    with Draft.open(path) as opened:
        for kind, (before, after) in values.items():
            stored = opened.before[kind]
            same = array_change(stored, Value(kind, before))
            assert same is not None
            assert not same.first
            other = array_change(stored, Value(kind, after))
            assert other is not None
            assert [change.before_at for change in other.first] == [1]


def test_members_of_other_programs_may_stand_twice(draft: Draft, tmp_path: Path) -> None:
    source = tmp_path / "t.json"
    source.write_text('{"a": 1, "a": 2, "t": "x"}')
    [(_, entry)] = parse_assignment(f"general.name=@{source}#t", draft)
    assert entry == Value("STRING", "x")
    assert json.loads(source.read_text())["a"] == 2
