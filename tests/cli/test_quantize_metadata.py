"""``quantize``: the keys of the output and their order, layers left out, split sets, alignment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.recipes import visiting_order
from support import gguf_py, models

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("int:5", "UINT32", 5),
        ("int:-5", "UINT32", 5),
        ("int:4294967295", "UINT32", 4294967295),
        ("float:0.1", "FLOAT32", float(np.float32(0.1))),
        ("bool:true", "BOOL", True),
        ("bool:false", "BOOL", False),
        ("str:a=b:c", "STRING", "a=b:c"),
        ("str:", "STRING", ""),
        ("UINT8:255", "UINT8", 255),
        ("INT8:-128", "INT8", -128),
        ("UINT16:65535", "UINT16", 65535),
        ("INT16:-1", "INT16", -1),
        ("UINT32:7", "UINT32", 7),
        ("INT32:-7", "INT32", -7),
        ("UINT64:18446744073709551615", "UINT64", 2**64 - 1),
        ("INT64:-9223372036854775808", "INT64", -(2**63)),
        ("FLOAT32:-inf", "FLOAT32", -np.inf),
        ("FLOAT64:0.1", "FLOAT64", 0.1),
        ("BOOL:true", "BOOL", True),
        ("STRING:" + "\u00e9" * 200, "STRING", "\u00e9" * 200),
        ("ARRAY[UINT32]:[1, 2]", "ARRAY[UINT32]", [1, 2]),
        ('ARRAY[STRING]:["a", ""]', "ARRAY[STRING]", ["a", ""]),
        ("ARRAY[FLOAT32]:[1, 0.5]", "ARRAY[FLOAT32]", [1.0, 0.5]),
        ("ARRAY[BOOL]:[true]", "ARRAY[BOOL]", [True]),
        ("array[int8]:[]", "ARRAY[INT8]", []),
        ("ARRAY[ARRAY[INT16]]:[[1], [2, 3]]", "ARRAY[ARRAY[INT16]]", [[1], [2, 3]]),
    ],
)
def test_override_of_every_type(
    run: Run, llama: Path, tmp_path: Path, text: str, kind: str, value: Any
) -> None:
    out = tmp_path / "out.gguf"
    result = run("quantize", llama, out, "Q8_0", "--override-kv", f"made.up={text}")
    assert result.code == 0, result.err
    with ggufspec.open(out) as file:
        assert list(file.metadata)[-1] == "made.up"
        assert file.metadata.type_of("made.up") == kind
        assert plain(file.metadata["made.up"]) == value


def plain(value: Any) -> Any:
    return value if np.isscalar(value) else [plain(one) for one in value]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no", "it is not KEY=TYPE:VALUE"),
        ("a=5", "it is not KEY=TYPE:VALUE"),
        ("=int:5", "it is not KEY=TYPE:VALUE"),
        ("a=int:x", "'x' is no whole number"),
        ("a=int:4294967296", "UINT32, which cannot hold 4294967296"),
        ("a=float:x", "'x' is no number"),
        ("a=bool:1", "'1' is neither true nor false"),
        ("a=str:" + "x" * 128, "at most 127 bytes"),
        ("k" * 128 + "=int:1", "at most 127 bytes"),
        ("a=WORD:1", "there is no type 'WORD'"),
        ("a=UINT8:256", "which cannot hold 256"),
        ("a=ARRAY[UINT8]:[1, -1]", "cannot hold -1"),
        ("a=ARRAY[UINT8]:[1.5]", "1.5 is no UINT8"),
        ("a=ARRAY[UINT8]:1", "an array is [...]"),
        ("a=ARRAY[UINT8]:[", "the array is not JSON"),
        ("a=ARRAY[STRING]:[true]", "true is no STRING"),
        ("a=ARRAY[WORD]:[1]", "there is no type 'WORD' for elements"),
        ("general.alignment=int:7", "alignment"),
    ],
    ids=lambda text: text[:30],
)
def test_wrong_overrides(run: Run, llama: Path, tmp_path: Path, text: str, told: str) -> None:
    result = run("quantize", llama, tmp_path / "out.gguf", "Q8_0", "--override-kv", text)
    assert result.code in (1, 2), result.err
    assert "internal" not in result.err
    assert told in result.err
    assert not list(tmp_path.iterdir())


def test_order_of_keys(run: Run, llama: Path, tmp_path: Path) -> None:
    """As in ggml what is set anew moves to the end; the sets follow each other."""
    out = tmp_path / "out.gguf"
    with ggufspec.open(llama) as file:
        source = list(file.metadata)
    options = ["general.name=str:x", "b=int:1", "general.file_type=int:9", "b=int:2", "a=int:3"]
    overrides = [word for text in options for word in ("--override-kv", text)]
    assert run("quantize", llama, out, "Q8_0", *overrides, "--prune-layers", "1").code == 0
    with ggufspec.open(out) as file:
        own = ["general.quantization_version", "general.name", "general.file_type", "b", "a"]
        moved = {"general.name", "general.file_type", "llama.block_count"}
        expected = [key for key in source if key not in moved] + own + ["llama.block_count"]
        assert list(file.metadata) == expected
        assert file.metadata["general.file_type"] == 9
        assert file.metadata["b"] == 2
        assert file.metadata["llama.block_count"] == 3


def test_recipes_go_by_the_overridden_keys(run: Run, llama: Path) -> None:
    """Eight experts make attn_v Q8_0."""
    plain = run("quantize", llama, "Q4_K_M", "--plan", "--json").json
    option = ("--override-kv", "llama.expert_count=int:8")
    experts = run("quantize", llama, "Q4_K_M", "--plan", "--json", *option).json
    types = [
        {one["to"] for one in told["tensors"] if "attn_v" in one["name"]}
        for told in (plain, experts)
    ]
    assert types[1] == {"Q8_0"} != types[0]


@pytest.mark.parametrize("prune", ["0", "1", "3", "0,2", "2,1,2", "0,1,2"])
def test_prune_layers(run: Run, llama: Path, tmp_path: Path, prune: str) -> None:
    out = tmp_path / "out.gguf"
    assert run("quantize", llama, out, "F32", "--prune-layers", prune).code == 0
    left = [layer for layer in range(4) if layer not in map(int, prune.split(","))]
    with ggufspec.open(llama) as source, ggufspec.open(out) as file:
        assert file.metadata["llama.block_count"] == len(left)
        assert list(file.tensors) == sorted(file.tensors, key=visiting_order)
        for name, tensor in file.tensors.items():
            old = name
            if name.startswith("blk."):
                _, number, rest = name.split(".", 2)
                old = f"blk.{left[int(number)]}.{rest}"
            assert np.array_equal(tensor.data, source.tensors[old].data), (name, old)
        assert len(file.tensors) == 3 + 9 * len(left)


@pytest.mark.parametrize("cuts", [(3, 20), (0, 5), (30,), (4, 4, 9)], ids=str)
def test_keep_split(run: Run, tmp_path: Path, cuts: tuple[int, ...]) -> None:
    first = models.write_set(tmp_path / "in", models.llama(), models.metadata(), *cuts)
    whole = tmp_path / "whole.gguf"
    assert run("quantize", first, whole, "Q4_0").code == 0
    result = run("quantize", first, tmp_path / "out.gguf", "Q4_0", "--keep-split", "--json")
    assert result.code == 0, result.err
    count = len(cuts) + 1
    paths = [tmp_path / f"out-{n:05}-of-{count:05}.gguf" for n in range(1, count + 1)]
    assert result.json["files"] == [str(path) for path in paths]
    assert result.json["sizes"] == [path.stat().st_size for path in paths]
    with ggufspec.open(paths[-1]) as file, ggufspec.open(whole) as other:
        assert set(file.tensors) == set(other.tensors)
        assert [t.shard for t in file.tensors.values()] == sorted(
            t.shard for t in file.tensors.values()
        )
        for name, tensor in other.tensors.items():
            assert file.tensors[name].type == tensor.type
            assert np.array_equal(file.tensors[name].data, tensor.data)
    for number, path in enumerate(paths):
        keys = gguf_py.read(path).fields
        written = [key for key in keys if not key.startswith("GGUF.")]
        assert written[-3:] == ["split.no", "split.count", "split.tensors.count"]
        assert number == 0 or len(written) == 3
        assert keys["split.no"].contents() == number
        assert keys["split.count"].contents() == count
        assert keys["split.tensors.count"].contents() == len(models.llama())


def test_keep_split_of_one_file(run: Run, llama: Path, tmp_path: Path) -> None:
    """Named as a set of one, in the input's order, without the keys of a set: as llama-quantize."""
    assert run("quantize", llama, tmp_path / "out.gguf", "Q8_0", "--keep-split").code == 0
    out = tmp_path / "out-00001-of-00001.gguf"
    with ggufspec.open(llama) as source, ggufspec.open(out) as file:
        assert list(file.tensors) == list(source.tensors)
        assert not any(key.startswith("split.") for key in file.metadata)


