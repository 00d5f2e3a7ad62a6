"""The command `memory`: what it prints, and what it says of files that are not run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support import realfiles

Run = Callable[..., Any]


def _made(path: Path, metadata: dict[str, Any], *names: str) -> Path:
    tensors = {name: np.ones((4, 32), np.float32) for name in names}
    ggufspec.write(path, metadata, tensors)
    return path


def _llama(**keys: Any) -> dict[str, Any]:
    numbers = {
        "context_length": 4096, "embedding_length": 256, "block_count": 2,
        "attention.head_count": 4, "attention.head_count_kv": 2, "vocab_size": 100,
    } | keys  # fmt: skip
    return {
        "general.architecture": "llama",
        **{
            f"llama.{key.replace('__', '.')}": value
            if isinstance(value, ggufspec.Value)
            else ggufspec.Value("UINT32", value)
            for key, value in numbers.items()
        },
    }


BLOCKS = [f"blk.{block}.attn_q.weight" for block in range(2)]
SIZE = 4 * 32 * 4


def test_json_has_what_a_machine_asks_for(run: Run, tmp_path: Path) -> None:
    path = _made(tmp_path / "m.gguf", _llama(), "token_embd.weight", *BLOCKS)
    told = run("memory", path, "--json", "-c", "256,1000").json
    assert told["weights"]["total"] == told["weights"]["host"] == 3 * SIZE
    first, second = told["contexts"]
    assert (first["cells"], second["cells"]) == (256, 1024)
    assert first["keys"] == first["values"] == 2 * 256 * 2 * 64 * 2
    assert first["outputs"] == 100 * 4
    assert {"cells", "cache", "row"} <= set(told["formulas"])
    assert told["not_counted"]


@pytest.mark.parametrize(
    ("layers", "host", "device", "cached"),
    [
        ("0", 3, 0, 0),
        ("1", 3, 1, 0),  # the output, a copy of the token embedding
        ("2", 2, 2, 1),
        ("3", 1, 3, 2),
        ("99", 1, 3, 2),
        ("all", 1, 3, 2),
    ],
)
def test_offloading(
    run: Run, tmp_path: Path, layers: str, host: int, device: int, cached: int
) -> None:
    path = _made(tmp_path / "m.gguf", _llama(), "token_embd.weight", *BLOCKS)
    told = run("memory", path, "--json", "-c", "256", "--gpu-layers", layers).json
    assert told["weights"]["host"] == host * SIZE
    assert told["weights"]["device"] == device * SIZE
    context = told["contexts"][0]
    assert context["device"] == cached * (context["host"] + context["device"]) // 2
    kept = run("memory", path, "--json", "-c", "256", "--offload", layers, "--no-kv-offload").json
    assert kept["contexts"][0]["device"] == 0


def test_the_table_has_powers_of_two_up_to_the_context(run: Run, tmp_path: Path) -> None:
    path = _made(tmp_path / "m.gguf", _llama(context_length=10_000), *BLOCKS)
    contexts = run("memory", path, "--json").json["contexts"]
    assert [entry["context"] for entry in contexts] == [2048, 4096, 8192, 10_000]
    out = run("memory", path, "--blocks").out
    assert "10,000" in out
    assert "formulas" in out
    assert "not counted" in out


def test_a_real_file_from_its_header(run: Run) -> None:
    out = run("memory", realfiles.gemma3(), "--gpu-layers", "all").out
    assert "15 window, 3 full, window of 512 tokens" in out
    assert "178.3 MB lie twice" in out


@pytest.mark.parametrize(
    "options",
    [
        ("--cache-type-k", "Q6_K"),
        ("--cache-type-v", "Q8_0", "--no-flash-attention"),
        ("-c", "0"),
        ("-c", "8k"),
        ("-c", ""),
        ("--sequences", "300"),
        ("--gpu-layers", "some"),
        ("--cache-type-k", "Q8_0"),  # heads of 20
    ],
)
def test_wrong_settings(run: Run, tmp_path: Path, options: tuple[str, ...]) -> None:
    path = _made(tmp_path / "m.gguf", _llama(embedding_length=80), *BLOCKS)
    result = run("memory", path, *options, "--json")
    assert result.code == 2
    assert result.json["error"]["message"]


def test_files_that_are_not_run(run: Run, tmp_path: Path) -> None:
    vocabulary = realfiles.vocabulary("ggml-vocab-llama-spm.gguf")
    told = run("memory", vocabulary, "--json").json
    assert told["contexts"] == []
    assert "no tensors" in told["uncounted"]
    assert "not counted" in run("memory", vocabulary).out
    clip = _made(
        tmp_path / "clip.gguf",
        {"general.architecture": "clip", "general.type": "mmproj"},
        "v.patch_embd.weight",
    )
    told = run("memory", clip, "--json").json
    assert "projector" in told["uncounted"]
    assert told["weights"]["total"] == SIZE
    adapter = {"general.architecture": "llama", "general.type": "adapter"}
    assert "adapter" in run("memory", _made(tmp_path / "a.gguf", adapter, *BLOCKS)).out
    nothing = _made(tmp_path / "n.gguf", {}, "a")
    assert "general.architecture is missing" in run("memory", nothing).out


def test_encoders_have_no_cache(run: Run, tmp_path: Path) -> None:
    keys = {key.replace("llama", "bert"): value for key, value in _llama().items()}
    path = _made(
        tmp_path / "m.gguf", keys | {"general.architecture": "bert"}, "token_embd.weight", *BLOCKS
    )
    told = run("memory", path, "--json", "--gpu-layers", "all").json
    assert not told["has_cache"]
    assert told["contexts"] == []
    assert told["weights"]["tied"] == 0
    assert "cache: none" in run("memory", path).out


def test_an_architecture_that_nobody_knows(run: Run, tmp_path: Path) -> None:
    keys = {key.replace("llama", "other"): value for key, value in _llama().items()}
    path = _made(tmp_path / "m.gguf", keys | {"general.architecture": "other"}, *BLOCKS)
    told = run("memory", path, "--json").json
    assert "nothing is known here" in told["notes"][0]
    assert told["contexts"][0]["keys"] > 0


@pytest.mark.parametrize(
    "keys",
    [
        {"block_count": 0},
        {"block_count": 100_000},
        {"block_count": ggufspec.Value("STRING", "x")},
        {"embedding_length": ggufspec.Value("FLOAT32", float("nan"))},
        {"attention__head_count": ggufspec.Value("INT32", -1)},
        {"attention__head_count_kv": ggufspec.Value("ARRAY[INT32]", [1] * 1000)},
        {"attention__head_count_kv": ggufspec.Value("ARRAY[STRING]", ["a"])},
        {"attention__head_count": ggufspec.Value("ARRAY[INT32]", [])},
        {"nextn_predict_layers": 7},
        {"context_length": 0},
        {"context_length": ggufspec.Value("UINT64", 1 << 63)},
        {"attention__key_length": ggufspec.Value("UINT64", 1 << 63)},
        {"vocab_size": ggufspec.Value("ARRAY[UINT32]", [1])},
    ],
    ids=str,
)
def test_senseless_keys(run: Run, tmp_path: Path, keys: dict[str, Any]) -> None:
    named = {key.replace("__", "."): value for key, value in keys.items()}
    path = _made(tmp_path / "m.gguf", _llama(**named), *BLOCKS)
    for options in (("--json",), ("--blocks",)):
        result = run("memory", path, *options)
        assert result.code == 0
        assert not result.err


def test_blocks_that_predict_further_tokens_keep_nothing(run: Run, tmp_path: Path) -> None:
    path = _made(tmp_path / "m.gguf", _llama(nextn_predict_layers=1), *BLOCKS)
    told = run("memory", path, "--json", "-c", "256").json
    assert len(told["blocks"]) == 1
    assert told["block_count"] == 2
    assert "predict further tokens" in told["notes"][0]
