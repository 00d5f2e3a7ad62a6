"""GG10: types, ranges, lists of values, lengths of arrays in parallel, counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ggufspec import Value
from support.meaning import found, rules, strings

LLAMA = {"general.architecture": "llama"}
NAN = math.nan

CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "right types": (
        {
            "llama.block_count": Value("UINT32", 3),
            "general.tags": strings("a"),
            "x.y": Value("UINT8", 1),
        },
        [],
    ),
    "text for a number": ({"llama.block_count": Value("STRING", "3")}, ["GG1001"]),
    "float for an integer": ({"llama.block_count": Value("FLOAT32", 3.0)}, ["GG1001"]),
    "bool for an integer": ({"llama.block_count": Value("BOOL", True)}, ["GG1001"]),
    "array for a scalar": ({"llama.block_count": Value("ARRAY[UINT32]", [3])}, ["GG1001"]),
    "scalar for an array": ({"general.tags": Value("STRING", "a")}, ["GG1001"]),
    "numbers for text": ({"general.name": Value("UINT32", 1)}, ["GG1001"]),
    "as the documentation has it": ({"llama.block_count": Value("UINT64", 3)}, ["GG1002"]),
    "signed": ({"llama.block_count": Value("INT32", 3)}, ["GG1002"]),
    "wider float": ({"llama.rope.freq_base": Value("FLOAT64", 1e4)}, ["GG1002"]),
    "wider elements": ({"llama.attention.head_count": Value("ARRAY[UINT64]", [1])}, ["GG1002"]),
    "scores that are read byte by byte": (  # R16
        {
            "tokenizer.ggml.tokens": strings("a", "b"),
            "tokenizer.ggml.scores": Value("ARRAY[UINT8]", [0, 0]),
        },
        ["GG1001"],
    ),
    "types that are read byte by byte": (  # R16
        {
            "tokenizer.ggml.tokens": strings("a", "b"),
            "tokenizer.ggml.token_type": Value("ARRAY[INT8]", [1, 1]),
        },
        ["GG1001"],
    ),
    "scores that are integers": (
        {
            "tokenizer.ggml.tokens": strings("a", "b"),
            "tokenizer.ggml.scores": Value("ARRAY[INT32]", [0, 0]),
        },
        [],
    ),
    "other architecture's key": ({"qwen2.block_count": Value("STRING", "3")}, []),
    "numbered key": ({"general.base_model.0.name": Value("UINT32", 1)}, ["GG1001"]),
    "named template": ({"tokenizer.chat_template.rag": Value("UINT32", 1)}, ["GG1001"]),
    "no blocks": ({"llama.block_count": 0}, ["GG1003"]),
    "most blocks": ({"llama.block_count": 512}, []),
    "too many blocks": ({"llama.block_count": 513}, ["GG1003"]),
    "too many experts": ({"llama.expert_count": 1025}, ["GG1003"]),
    "epsilon NaN": ({"llama.attention.layer_norm_rms_epsilon": NAN}, ["GG1003"]),
    "epsilon infinite": ({"llama.attention.layer_norm_rms_epsilon": math.inf}, ["GG1003"]),
    "epsilon negative": ({"llama.attention.layer_norm_epsilon": -1e-5}, ["GG1003"]),
    "epsilon zero": ({"llama.attention.layer_norm_epsilon": 0.0}, ["GG1003"]),
    "tiny epsilon": ({"llama.attention.layer_norm_epsilon": 1e-12}, []),
    "factor NaN": ({"llama.logit_scale": NAN}, ["GG1004"]),
    "sampling infinite": ({"general.sampling.temp": -math.inf}, ["GG1004"]),
    "unknown tokenizer": ({"tokenizer.ggml.model": "lama"}, ["GG1005"]),
    "unknown type of file": ({"general.type": "modell"}, ["GG1005"]),
    "unknown pooling": ({"llama.pooling_type": 9}, ["GG1005"]),
    "known pooling": ({"llama.pooling_type": 4}, []),
    "rope scaling unknown": ({"llama.rope.scaling.type": "dynamic"}, ["GG1006"]),
    "rope scaling known": ({"llama.rope.scaling.type": "yarn"}, []),
    "fewer scores": (
        {
            "tokenizer.ggml.tokens": strings("a", "b"),
            "tokenizer.ggml.scores": Value("ARRAY[FLOAT32]", [0]),
        },
        ["GG1007"],
    ),
    "more types": (
        {
            "tokenizer.ggml.tokens": strings("a"),
            "tokenizer.ggml.token_type": Value("ARRAY[INT32]", [1, 1]),
        },
        ["GG1007"],
    ),
    "scores without tokens": ({"tokenizer.ggml.scores": Value("ARRAY[FLOAT32]", [0])}, []),
    "one a block": (
        {"llama.block_count": 2, "llama.attention.head_count": Value("ARRAY[INT32]", [4, 4])},
        [],
    ),
    "not one a block": (
        {"llama.block_count": 3, "llama.attention.head_count": Value("ARRAY[INT32]", [4, 4])},
        ["GG1007"],
    ),
    "four sections": (
        {"llama.rope.dimension_sections": Value("ARRAY[INT32]", [1, 2, 3])},
        ["GG1007"],
    ),
    "parallel names": (
        {
            "general.tensor_extra.name": strings("a", "b"),
            "general.tensor_extra.prec_a4": Value("ARRAY[BOOL]", [True]),
        },
        ["GG1007"],
    ),
    "unknown types of tokens": (
        {
            "tokenizer.ggml.tokens": strings("a", "b"),
            "tokenizer.ggml.token_type": Value("ARRAY[INT32]", [1, 9]),
        },
        ["GG1008"],
    ),
    "old name": ({"llama.rope.scale_linear": 2.0}, ["GG1009"]),
    "base models": (
        {
            "general.base_model.count": 1,
            "general.base_model.0.name": "a",
            "general.base_model.0.url": "b",
        },
        [],
    ),
    "no base models": ({"general.base_model.count": 0}, []),
    "count beyond": (
        {"general.base_model.count": 4294967295, "general.base_model.0.name": "a"},
        ["GG1010"],
    ),
    "count below": (
        {
            "general.base_model.count": 1,
            "general.base_model.0.name": "a",
            "general.base_model.1.name": "b",
        },
        ["GG1010"],
    ),
    "gap in the numbers": (
        {"general.dataset.count": 1, "general.dataset.1.name": "b"},
        ["GG1010"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_keys(name: str) -> None:
    keys, expected = CASES[name]
    assert rules(found({**LLAMA, **keys}), "GG10") == expected
    assert rules(found({**LLAMA, **keys}, profile="ggml")) == []


@pytest.mark.parametrize("profile", ["spec", "strict", "lenient"])
def test_severities(profile: str) -> None:
    report = found({**LLAMA, "llama.block_count": Value("STRING", "")}, profile=profile)
    assert [finding.severity for finding in report.findings] == ["error"]
    report = found({**LLAMA, "llama.block_count": Value("UINT64", 1)}, profile=profile)
    assert [finding.severity for finding in report.findings] == [
        "warning" if profile == "strict" else "info"
    ]


def test_places_and_words() -> None:
    (finding,) = found({**LLAMA, "llama.block_count": 513}).findings
    assert finding.path == "metadata[1].value"
    assert finding.offset == 24 + 8 + 20 + 4 + 8 + 5 + 8 + 17 + 4
    assert finding.message == "llama.block_count is 513; it has to be 1 to 512"


def test_architecture_that_is_no_text() -> None:
    keys = {"general.architecture": Value("UINT32", 5), "llama.block_count": Value("STRING", "x")}
    assert rules(found(keys)) == ["GG1001"]
    assert rules(found({"{arch}.block_count": Value("STRING", "x")})) == []


def test_names_in_braces_are_no_patterns() -> None:
    keys = {
        "general.architecture": "{id}",
        "{id}.block_count": 0,
        "general.base_model.{id}.name": Value("FLOAT32", 3.0),
    }
    assert rules(found(keys), "GG10") == ["GG1003"]


def test_elements_of_a_long_array_are_one_finding() -> None:
    keys = {
        **LLAMA,
        "tokenizer.ggml.tokens": Value("ARRAY[STRING]", [str(n) for n in range(1000)]),
        "tokenizer.ggml.token_type": np.full(1000, 7, np.int32),
    }
    (finding,) = (f for f in found(keys).findings if f.rule == "GG1008")
    assert finding.message.startswith("1000 elements of tokenizer.ggml.token_type")
