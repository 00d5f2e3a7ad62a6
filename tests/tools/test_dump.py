"""`info` against gguf-py's gguf-dump: each of its outputs, value for value."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support.command import command
from support.realfiles import vocabulary

_NUMBERS = {"UINT8": 200, "INT8": -3, "UINT16": 60000, "INT16": -300, "UINT32": 1 << 31,
            "INT32": -7, "UINT64": 1 << 63, "INT64": -(1 << 62), "FLOAT32": 0.1,
            "FLOAT64": 0.1, "BOOL": True}  # fmt: skip


@pytest.fixture(scope="module", params=["little", "big", "vocabulary"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if request.param == "vocabulary":
        return vocabulary("ggml-vocab-llama-spm.gguf")
    made = tmp_path_factory.mktemp(request.param) / "model.gguf"
    tensors = {
        "token_embd.weight": np.arange(64, dtype=np.float32).reshape(2, 32),
        "blk.0.attn_q.weight": np.ones((3, 4, 32), np.float16),
        "blk.0.attn_norm.weight": np.ones(7, np.float32),
    }
    ggufspec.write(made, _metadata(), tensors, alignment=64, byte_order=request.param)
    return made


def _metadata() -> dict[str, Any]:
    value = ggufspec.Value
    return {
        "general.architecture": "llama",
        "general.alignment": value("UINT32", 64),
        "text": value("STRING", "an | and `ticks`, 多\n" * 9),
        **{f"one.{kind}": value(kind, number) for kind, number in _NUMBERS.items()},
        **{
            f"many.{kind}": value(f"ARRAY[{kind}]", [number] * 9)
            for kind, number in _NUMBERS.items()
        },
        "many.text": value("ARRAY[STRING]", ["", "a`b", "c|d", "é" * 40]),
    }


def _dump(path: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "gguf.scripts.gguf_dump", *options, path],
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def _info(path: Path, *options: str) -> dict[str, Any]:
    return dict(json.loads(command("info", path, "--json", *options).stdout))


def test_json(path: Path) -> None:
    theirs = json.loads(_dump(path, "--json", "--json-array"))
    ours = _info(path)
    assert theirs["endian"].lower() == ours["byte_order"]
    fields = {key: f for key, f in theirs["metadata"].items() if not key.startswith("GGUF.")}
    assert list(fields) == [pair["key"] for pair in ours["metadata"]]
    for index, (field, pair) in enumerate(zip(fields.values(), ours["metadata"], strict=True)):
        assert field["index"] == index + 3  # behind the three of the header
        assert field["offset"] == pair["offset"]
        assert field["value"] == pair["value"]
        kind = field["type"]
        assert pair["type"] == (f"ARRAY[{field['array_types'][0]}]" if kind == "ARRAY" else kind)
    header = {key: f["value"] for key, f in theirs["metadata"].items() if key.startswith("GGUF.")}
    assert header == {
        "GGUF.version": ours["version"],
        "GGUF.tensor_count": len(ours["tensors"]),
        "GGUF.kv_count": len(ours["metadata"]),
    }
    assert theirs["tensors"] == {
        tensor["name"]: {
            "index": index,
            "shape": tensor["shape"][::-1],
            "type": tensor["type"],
            "offset": tensor["info_offset"],
        }
        for index, tensor in enumerate(ours["tensors"])
    }


def test_arrays_and_tensors_left_out(path: Path) -> None:
    theirs = json.loads(_dump(path, "--json", "--no-tensors"))
    ours = _info(path, "--elements", "0", "--no-tensors")
    assert theirs["tensors"] == {}
    assert "tensors" not in ours
    for pair in ours["metadata"]:
        field = theirs["metadata"][pair["key"]]
        assert pair["value"] == ([] if field["type"] == "ARRAY" else field["value"])


def test_numbers_alone(path: Path) -> None:
    ours = _info(path)
    assert int(_dump(path, "--data-alignment")) == ours["alignment"]
    if ours["tensors"]:  # gguf-dump pads behind the last key even where no data follow
        assert int(_dump(path, "--data-offset")) == ours["data_offset"]


def test_text(path: Path) -> None:
    theirs = re.findall(r"^ +\d+: (\S+) +\| +(\d+) \| (\S+) = ", _dump(path), re.MULTILINE)
    ours = _info(path)
    told = [
        (re.sub(r"ARRAY\[(.*)\]", r"[\1]", pair["type"]), str(pair.get("count", 1)), pair["key"])
        for pair in ours["metadata"]
    ]
    assert theirs[3:] == told
    shown = command("info", path).stdout
    assert all(f"\n{key} " in shown for _, _, key in told)


_PLACES = re.compile(r"^\| +\d+ \| (\S+) +\| +0x([0-9a-f]+) \| +0x([0-9a-f]+) \|$", re.MULTILINE)
_BITS = re.compile(r"^- Bits per Weight \(BPW\) for (\S+): (\S+) bits$", re.MULTILINE)
_TENSOR = re.compile(r"^\| `([^`]+)` \| .* \| .* \| ([0-9,]+) \| ([0-9,]+) \|$", re.MULTILINE)
_BLOCK = re.compile(r"^\| (\(none\)|blk\.\d+) \| .* \| (\S+) \|$", re.MULTILINE)
_PIPE = re.compile(r"(?<!\\)\|")


def test_markdown(path: Path) -> None:
    theirs, ours = _dump(path, "--markdown"), command("info", path, "--markdown").stdout
    told = _info(path)
    made = [
        (name, *(int(number.replace(",", "")) for number in numbers))
        for name, *numbers in _TENSOR.findall(ours)
    ]
    places = _PLACES.findall(theirs)
    assert made == [(name, int(size, 16), int(at, 16)) for name, at, size in places]
    assert len(made) == len(told["tensors"])
    bits = _BITS.findall(theirs)
    assert _BLOCK.findall(ours) == [(name.replace("base", "(none)"), size) for name, size in bits]
    rows = ours.partition(" keys\n")[2].partition("\n\n## ")[0].strip().splitlines()
    assert len(rows) == len(told["metadata"]) + 2
    assert {len(_PIPE.findall(row)) for row in rows} == {4}
