"""``convert-endian``: every type and value, nothing moved, and back again byte for byte."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from gguf.scripts import gguf_convert_endian
from hypothesis import given, settings

import ggufspec
from ggufspec import TensorData, Value, blocks
from ggufspec.jobs.endian import convert_endian
from ggufspec.jobs.errors import ConversionError
from ggufspec.registry import types
from support import crafted, forks, kills, realfiles, strategies
from support.command import command
from support.crafted import Form
from support.samples import LAYOUTS, block_samples, first_difference

WORDS = {
    "F32": "I", "F16": "H", "BF16": "H", "F64": "Q", "I8": "1s", "I16": "H", "I32": "I",
    "I64": "Q", "Q4_0": "H16s", "Q4_1": "HH16s", "Q5_0": "HI16s", "Q5_1": "HHI16s",
    "Q8_0": "H32s", "Q8_1": "HH32s", "Q2_K": "16s64sHH", "Q3_K": "32s64s12sH",
    "Q4_K": "HH12s128s", "Q5_K": "HH12s32s128s", "Q6_K": "128s64s16sH", "Q8_K": "I256s16H",
    "IQ2_XXS": "H" + "4sI" * 8, "IQ2_XS": "H32H8s", "IQ3_XXS": "H64s8I", "IQ1_S": "H32s8H",
    "IQ4_NL": "H16s", "IQ3_S": "H64s8s32s4s", "IQ2_S": "H64s8s8s", "IQ4_XS": "HH4s128s",
    "IQ1_M": "32s16s4H", "TQ1_0": "48s4sH", "TQ2_0": "64sH", "MXFP4": "1s16s", "NVFP4": "4s32s",
    "Q1_0": "H16s", "Q2_0": "H16s",
}  # fmt: skip
"""The blocks of ggml's headers, as structs: what is a number, and of how many bytes."""

GGML = [name for name in LAYOUTS if types[name].id is not None]

PEERS = ["F32", "F16", "BF16", "Q4_0", "Q8_0", "Q4_K", "Q6_K", "MXFP4", "NVFP4"]
"""The types that gguf-py's converter knows."""

NUMBERS = {
    "UINT8": 200, "INT8": -3, "UINT16": 0x1234, "INT16": -2, "UINT32": 0x12345678, "INT32": -5,
    "UINT64": 2**63 + 5, "INT64": -(2**62), "FLOAT32": 1.5, "FLOAT64": 0.1, "BOOL": True,
    "STRING": "n\u00e9",
}  # fmt: skip

EVERY_VALUE: dict[str, Any] = {
    **{f"one.{name.lower()}": Value(name, value) for name, value in NUMBERS.items()},
    **{
        f"some.{name.lower()}": Value(f"ARRAY[{name}]", [value] * 3)
        for name, value in NUMBERS.items()
    },
    "nested": Value("ARRAY[ARRAY[UINT16]]", [[1, 2], [3]]),
    "nested.text": Value("ARRAY[ARRAY[STRING]]", [["a", "bc"], ["d"]]),
}


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def write_blocks(path: Path, name: str) -> None:
    """A file with blocks of one type that show every path of its layout."""
    kind = types[name]
    tensors = {
        label: TensorData(blocks, name, (len(blocks), kind.elements))
        for label, blocks in block_samples(kind).items()
    }
    ggufspec.write(path, {"general.architecture": "llama"}, tensors)


def test_all_types_of_ggml_are_in_the_table() -> None:
    assert set(GGML) == set(WORDS)


@pytest.mark.parametrize("name", GGML)
def test_every_type(name: str, tmp_path: Path) -> None:
    little, big, back = (tmp_path / f"{which}.gguf" for which in ("little", "big", "back"))
    write_blocks(little, name)
    convert_endian(little, big, "big")
    convert_endian(big, back)
    assert back.read_bytes() == little.read_bytes()
    block = struct.Struct("<" + WORDS[name]), struct.Struct(">" + WORDS[name])
    assert block[0].size == types[name].bytes
    with ggufspec.open(little) as one, ggufspec.open(big) as other:
        assert (one.byte_order, other.byte_order) == ("little", "big")
        for label, tensor in one.tensors.items():
            turned = other.tensors[label]
            assert (turned.shape, turned.offset) == (tensor.shape, tensor.offset)
            expected = b"".join(
                block[1].pack(*words) for words in block[0].iter_unpack(tensor.data)
            )
            assert turned.data.tobytes() == expected, label
            assert first_difference(turned.dequantize(), tensor.dequantize()) is None, label


