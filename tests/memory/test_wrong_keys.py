"""Files whose keys are missing or wrong: no cache of 0 bytes, but the reason why none is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.memory import Model, describe

from . import crafted

HEADS, HEADS_KV = "attention.head_count", "attention.head_count_kv"
MOST = 2**32 - 1


def described(path: Path, architecture: str, changes: dict[str, Any]) -> Model:
    """A model of an architecture with other keys; None: without it."""
    metadata = crafted.metadata(architecture)
    for name, value in changes.items():
        key = name if name.startswith("general.") else f"{architecture}.{name}"
        metadata.pop(key, None)
        if value is not None:
            plain = Value("UINT32", value) if isinstance(value, int) else value
            metadata[key] = plain
    ggufspec.write(path, metadata, {"blk.0.attn_q.weight": np.ones((4, 32), np.float32)})
    with ggufspec.open(path) as file:
        return describe(file)


def numbers(*values: int) -> Value:
    return Value("ARRAY[UINT32]", list(values))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({HEADS: None}, "the key llama.attention.head_count is missing"),
        ({HEADS: 0}, "llama.attention.head_count is 0"),
        ({HEADS: numbers(0, *[4] * 7)}, "llama.attention.head_count is 0"),
        ({HEADS: MOST}, "a head of keys would have no elements"),
        ({HEADS: numbers(*[MOST] * 8)}, "a head of keys would have no elements"),
        ({HEADS_KV: 0}, "llama.attention.head_count_kv is 0"),
        ({HEADS_KV: MOST}, "more than the 4 of llama.attention.head_count"),
        ({HEADS_KV: numbers(*[0] * 8)}, "llama.attention.head_count_kv is 0"),
        ({HEADS_KV: numbers()}, "has 0 values for 8 blocks"),
        ({HEADS_KV: numbers(2)}, "has 1 values for 8 blocks"),
        ({HEADS_KV: numbers(*[2] * 9)}, "has 9 values for 8 blocks"),
        ({"embedding_length": 0}, "llama.embedding_length is 0"),
        ({"embedding_length": None}, "the key llama.embedding_length is missing"),
        ({"embedding_length": Value("UINT64", 2**64 - 1)}, "is beyond"),
        ({"attention.key_length": 0}, "a head of keys would have no elements"),
        ({"attention.value_length": 0}, "a head of values would have no elements"),
        ({"general.architecture": Value("UINT32", 1)}, "general.architecture is UINT32"),
        ({"general.architecture": Value("STRING", b"\xff")}, "general.architecture is not UTF-8"),
        ({"general.architecture": ""}, "general.architecture is empty"),
    ],
)
def test_what_cannot_be_counted(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    model = described(tmp_path / "m.gguf", "llama", changes)
    assert reason in model.uncounted
    assert not model.has_cache
    assert not model.blocks


@pytest.mark.parametrize(
    ("architecture", "key"),
    [
        ("mamba", "ssm.inner_size"),
        ("mamba", "ssm.state_size"),
        ("mamba2", "ssm.conv_kernel"),
        ("falcon-h1", "ssm.inner_size"),
        ("jamba", "ssm.state_size"),
        ("qwen3next", "ssm.inner_size"),
        ("rwkv6", "wkv.head_size"),
        ("rwkv7", "wkv.head_size"),
        ("lfm2", "shortconv.l_cache"),
        ("kimi-linear", "kda.head_dim"),
    ],
)
@pytest.mark.parametrize("value", [None, 0], ids=["missing", "zero"])
def test_states(tmp_path: Path, architecture: str, key: str, value: int | None) -> None:
    whole = described(tmp_path / "whole.gguf", architecture, {})
    assert not whole.uncounted
    model = described(tmp_path / "m.gguf", architecture, {key: value})
    assert f"{architecture}.{key} is " in model.uncounted
    assert not model.has_cache


def test_blocks_without_heads_are_no_fault(tmp_path: Path) -> None:
    """Those of Deci have none in some blocks."""
    heads = numbers(2, *[0] * 3, *[2] * 4)
    model = described(tmp_path / "m.gguf", "deci", {HEADS_KV: heads})
    assert not model.uncounted
    assert [block.kind for block in model.blocks].count("none") == 3


@pytest.mark.parametrize(
    "value",
    [0, Value("STRING", "many"), Value("FLOAT32", 1.5), Value("INT32", -1), numbers(1)],
    ids=str,
)
def test_context_that_is_no_number(tmp_path: Path, value: Any) -> None:
    model = described(tmp_path / "m.gguf", "llama", {"context_length": value})
    assert any("llama.context_length does not say" in note for note in model.notes)
