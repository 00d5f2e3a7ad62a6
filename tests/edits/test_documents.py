"""Documents hold every value of every type: what is exported and applied again is the same bits."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, carry_out, plan_edit
from ggufspec.edits.documents import Format, read_document, write_document
from support import crafted, strategies
from support.crafted import V3, Form

FORMATS: list[Format] = ["json", "yaml"]


def raw(path: Path) -> dict[str, tuple[str, bytes]]:
    """Types and bytes of all values, as the file has them."""
    with ggufspec.open(path) as file:
        keys = file.metadata
        return {key: (keys.type_of(key), bytes(keys.stored(key).bytes())) for key in keys}


def exported(path: Path, form: Format) -> str:
    with Draft.open(path) as draft:
        return write_document(draft.before, form)


def applied(path: Path, document: str, form: Format) -> str:
    with Draft.open(path) as draft:
        draft.replace(read_document(document, form))
        plan = plan_edit(draft)
        carry_out(plan)
    return plan.way


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=80)
@given(sample=strategies.files())
def test_nothing_is_lost(sample: strategies.Sample, form: Format) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        path.write_bytes(sample.data)
        before, document = raw(path), exported(path, form)
        assert applied(path, document, form) == "nothing"
        assert path.read_bytes() == sample.data
        other = Path(folder) / "other.gguf"
        ggufspec.write(other, {"x.y": True}, byte_order=sample.byte_order, version=sample.version)
        applied(other, document, form)
        assert raw(other) == before
        assert list(raw(other)) == list(before)


PAYLOADS = {
    "signalling NaN": (crafted.FLOAT32, struct.pack("<I", 0x7FA00001)),
    "NaN": (crafted.FLOAT32, struct.pack("<I", 0x7FC00000)),
    "negative NaN": (crafted.FLOAT64, struct.pack("<Q", 0xFFF8000000000000)),
    "infinity": (crafted.FLOAT64, struct.pack("<d", float("-inf"))),
    "minus zero": (crafted.FLOAT32, struct.pack("<f", -0.0)),
    "smallest": (crafted.FLOAT32, struct.pack("<I", 1)),
    "largest": (crafted.FLOAT32, struct.pack("<I", 0x7F7FFFFF)),
    "bool of 2": (crafted.BOOL, b"\x02"),
    "not UTF-8": (crafted.STRING, V3.string(b"\xff\x00\xfe")),
    "looks like another type": (crafted.STRING, V3.string("null")),
    "control characters": (crafted.STRING, V3.string("a\x00b\x1b\x7f\x85\u2028\ufeff\r\n\t ")),
    "beyond the basic plane": (crafted.STRING, V3.string("\U0001f600")),
    "uint64": (crafted.UINT64, b"\xff" * 8),
    "int64": (crafted.INT64, b"\x00" * 7 + b"\x80"),
    "floats": (crafted.ARRAY, V3.array(crafted.FLOAT32, 3, struct.pack("<fII", 1, 0x7FC00001, 9))),
    "bools": (crafted.ARRAY, V3.array(crafted.BOOL, 3, b"\x00\x01\x07")),
    "strings": (crafted.ARRAY, V3.array(crafted.STRING, 2, V3.string(b"\x80") + V3.string(""))),
    "empty": (crafted.ARRAY, V3.array(crafted.INT8, 0)),
    "empty arrays": (crafted.ARRAY, V3.array(crafted.ARRAY, 0)),
    "mixed arrays": (
        crafted.ARRAY,
        V3.array(
            crafted.ARRAY, 2,
            V3.array(crafted.UINT8, 2, b"\x01\x02") + V3.array(crafted.STRING, 1, V3.string("a")),
        ),
    ),
    "NaN in arrays": (
        crafted.ARRAY,
        V3.array(crafted.ARRAY, 1, V3.array(crafted.FLOAT32, 1, struct.pack("<I", 0x7FA00001))),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PAYLOADS)
@pytest.mark.parametrize("form", FORMATS)
def test_bits(tmp_path: Path, name: str, form: Format) -> None:
    path, other = tmp_path / "model.gguf", tmp_path / "other.gguf"
    kind, payload = PAYLOADS[name]
    path.write_bytes(crafted.file([V3.pair(b"k\xff", kind, payload)]))
    document = exported(path, form)
    assert applied(path, document, form) == "nothing"
    other.write_bytes(crafted.file())
    applied(other, document, form)
    assert other.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_between_forms(tmp_path: Path, order: Any, version: int) -> None:
    """A document of one version and byte order applies to a file of another."""
    path, other = tmp_path / "model.gguf", tmp_path / "other.gguf"
    metadata = {
        "a.f": Value("FLOAT32", 0.1),
        "a.s": Value("ARRAY[STRING]", ["a", b"\xff"]),
        "a.n": Value("ARRAY[ARRAY]", [Value("ARRAY[UINT16]", [1]), Value("ARRAY[FLOAT32]", [2.0])]),
        "a.b": Value("BOOL", True),
    }
    ggufspec.write(path, metadata)
    ggufspec.write(other, {}, version=version, byte_order=order)
    applied(other, exported(path, "json"), "json")
    expected = tmp_path / "expected.gguf"
    ggufspec.write(expected, metadata, version=version, byte_order=order)
    assert other.read_bytes() == expected.read_bytes()


@settings(max_examples=300)
@given(bits=st.integers(0, 2**32 - 1))
def test_floats_are_short(bits: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f.gguf"
        path.write_bytes(crafted.file([V3.pair("k", crafted.FLOAT32, V3.u32(bits))]))
        document = json.loads(exported(path, "json"))["metadata"][0]["value"]
    if 2**-126 <= abs(value) < float("inf"):
        import numpy as np

        assert len(repr(document)) <= len(repr(float(str(np.float32(value)))))
        assert struct.pack("<f", document) == struct.pack("<I", bits)


WRONG = {
    "no JSON": ("{", "it is no JSON"),
    "other JSON": ("[]", "gguf_metadata"),
    "other version": ('{"gguf_metadata": 2, "metadata": []}', "it is not"),
    "no list": ('{"gguf_metadata": 1, "metadata": {}}', "no list"),
    "no entry": ('{"gguf_metadata": 1, "metadata": [5]}', r"metadata\[0\] is not"),
    "no key": (("", "UINT8", 1), "is no key"),
    "no type": (("k", "WORD", 1), r"\('k'\): there is no type 'WORD'"),
    "bare array": (("k", "ARRAY", []), "there is no type 'ARRAY'"),
    "number for a text": (("k", "STRING", 1), "1 is no STRING"),
    "text for a number": (("k", "UINT8", "1"), "'1' is no UINT8"),
    "bool for a number": (("k", "UINT8", True), "true is no UINT8"),
    "float for an int": (("k", "INT32", 1.5), "1.5 is no INT32"),
    "null": (("k", "STRING", None), "null is no STRING"),
    "no base64": (("k", "STRING", {"base64": "?"}), "no base64"),
    "bits of another width": (("k", "FLOAT32", {"bits": "00"}), "no bits of a FLOAT32"),
    "bits of an int": (("k", "UINT32", {"bits": "00000000"}), "no bits of a UINT32"),
    "no array": (("k", "ARRAY[UINT8]", 1), "an array is"),
    "untold array": (("k", "ARRAY[ARRAY]", [[1]]), "an inner array is"),
    "inner type": (("k", "ARRAY[ARRAY]", [{"type": "UINT8", "value": 1}]), "no type of an array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(name: str) -> None:
    given, message = WRONG[name]
    if not isinstance(given, str):
        entry = dict(zip(("key", "type", "value"), given, strict=True))
        given = json.dumps({"gguf_metadata": 1, "metadata": [entry]})
    for form in FORMATS if name != "no JSON" else FORMATS[:1]:
        with pytest.raises(EditError, match=message):
            read_document(given, form)


def test_keys_stand_once() -> None:
    entry = {"key": "k", "type": "UINT8", "value": 1}
    with pytest.raises(EditError, match="stands there twice"):
        read_document(json.dumps({"gguf_metadata": 1, "metadata": [entry, entry]}))


def test_numbers_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {"general.name": "a"})
    for kind, value in (("UINT8", 256), ("INT8", -129), ("FLOAT32", 1e39)):
        with Draft.open(path) as draft:
            draft.set("k", Value(kind, value))
            with pytest.raises(EditError, match="cannot hold"):
                plan_edit(draft)


def test_deep_documents() -> None:
    for text in ("[" * 100_000, '{"gguf_metadata": 1, "metadata": ' + "[" * 100_000):
        for form in FORMATS[:1]:
            with pytest.raises(EditError):
                read_document(text, form)


def test_aliases_are_refused() -> None:
    bomb = "a: &a [x, x]\nb: &b [*a, *a]\ngguf_metadata: 1\nmetadata: [*b, *b]\n"
    with pytest.raises(EditError, match="aliases"):
        read_document(bomb, "yaml")


def test_yaml_needs_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(EditError, match="needs PyYAML") as error:
        write_document({}, "yaml")
    assert "ggufspec[codegen]" in error.value.hint
    assert error.value.kind == "unsupported"
    assert read_document(write_document({})) == {}


def test_yaml_is_read_by_yaml() -> None:
    """Block style, comments and what people write by hand."""
    text = (
        "# by hand\ngguf_metadata: 1\nmetadata:\n- key: general.name\n  type: string\n"
        "  value: |\n    two\n    lines\n"
        "- {key: a.b, type: 'ARRAY[FLOAT32]', value: [1, 0.5, NaN]}\n"
    )
    entries = read_document(text, "yaml")
    name, numbers = entries.values()
    assert isinstance(name, Value)
    assert name == Value("STRING", "two\nlines\n")
    assert isinstance(numbers, Value)
    assert numbers.value[:2] == [1.0, 0.5]
    assert Form().version == 3
