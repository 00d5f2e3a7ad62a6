"""What people write for keys and values, and what it becomes."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, carry_out, plan_edit
from ggufspec.edits.assignments import parse_assignment

METADATA = {
    "general.architecture": "llama",
    "general.name": "a",
    "made.up": Value("INT16", 4),
    "llama.attention.head_count": Value("ARRAY[INT32]", [1, 2]),
    "tokenizer.ggml.tokens": ["<s>", "</s>", "a:b", "</s>"],
}


@pytest.fixture
def draft(tmp_path: Path) -> Iterator[Draft]:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, METADATA)
    with Draft.open(path) as opened:
        yield opened


def parsed(text: str, draft: Draft) -> Any:
    [(_, entry)] = parse_assignment(text, draft)
    return entry


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("x.y=UINT8:0xff", "UINT8", 255),
        ("x.y=int8:-1", "INT8", -1),
        ("x.y=FLOAT64:-inf", "FLOAT64", float("-inf")),
        ("x.y=BOOL:true", "BOOL", True),
        ("x.y=STRING:a=b:c", "STRING", "a=b:c"),
        ("x.y=STRING:", "STRING", ""),
        ("x.y=STRING:\udcff", "STRING", b"\xff"),
        ("x.y=STRING:@@home", "STRING", "@home"),
        ('x.y=ARRAY[STRING]:["a", {"base64": "/w=="}]', "ARRAY[STRING]", ["a", b"\xff"]),
        ("x.y=array[array[uint8]]:[[1],[]]", "ARRAY[ARRAY[UINT8]]", [[1], []]),
        ("x.y=ARRAY[FLOAT32]:[1, 2.5]", "ARRAY[FLOAT32]", [1.0, 2.5]),
        ("general.name=plain", "STRING", "plain"),
        ("general.name=note: with a colon", "STRING", "note: with a colon"),
        ("general.name=STRING:STRING:x", "STRING", "STRING:x"),
        ("general.name=", "STRING", ""),
        ("general.tags=[\"a\"]", "ARRAY[STRING]", ["a"]),
        ("llama.block_count=4", "UINT32", 4),
        ("llama.rope.freq_base=1e6", "FLOAT32", 1e6),
        ("tokenizer.ggml.add_bos_token=false", "BOOL", False),
        ("made.up=-7", "INT16", -7),
        ("llama.attention.head_count=[3, 4]", "ARRAY[INT32]", [3, 4]),
        ("llama.attention.head_count=3", "UINT32", 3),
        ("llama.attention.head_count_kv=[3]", "ARRAY[INT32]", [3]),
        ("tokenizer.ggml.eos_token_id=TOKEN:</s>", "UINT32", 1),
        ("tokenizer.ggml.eos_token_id=TOKEN:a:b", "UINT32", 2),
        ("general.base_model.0.name=x", "STRING", "x"),
        ("tokenizer.chat_template.tool=x", "STRING", "x"),
    ],
)  # fmt: skip
def test_values(draft: Draft, text: str, kind: str, value: Any) -> None:
    assert parsed(text, draft) == Value(kind, value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no", "it is not KEY=TYPE:VALUE"),
        ("=x", "it is not KEY=TYPE:VALUE"),
        ("x.y=5", "it is neither well known nor in the file"),
        ("x.y=UINT7:5", "there is no type 'UINT7'"),
        ("general.name=STRINGS:5", None),
        ("general.name=INT:5", "there is no type 'INT'"),
        ("x.y=ARRAY[WORD]:[]", "there is no type 'WORD' for elements"),
        ("x.y=ARRAY:[]", "there is no type 'ARRAY'"),
        ("x.y=UINT8:x", "'x' is no whole number"),
        ("x.y=FLOAT32:x", "'x' is no number"),
        ("x.y=BOOL:1", "'1' is neither true nor false"),
        ("x.y=ARRAY[UINT8]:1", "an array is"),
        ("x.y=ARRAY[UINT8]:[", "the array is not JSON"),
        ("x.y=ARRAY[UINT8]:[true]", "true is no UINT8"),
        ("x.y=ARRAY[UINT8]:" + "[" * 100_000, "nested too deeply"),
        ("llama.block_count=four", "'four' is no whole number \\(its type is UINT32\\)"),
        ("tokenizer.ggml.eos_token_id=TOKEN:none", "there is no token 'none'"),
        ("general.name=TOKEN:a", "it does not number a token"),
    ],
)
def test_what_is_wrong_is_told(draft: Draft, text: str, told: str | None) -> None:
    if told is None:
        assert parsed(text, draft).value == text.partition("=")[2]
        return
    with pytest.raises(EditError, match=told) as error:
        parse_assignment(text, draft)
    assert error.value.kind == "usage"


def test_files(draft: Draft, tmp_path: Path) -> None:
    template = tmp_path / "template#1.jinja"
    template.write_bytes(b"{{ a }}\r\nb\n")
    assert parsed(f"tokenizer.chat_template=@{template}", draft).value == "{{ a }}\r\nb\n"
    template.write_bytes(b"\xff\x00")
    assert parsed(f"x.y=STRING:@{template}", draft).value == b"\xff\x00"
    numbers = tmp_path / "numbers.json"
    numbers.write_text("[1,\n 2]\n")
    assert parsed(f"x.y=ARRAY[INT8]:@{numbers}", draft) == Value("ARRAY[INT8]", [1, 2])
    numbers.write_text("7\n")
    assert parsed(f"llama.block_count=@{numbers}", draft) == Value("UINT32", 7)


def test_members_of_files(draft: Draft, tmp_path: Path) -> None:
    config = tmp_path / "tokenizer_config.json"
    config.write_text(json.dumps({"chat_template": "{{ x }}", "a": {"b": [1]}}))
    assert parsed(f"tokenizer.chat_template=@{config}#chat_template", draft).value == "{{ x }}"
    assert parsed(f"x.y=ARRAY[UINT8]:@{config}#a/b", draft).value == [1]
    for member, told in (("none", "no member 'none'"), ("a/c", "no member 'a/c'")):
        with pytest.raises(EditError, match=told):
            parse_assignment(f"general.name=@{config}#{member}", draft)
    with pytest.raises(FileNotFoundError):
        parse_assignment(f"general.name=@{tmp_path}/none#x", draft)
    with pytest.raises(EditError, match="not a regular file"):
        parse_assignment("general.name=@/dev/zero", draft)
    config.write_text("no")
    with pytest.raises(EditError, match="it is no JSON"):
        parse_assignment(f"general.name=@{config}#x", draft)


def test_several_templates(draft: Draft, tmp_path: Path) -> None:
    """As gguf-py stores them."""
    config = tmp_path / "tokenizer_config.json"
    choices = [
        {"name": "default", "template": "one"},
        {"name": "tool use", "template": "two"},
    ]
    config.write_text(json.dumps({"chat_template": choices}))
    assert dict(parse_assignment(f"tokenizer.chat_template=@{config}#chat_template", draft)) == {
        "tokenizer.chat_template.tool_use": Value("STRING", "two"),
        "tokenizer.chat_templates": Value("ARRAY[STRING]", ["tool_use"]),
        "tokenizer.chat_template": Value("STRING", "one"),
    }


def test_standard_input(draft: Draft, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from there")))
    assert parsed("general.name=@-", draft).value == "from there"


def test_bits_reach_the_file(draft: Draft) -> None:
    [(key, entry)] = parse_assignment('x.y=ARRAY[FLOAT32]:[{"bits": "7fa00001"}]', draft)
    draft.set(key, entry)
    carry_out(plan_edit(draft))
    with ggufspec.open(draft.path) as file:
        assert bytes(file.metadata.stored("x.y").bytes()) == b"\x01\x00\xa0\x7f"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("general.architecture=qwen2", "it chooses the code"),
        ("llama.block_count=4", "so many layers"),
        ("llama.embedding_length=4", "the shapes of tensors"),
        ("general.alignment=64", "the data of every tensor"),
        ("tokenizer.ggml.bos_token_id=1", "the model was trained with this token"),
        ("tokenizer.ggml.model=llama", "how text is cut"),
        ("split.count=2", "a split set"),
        ("general.name=UINT32:1", "its type is STRING, not UINT32"),
        ("llama.context_length=UINT64:1", "its type is UINT32, not UINT64"),
        ("general.name=b", None),
        ("made.up=INT64:1", None),
        ("qwen2.block_count=UINT32:4", None),
        ("tokenizer.chat_template=x", None),
    ],
)
def test_what_speaks_against_it(draft: Draft, text: str, told: str | None) -> None:
    for key, entry in parse_assignment(text, draft):
        draft.set(key, entry)
    plan = plan_edit(draft)
    if told is None:
        assert not plan.objections
        plan.check()
        return
    assert told in "; ".join(one.reason for one in plan.objections)
    with pytest.raises(EditError) as error:
        plan.check()
    assert "--force" in error.value.hint