@pytest.mark.parametrize(
    ("layout", "number", "dialect"),
    [("STQ1_0", 43, "tencent"), ("PTQ1_0", 143, "prism"), ("I2_S", 36, "bitnet.cpp")],
)
def test_types_of_forks_that_are_described(
    layout: str, number: int, dialect: str, tmp_path: Path
) -> None:
    path, big = tmp_path / "fork.gguf", tmp_path / "big.gguf"
    path.write_bytes(forks.model([forks.entry("w", (256, 3), number, layout), forks.plain("b")]))
    convert_endian(path, big, dialect=dialect)
    with ggufspec.open(path, dialect=dialect) as one, ggufspec.open(big, dialect=dialect) as other:
        assert one.tensors["w"].type == layout
        assert other.tensors["w"].data.tobytes() != one.tensors["w"].data.tobytes()
        first, second = one.tensors["w"].dequantize(), other.tensors["w"].dequantize()
        assert first_difference(first, second) is None
    convert_endian(big, tmp_path / "back.gguf", dialect=dialect)
    assert (tmp_path / "back.gguf").read_bytes() == path.read_bytes()


def content(path: Path) -> dict[str, Any]:
    """All that a file says but for its byte order, NaNs as bits."""

    def bits(value: Any) -> Any:
        if isinstance(value, float):
            return struct.pack("<d", value)
        if isinstance(value, np.ndarray):
            return value.dtype.newbyteorder("=").str, value.tobytes()
        if hasattr(value, "stored"):
            return [bits(item) for item in value]
        return value

    with ggufspec.open(path, dialect="ggml") as file:
        keys = {
            key: (file.metadata.type_of(key), bits(file.metadata[key])) for key in file.metadata
        }
        tensors = {
            name: (t.type_id, t.shape, t.offset, t.extra, t.dequantize().tobytes())
            for name, t in file.tensors.items()
        }
        header = dict(file.metadata.header)
        return {"keys": keys, "tensors": tensors, "header": header, "alignment": file.alignment}


@settings(max_examples=60)
@given(sample=strategies.files())
def test_any_file(sample: strategies.Sample) -> None:
    with TemporaryDirectory() as folder:
        path, other, back = (Path(folder, name) for name in ("a.gguf", "b.gguf", "c.gguf"))
        path.write_bytes(sample.data)
        plan = convert_endian(path, other, dialect="ggml")  # some sizes are a fork's, too
        assert plan.byte_order != sample.byte_order
        assert len(other.read_bytes()) == len(sample.data)
        convert_endian(other, back, dialect="ggml")
        assert back.read_bytes() == sample.data
        with np.errstate(all="ignore"):
            assert content(other) == content(path)


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_no_word_is_made_of_stays(version: int, order: Any, tmp_path: Path) -> None:
    """Padding that is not zero, gaps, bytes at the end, a bool that is neither 0 nor 1."""
    form = Form(version, order)
    keys = [
        form.pair("a.bool", crafted.BOOL, b"\x02"),
        form.pair("a.text", crafted.STRING, form.string("abcd")),
    ]
    infos = [
        form.tensor("second", [4], crafted.F32, 96),
        form.tensor("first", [4], crafted.F32, 0),
        form.tensor("empty", [0], crafted.F32, 0),
    ]
    front = form.header(len(infos), len(keys)) + b"".join([*keys, *infos])
    front += b"\xab" * (-len(front) % 32)
    data = bytes(range(16)) + b"gap!" * 20 + bytes(range(16, 32)) + b"tail of odd length"
    path, other, back = (tmp_path / name for name in ("a.gguf", "b.gguf", "c.gguf"))
    path.write_bytes(front + data)
    convert_endian(path, other)
    turned = other.read_bytes()
    assert turned[: len(front)].endswith(b"\xab" * (-len(front.rstrip(b"\xab")) % 32))
    body = turned[len(front) :]
    assert body[:4] == b"\x03\x02\x01\x00"
    assert body[16:96] == b"gap!" * 20
    assert body[112:] == b"tail of odd length"
    convert_endian(other, back)
    assert back.read_bytes() == path.read_bytes()


# gguf-py