def test_a_file_of_the_set_exists(run: Run, tmp_path: Path) -> None:
    first = models.write_set(tmp_path / "in", models.llama(), models.metadata(), 9)
    (tmp_path / "out-00002-of-00002.gguf").write_text("precious")
    result = run("quantize", first, tmp_path / "out", "Q8_0", "--keep-split")
    assert result.code == 2
    assert "out-00002-of-00002.gguf: the output exists" in result.err


@pytest.mark.parametrize("alignment", [64, 256, 4096])
def test_padding_follows_the_files_own_alignment(run: Run, tmp_path: Path, alignment: int) -> None:
    """llama-quantize pads to 32 whatever the key says, and ggml then refuses its file."""
    path, out = tmp_path / "in.gguf", tmp_path / "out.gguf"
    models.write_llama(path, 1, keys={"general.alignment": Value("UINT32", alignment)})
    assert run("quantize", path, out, "Q4_0").code == 0
    assert ggufspec.validate(out, checks=("structure",)).ok
    with ggufspec.open(path) as source, ggufspec.open(out) as file:
        assert file.alignment == alignment
        assert all(tensor.offset % alignment == 0 for tensor in file.tensors.values())
        norm = "output_norm.weight"
        assert np.array_equal(file.tensors[norm].data, source.tensors[norm].data)
    bigger = tmp_path / "bigger.gguf"
    option = ("--override-kv", "general.alignment=int:128")
    assert run("quantize", path, bigger, "Q4_0", *option).code == 0
    with ggufspec.open(bigger) as file:
        assert file.alignment == 128


def test_parts_of_a_set_keep_their_alignment(run: Run, tmp_path: Path) -> None:
    keys = {**models.metadata(), "general.alignment": Value("UINT32", 64)}
    first = models.write_set(tmp_path / "in", models.llama(), keys, 9)
    assert run("quantize", first, tmp_path / "out", "Q8_0", "--keep-split").code == 0
    for number in (1, 2):
        part = tmp_path / f"out-0000{number}-of-00002.gguf"
        assert ggufspec.validate(part, checks=("structure",)).ok
    with ggufspec.open(tmp_path / "out-00001-of-00002.gguf") as file:
        assert file.alignment == 64
        assert len(file.tensors) == len(models.llama())
