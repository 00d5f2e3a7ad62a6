"""``ggufspec info``: what it shows, and that a file's text does no harm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from support import realfiles

Run = Callable[..., Any]

HOSTILE = "a\x1b[2Jb\u202ec\r\x00\u200bd"
SHOWN = "a\\x1b[2Jb\\u202ec\\r\\0\\u200bd"


def test_lists_header_types_keys_and_tensors(run: Run, sample: Path) -> None:
    result = run("info", sample)
    assert result.code == 0
    assert "GGUF version 3, 8.4 MB, alignment 32" in result.out
    assert "4.2 M weights in 39 tensors" in result.out
    assert "llama.block_count                       UINT32          4" in result.out
    assert "general.file_type                       UINT32          1 (F16)" in result.out
    assert "512: [<unk>, <s>, </s>, <0x00>, <0x01>, <0x02>, ...]" in result.out
    assert "blk.0.ffn_down.weight     F16   256 x 1024  524,288" in result.out


def test_plain_text_when_piped(spawn: Run, sample: Path) -> None:
    result = spawn("info", sample, env={"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"})
    assert "\x1b" not in result.out + result.err
    assert result.err == ""


def test_json_is_whole(run: Run, sample: Path) -> None:
    told = run("info", "--json", sample).json
    assert told["version"] == 3
    assert told["byte_order"] == "little"
    assert told["size"] == sample.stat().st_size
    assert told["weights"] == 4_196_608
    values = {pair["key"]: pair for pair in told["metadata"]}
    assert values["llama.block_count"] == {
        "key": "llama.block_count",
        "type": "UINT32",
        "offset": sample.read_bytes().index(b"llama.block_count") - 8,
        "value": 4,
    }
    tokens = values["tokenizer.ggml.tokens"]
    assert tokens["type"] == "ARRAY[STRING]"
    assert tokens["count"] == len(tokens["value"]) == 512
    assert values["tokenizer.ggml.token_type"]["value"][:4] == [2, 3, 3, 6]
    with ggufspec.open(sample) as file:
        assert [tensor["name"] for tensor in told["tensors"]] == list(file.tensors)
        tensor = file.tensors["blk.1.ffn_up.weight"]
    assert told["tensors"][17] == {
        "name": tensor.name,
        "type": "F16",
        "type_id": 1,
        "shape": [1024, 256],
        "nbytes": tensor.nbytes,
        "offset": tensor.offset,
        "file_offset": tensor.file_offset,
        "info_offset": sample.read_bytes().index(tensor.name.encode()) - 8,
        "shard": 0,
    }


def test_elements_of_arrays(run: Run, sample: Path) -> None:
    assert "512: [<unk>, ...]" in run("info", sample, "--elements", "1").out
    assert "512: [" not in run("info", "--elements", "0", sample).out
    told = run("info", sample, "--json", "--elements", "2").json
    tokens = next(pair for pair in told["metadata"] if pair["key"] == "tokenizer.ggml.tokens")
    assert tokens["count"] == 512
    assert tokens["value"] == ["<unk>", "<s>"]


def test_json_keeps_every_digit_and_byte(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "numbers.gguf"
    metadata = {
        "big": Value("UINT64", 2**64 - 1),
        "low": Value("INT64", -(2**63)),
        "nan": Value("FLOAT32", float("nan")),
        "inf": Value("FLOAT64", float("-inf")),
        "third": Value("FLOAT64", 1 / 3),
        "floats": Value("ARRAY[FLOAT32]", [1.5, float("inf")]),
        "bools": Value("ARRAY[BOOL]", [True, False]),
        "nested": Value("ARRAY[ARRAY[INT32]]", [[1, 2], []]),
        "raw": b"\xff\x00",
        "texts": Value("ARRAY[STRING]", ["a\u2028", b"\xfe"]),
        "name\udcff": "x",
    }
    ggufspec.write(path, metadata)
    told = {
        str(pair["key"]): pair["value"] for pair in run("info", path, "--json").json["metadata"]
    }
    assert told == {
        "big": 18446744073709551615,
        "low": -9223372036854775808,
        "nan": "NaN",
        "inf": "-Infinity",
        "third": 1 / 3,
        "floats": [1.5, "Infinity"],
        "bools": [True, False],
        "nested": [[1, 2], []],
        "raw": {"base64": "/wA="},
        "texts": ["a\u2028", {"base64": "/g=="}],
        "{'base64': 'bmFtZf8='}": "x",
    }


def test_hostile_text_is_escaped(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    metadata = {
        HOSTILE: HOSTILE,
        "general.name": HOSTILE,
        "list": Value("ARRAY[STRING]", [HOSTILE, b"\xff\x1b"]),
    }
    ggufspec.write(path, metadata, {HOSTILE: np.zeros(4, np.float32)})
    out = run("info", path).out
    assert out.count(SHOWN) == 6
    assert "\\xff\\x1b" in out
    assert all(line.isprintable() for line in out.split("\n"))
    assert run("info", path, "--json").json["tensors"][0]["name"] == HOSTILE


def test_long_text_is_bounded(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "long.gguf"
    ggufspec.write(path, {"k" * 5000: "v" * 100_000, "list": Value("ARRAY[STRING]", ["w" * 9999])})
    out = run("info", path).out
    assert len(out) < 2000
    assert "(99,800 more characters)" in out


def test_unknown_type_is_listed(run: Run, small: Path) -> None:
    data = bytearray(small.read_bytes())
    place = data.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
    data[place : place + 4] = (99).to_bytes(4, "little")
    small.write_bytes(data)
    result = run("info", small)
    assert result.code == 0
    assert "UNKNOWN(99)" in result.out
    assert run("info", small, "--json").json["tensors"][1]["type_id"] == 99


@pytest.mark.parametrize("name", realfiles.vocabulary_names())
def test_vocabulary_files(run: Run, name: str) -> None:
    path = realfiles.vocabulary(name)
    assert run("info", path).code == 0
    with ggufspec.open(path) as file:
        assert len(run("info", path, "--json", "--elements", "3").json["metadata"]) == len(
            file.metadata
        )


def test_needs_neither_numpy_nor_rich(spawn: Run, sample: Path) -> None:
    script = (
        "import atexit, sys\n"
        "heavy = {'numpy', 'rich', 'pydantic', 'jinja2', 'yaml'}\n"
        "atexit.register(lambda: print(sorted(heavy & sys.modules.keys())))"
    )
    assert spawn("info", sample, script=script).out.endswith("\n[]\n")