def by_gguf_py(path: Path, order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Convert a file where it stands, as gguf-convert-endian does."""
    monkeypatch.setattr(sys, "argv", ["gguf-convert-endian", str(path), order])
    monkeypatch.setattr("builtins.input", lambda _: "YES")
    gguf_convert_endian.main()


def test_same_bytes_as_gguf_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Real weights in all types that it knows, with every type of value."""
    with ggufspec.open(realfiles.smollm2()) as file:
        weights = file.tensors["blk.0.ffn_down.weight"].dequantize()[:32]
    tensors: dict[str, Any] = {
        name: TensorData(ggufspec.quantize(weights, name), name, weights.shape) for name in PEERS
    }
    path, theirs = tmp_path / "in.gguf", tmp_path / "theirs.gguf"
    ggufspec.write(path, EVERY_VALUE, tensors, alignment=64)
    shutil.copy(path, theirs)
    convert_endian(path, tmp_path / "ours.gguf", "big")
    by_gguf_py(theirs, "big", monkeypatch)
    assert (tmp_path / "ours.gguf").read_bytes() == theirs.read_bytes()
    by_gguf_py(theirs, "little", monkeypatch)
    assert theirs.read_bytes() == path.read_bytes()


def test_real_vocabulary_as_gguf_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = realfiles.vocabulary("ggml-vocab-bert-bge.gguf")
    ours, theirs = tmp_path / "ours.gguf", tmp_path / "theirs.gguf"
    shutil.copyfile(source, theirs)
    convert_endian(source, ours, "big")
    by_gguf_py(theirs, "big", monkeypatch)
    assert ours.read_bytes() == theirs.read_bytes()


def test_real_model(tmp_path: Path) -> None:
    source = realfiles.smollm2()
    big, back = tmp_path / "big.gguf", tmp_path / "back.gguf"
    convert_endian(source, big)
    with ggufspec.open(source) as one, ggufspec.open(big) as other:
        assert list(other.metadata["tokenizer.ggml.merges"]) == list(
            one.metadata["tokenizer.ggml.merges"]
        )
        for name in ("token_embd.weight", "blk.3.attn_q.weight", "blk.3.attn_norm.weight"):
            first, second = one.tensors[name].dequantize(), other.tensors[name].dequantize()
            assert first_difference(first, second) is None
    convert_endian(big, back, "little")
    assert back.read_bytes() == source.read_bytes()


# What cannot be converted


def test_type_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    unknown = forks.Entry("odd\x1bname", [32], 99, bytes(64))
    path.write_bytes(forks.model([forks.plain("a"), unknown, forks.plain("b")]))
    done = command("convert-endian", path, tmp_path / "b.gguf")
    assert done.returncode == 3
    assert re.search(r"tensor 'odd\\+x1bname' of type UNKNOWN\(99\): nobody knows", done.stderr)
    assert names(tmp_path) == ["a.gguf"]
    done = command("convert-endian", path, tmp_path / "b.gguf", "--dry-run", "--json")
    assert done.returncode == 3
    assert "UNKNOWN(99)" in json.loads(done.stdout)["error"]["message"]
    copied = command("convert-endian", path, tmp_path / "b.gguf", "--to", "little")
    assert copied.returncode == 0
    assert (tmp_path / "b.gguf").read_bytes() == path.read_bytes()


def test_type_of_which_only_the_size_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(forks.model([forks.entry("w", (256, 4), 139, "IQ4_K"), forks.plain("b")]))
    with pytest.raises(ConversionError, match="tensor 'w' of type IQ4_K") as caught:
        convert_endian(path, tmp_path / "b.gguf", dialect="ik_llama.cpp")
    assert caught.value.kind == "unsupported"
    assert names(tmp_path) == ["a.gguf"]


# Sets, names, failures


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    rng = np.random.default_rng(2)
    tensors = {f"t{number}": rng.standard_normal((128, 1024), np.float32) for number in range(4)}
    ggufspec.write(path, {"general.name": "x", "a.list": np.arange(9, dtype=np.int16)}, tensors)
    return path


def test_files_of_a_set_are_converted_one_by_one(model: Path, tmp_path: Path) -> None:
    assert command("split", model, tmp_path / "set", "--max-tensors", "2").returncode == 0
    shards = sorted(tmp_path.glob("set-*.gguf"))
    folder = tmp_path / "big"
    folder.mkdir()
    for shard in shards:
        done = command("convert-endian", shard, folder / shard.name, "--to", "big")
        assert done.returncode == 0
        assert f"of a set of {len(shards)}" in done.stderr
    with ggufspec.open(folder / shards[0].name) as turned, ggufspec.open(model) as one:
        assert turned.byte_order == "big"
        for name, tensor in one.tensors.items():
            assert np.array_equal(turned.tensors[name].array(), tensor.array())
    mixed = folder / shards[0].name
    shutil.copy(shards[0], mixed)
    with pytest.raises(ggufspec.GGUFError):
        ggufspec.open(mixed)


def test_the_command(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "big.gguf"
    dry = command("convert-endian", model, out, "--dry-run")
    assert dry.returncode == 0
    assert "would be written" in dry.stdout
    assert not out.exists()
    done = command("convert-endian", model, out, "--json", "--threads", "1")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert (record["from"], record["to"], record["written"]) == ("little", "big", True)
    assert record["types"] == {"F32": {"tensors": 4, "bytes": 4 * 128 * 1024 * 4}}
    there = command("convert-endian", model, out)
    assert there.returncode == 2
    assert "--force replaces it" in there.stderr
    assert command("convert-endian", model, out, "--force", "--to", "big").returncode == 0
    already = command("convert-endian", out, tmp_path / "copy.gguf", "--to", "big")
    assert already.returncode == 0
    assert "big-endian already" in already.stderr
    assert (tmp_path / "copy.gguf").read_bytes() == out.read_bytes()
    assert command("convert-endian", model, out, "--to", "sideways").returncode == 2
    assert command("convert-endian", tmp_path / "no.gguf", out, "--force").returncode == 4


def test_never_over_the_input(model: Path, tmp_path: Path) -> None:
    before = model.read_bytes()
    hard, soft = tmp_path / "hard.gguf", tmp_path / "soft.gguf"
    hard.hardlink_to(model)
    soft.symlink_to(model)
    for target in (model, hard, soft):
        done = command("convert-endian", model, target, "--force")
        assert done.returncode == 2
        assert "the output is the input" in done.stderr
    assert model.read_bytes() == before


def test_source_that_changes_meanwhile(model: Path, tmp_path: Path) -> None:
    def touch(_: int) -> None:
        os.utime(model, (1, 1))

    with pytest.raises(ConversionError, match="has changed since it was read"):
        convert_endian(model, tmp_path / "out.gguf", advance=touch)
    assert names(tmp_path) == ["model.gguf"]


def test_disk_that_is_full(model: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ggufspec", "convert-endian", model, tmp_path / "out.gguf"],
        capture_output=True, text=True, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )  # fmt: skip
    assert done.returncode == 4
    assert "out.gguf: file too large" in done.stderr
    assert names(tmp_path) == ["model.gguf"]


PROGRAM = """
from ggufspec.jobs.endian import convert_endian
def work(folder):
    convert_endian(folder / "model.gguf", folder / "out.gguf", replace=True)
"""


def test_killed_at_every_step(model: Path, tmp_path: Path) -> None:
    original, expected = tmp_path / "original", tmp_path / "expected.gguf"
    original.mkdir()
    convert_endian(model, expected)
    shutil.move(model, original / "model.gguf")
    (original / "out.gguf").write_bytes(b"what was there")
    before = (original / "model.gguf").read_bytes()
    runs = kills.sweep(tmp_path / "runs", original, PROGRAM)
    assert len(runs) > 5
    for folder in runs:
        assert (folder / "model.gguf").read_bytes() == before
        assert (folder / "out.gguf").read_bytes() in (b"what was there", expected.read_bytes())
    assert (runs[-1] / "out.gguf").read_bytes() == expected.read_bytes()


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_memory_does_not_grow_with_a_tensor(tmp_path: Path) -> None:
    path = tmp_path / "large.gguf"
    ggufspec.write(path, {"general.name": "x"}, {"w": np.zeros((48, 1 << 20), np.float32)})
    script = (
        "import sys; from ggufspec.jobs.endian import convert_endian\n"
        "convert_endian(sys.argv[1], sys.argv[2])\n"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path, tmp_path / "out.gguf"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert int(done.stdout) * 1024 < 120 << 20  # of a tensor of 192 MiB


@pytest.mark.parametrize("name", LAYOUTS)
def test_back_ends_turn_the_same(name: str) -> None:
    kind = types[name]
    prefix = np.arange(3 * kind.info.row_prefix, dtype=np.uint8).reshape(3, -1)
    for sample in block_samples(kind).values():
        rows = np.hstack([prefix, sample[: len(sample) // 3 * 3].reshape(3, -1)])
        expected = blocks.byteswap(rows, name, backend="numpy")
        assert expected.shape == rows.shape
        for threads in (1, 3):
            found = blocks.byteswap(rows, name, backend="native", threads=threads)
            assert np.array_equal(found, expected)
    empty = np.zeros((0, kind.info.row_prefix + kind.bytes), np.uint8)
    assert blocks.byteswap(empty, name).shape == empty.shape
