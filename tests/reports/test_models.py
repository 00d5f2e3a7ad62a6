"""Public bug reports about keys, texts, vocabularies, templates, sets and importance matrices."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from corpus.models import model, strings, u32
from ggufspec.imatrix import read_imatrix
from support.command import command
from support.crafted import (
    ARCHITECTURE,
    ARRAY,
    FLOAT32,
    INT32,
    STRING,
    UINT8,
    V3,
    file,
)
from support.imatrix import gguf_form
from support.models import llama, metadata, split_keys, write_llama, write_set
from support.rules import errors, findings

TOKENS = "tokenizer.ggml.tokens"
TEMPLATE = "tokenizer.chat_template"


@pytest.mark.parametrize("key", ["scores", "token_type"])
def test_r16_arrays_of_another_element_type(key: str) -> None:
    pair = V3.pair(f"tokenizer.ggml.{key}", ARRAY, V3.array(UINT8, 4, bytes(4)))
    assert "GG1001" in errors(model([pair]))


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize(("key", "kind"), [("scores", FLOAT32), ("token_type", INT32)])
def test_r16_arrays_of_unequal_length(key: str, kind: int, count: int) -> None:
    pair = V3.pair(f"tokenizer.ggml.{key}", ARRAY, V3.array(kind, count, bytes(4 * count)))
    assert "GG1007" in errors(model([pair]))


@pytest.mark.parametrize("value", [4, (1 << 32) - 1])
def test_r18_special_ids_beyond_the_vocabulary(value: int) -> None:
    assert "GG1202" in errors(model([u32("tokenizer.ggml.bos_token_id", value)]))
    assert "GG1202" not in errors(model([u32("tokenizer.ggml.bos_token_id", 3)]))


@pytest.mark.parametrize("text", ["<0x-1>", "<0xZZ>", "<0x1>"])
def test_r18_byte_tokens_have_two_digits(text: str) -> None:
    texts = b"".join(map(V3.string, ("<0x00>", "<0x01>", "<0x02>", text)))
    types = V3.pair("tokenizer.ggml.token_type", ARRAY, V3.array(INT32, 4, V3.u32(6) * 4))
    assert "GG1209" in errors(model([strings(TOKENS, 4, texts), types]))


@pytest.mark.parametrize("key", [TEMPLATE, f"{TEMPLATE}.rag"])
def test_r25_templates_that_reach_out(key: str) -> None:
    text = '{{ lipsum.__globals__["os"].popen("id").read() }}'
    found = findings(file([ARCHITECTURE, V3.pair(key, STRING, V3.string(text))]))
    assert found & {"GG1410", "GG1413"}
    plain = V3.pair(key, STRING, V3.string("{% for m in messages %}{{ m.content }}{% endfor %}"))
    assert not findings(file([ARCHITECTURE, plain])) & {"GG1410", "GG1411", "GG1412", "GG1413"}


def test_r25_control_characters_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(file([ARCHITECTURE, V3.pair("a\x1b[2J", STRING, V3.string("\x1b]0;x\x07"))]))
    for arguments in (("info", path), ("validate", path), ("validate", path, "--json")):
        assert "\x1b]" not in command(*arguments).stdout
        assert "\x1b[2J" not in command(*arguments).stdout


def test_r35_arrays_are_not_hidden() -> None:
    with ggufspec.open(model([])) as f:
        assert list(f.metadata[TOKENS]) == ["t0", "t1", "t2", "t3"]
        assert f.metadata.type_of(TOKENS) == "ARRAY[STRING]"


ODD = (
    b"\xa1",
    b"\xff",
    b"\xc3",
    b"\xe6\xad",
    b"a\0b",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98",
)


def test_r37_texts_that_are_not_utf8(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.gguf", tmp_path / "b.gguf"
    path.write_bytes(model([strings(TOKENS, len(ODD), b"".join(map(V3.string, ODD)))]))
    with ggufspec.open(path) as f:
        tokens = list(f.metadata[TOKENS])
        assert [t.encode() if isinstance(t, str) else t for t in tokens] == list(ODD)
        ggufspec.write(copy, f.metadata, f.tensors)
    with ggufspec.open(copy) as f:
        assert list(f.metadata[TOKENS]) == tokens
    assert "GG0307" in findings(path)
    done = command("info", path, "--json")
    assert done.returncode == 0
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("general.license", ["Apache-2.0"]),
        ("llama.block_count", True),
        ("llama.block_count", 1 << 32),
        ("llama.block_count", -1),
        ("general.name", None),
        ("a.mixed", [1, "a"]),
    ],
)
def test_r34_wrong_values_are_named(key: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    with pytest.raises((TypeError, ValueError), match=key):
        ggufspec.write(path, {"general.architecture": "llama", key: value}, {})
    assert not path.exists()


def test_r34_integers_are_floats_where_floats_are_asked_for(tmp_path: Path) -> None:
    path, key = tmp_path / "a.gguf", "llama.rope.freq_base"
    ggufspec.write(path, {"general.architecture": "llama", key: 10000}, {})
    with ggufspec.open(path) as f:
        assert (f.metadata[key], f.metadata.type_of(key)) == (10000.0, "FLOAT32")


def test_r40_a_tensor_of_any_type_is_copied_in_one_call(tmp_path: Path) -> None:
    data = model([], norm=8)
    with ggufspec.open(data) as f:
        ggufspec.write(tmp_path / "b.gguf", f.metadata, f.tensors)
    with ggufspec.open(tmp_path / "b.gguf") as copy, ggufspec.open(data) as f:
        for name, tensor in f.tensors.items():
            assert copy.tensors[name].type == tensor.type
            assert (copy.tensors[name].data == tensor.data).all()


# ---- importance matrices


def test_r54_experts_that_were_never_used(tmp_path: Path) -> None:
    path = tmp_path / "a.imatrix"
    sums = np.ones((4, 256), np.float32)
    sums[1] = 0
    path.write_bytes(gguf_form({"blk.0.ffn_up_exps.weight": (sums, [10, 0, 10, 10])}))
    found = read_imatrix(path).importance("blk.0.ffn_up_exps.weight", (4, 8, 256))
    assert found.values is not None
    assert (found.values[1] == 1).all()
    assert any("1" in note for note in found.notes)


def test_r54_what_is_missing_is_listed(tmp_path: Path) -> None:
    model_path, path, out = (tmp_path / name for name in ("a.gguf", "a.imatrix", "b.gguf"))
    weights = write_llama(model_path, layers=2)
    entries = {
        name: (np.ones(array.shape[-1]), [10])
        for name, array in weights.items()
        if name.startswith("blk.0.") and array.ndim == 2
    }
    path.write_bytes(gguf_form(entries))
    done = command("quantize", model_path, out, "IQ2_XXS", "--imatrix", path)
    assert done.returncode != 0
    assert "blk.1" in done.stderr
    assert not out.exists()


# ---- sets of files


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    weights = llama(1)
    write_set(tmp_path / "m", weights, metadata(1), 3, 6)
    return sorted(tmp_path.glob("m-*.gguf"))


def test_r58_any_shard_opens_the_set(shards: list[Path]) -> None:
    for path in shards:
        with ggufspec.open(path) as f:
            assert list(f.tensors) == list(llama(1))
            assert f.metadata["general.architecture"] == "llama"
        assert not errors(path) & {f"GG08{number:02}" for number in range(14)}


def test_r58_missing_and_swapped_shards(shards: list[Path]) -> None:
    first, second, third = shards
    kept = second.read_bytes()
    second.unlink()
    assert "GG0803" in errors(first)
    with pytest.raises(ggufspec.GGUFError, match="GG0803"):
        ggufspec.open(third)
    second.write_bytes(third.read_bytes())
    third.write_bytes(kept)
    assert "GG0804" in errors(first)


def test_r58_names_without_the_pattern(shards: list[Path]) -> None:
    odd = shards[0].with_name("other.gguf")
    shards[0].rename(odd)
    assert errors(odd) & {"GG0801", "GG0803"}


def test_r58_a_name_alone_makes_no_set(tmp_path: Path) -> None:
    path = tmp_path / "x-00001-of-00003.gguf"
    path.write_bytes(model([]))
    assert not errors(path) & {"GG0801", "GG0803"}


def test_r58_a_number_of_another_type(shards: list[Path]) -> None:
    """The loader of llama.cpp aborts on it."""
    with ggufspec.open(shards[0]) as f:
        kept = {name: f.tensors[name].dequantize() for name in list(f.tensors)[3:6]}
        count = f.metadata["split.tensors.count"]
    keys = split_keys(1, 3, count) | {"split.no": ggufspec.Value("STRING", "1")}
    shards[1].unlink()
    ggufspec.write(shards[1], keys, kept)
    assert errors(shards[0])
    with pytest.raises(ggufspec.GGUFError):
        ggufspec.open(shards[0])
