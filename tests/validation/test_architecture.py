"""GG11: keys against tensors, in the architectures that have a file and in all others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.generated import architectures as tables
from ggufspec.generated.recipes import FILE_TYPES
from ggufspec.validation.architecture import evaluate
from support.meaning import (
    ARCHITECTURES,
    EMBEDDING,
    FEED_FORWARD,
    HEADS,
    HEADS_KV,
    WITH_LENGTHS,
    Toy,
    found,
    rules,
    toy,
)
from support.models import write_set

TOYS = {name: toy(name) for name in ARCHITECTURES}
TOYS |= {f"{name} with lengths": toy(name, lengths=True) for name in WITH_LENGTHS}
TOYS["llama with experts"] = toy("llama", experts=3)
LLAMA = toy("llama")


def told(model: Toy, profile: str = "strict", **more: Any) -> list[str]:
    return rules(found(model.keys, model.shapes, profile, **more), "GG11")


@pytest.mark.parametrize("name", TOYS)
@pytest.mark.parametrize("profile", ["spec", "strict", "lenient", "ggml"])
def test_whole_models(name: str, profile: str) -> None:
    report = found(*TOYS[name], profile)
    assert [f for f in report.findings if f.rule.startswith("GG1") and "GG12" not in f.rule] == []


@pytest.mark.parametrize("name", TOYS)
def test_each_shape_is_compared(name: str) -> None:
    """Every dimension of every tensor, one more than it should be."""
    model = TOYS[name]
    for tensor, dims in model.shapes.items():
        for axis in range(len(dims)):
            wrong = tuple(dim + (at == axis) for at, dim in enumerate(dims))
            report = found(*model.with_shapes({tensor: wrong}))
            (finding,) = (f for f in report.findings if f.rule.startswith("GG11"))
            assert finding.rule == "GG1106"
            assert finding.severity == "error"
            assert finding.message.startswith(f"{tensor} is [{', '.join(map(str, wrong))}], but")
            assert f"[{', '.join(map(str, dims))}]" in finding.message
        if tensor.startswith("blk.1."):  # the blocks are alike
            break


@pytest.mark.parametrize("name", TOYS)
def test_each_missing_tensor_is_told(name: str) -> None:
    model = TOYS[name]
    architecture = model.keys["general.architecture"]
    for tensor in model.shapes:
        pattern = re.sub(r"blk\.\d+", "blk.{n}", tensor)
        needed = tables.ARCHITECTURES[architecture].tensors[pattern].needed
        report = found(*model.with_shapes({tensor: None}))
        assert rules(report, "GG11") == (["GG1104"] if needed else [])
        assert all(f.severity == "info" for f in report.findings if f.rule == "GG1104")
        if tensor.startswith("blk.1."):
            break


@pytest.mark.parametrize("name", tables.ARCHITECTURES)
def test_tensor_names_are_those_of_gguf_py(name: str) -> None:
    """The tables of gguf-py name what a converter writes; ours has what llama.cpp loads."""
    if name in ("llama-embed", "mistral3"):
        name = "llama"
    ours = {
        pattern.rpartition(".")[0].replace("{n}", "{bid}")
        for pattern in tables.ARCHITECTURES[name].tensors
    }
    number = next(number for number, text in gguf.MODEL_ARCH_NAMES.items() if text == name)
    theirs = {gguf.TENSOR_NAMES[kind] for kind in gguf.MODEL_TENSORS[number]}
    assert theirs - ours == ONLY_GGUF_PY.get(name, set())
    assert ours - theirs == ONLY_LLAMA_CPP.get(name, set())


# What converters of old wrote, or no model of the architecture has.
ONLY_GGUF_PY = {
    "llama": {"blk.{bid}.attn_rot_embd"},
    "qwen2": {"rope_freqs"},
    "qwen3": {"rope_freqs"},
    "bert": {"output_norm"},
}
# What llama.cpp loads although gguf-py's tables do not have it.
ONLY_LLAMA_CPP = {
    "llama": {
        "blk.{bid}.attn_qkv",
        "blk.{bid}.ffn_down_shexp",
        "blk.{bid}.ffn_gate_shexp",
        "blk.{bid}.ffn_up_shexp",
        "rope_factors_long",
        "rope_factors_short",
    },
    "qwen2": {"blk.{bid}.attn_qkv"},
    "qwen3": {"blk.{bid}.attn_qkv", "cls.output"},
    "gemma2": {"blk.{bid}.attn_qkv"},
    "gemma3": {"blk.{bid}.attn_qkv", "dense_2", "dense_3"},
}


CHANGES: dict[str, tuple[Toy, list[str]]] = {
    "key missing": (LLAMA.with_keys(llama__context_length=None), ["GG1101"]),
    "heads missing": (LLAMA.with_keys(llama__attention__head_count=None), ["GG1101"]),
    "one block more": (
        LLAMA.with_shapes({"blk.2.attn_q.weight": (EMBEDDING, EMBEDDING)}),
        ["GG1102", "GG1104"],
    ),
    "one block less": (LLAMA.with_keys(llama__block_count=3), ["GG1103"]),
    "expert of its own": (
        LLAMA.with_shapes({"blk.0.ffn_gate.0.weight": (EMBEDDING, FEED_FORWARD)}),
        ["GG1105"],
    ),
    "zero in front of the number": (LLAMA.with_shapes({"blk.00.x": (1,)}), ["GG1105"]),
    "scale of a weight": (LLAMA.with_shapes({"blk.0.attn_q.scale": (1,)}), []),
    "experts where there are none": (
        LLAMA.with_shapes({"blk.0.ffn_up_exps.weight": (EMBEDDING, FEED_FORWARD, 3)}),
        ["GG1105"],
    ),
    "tied output": (LLAMA.with_shapes({"output.weight": None}), []),
    "one matrix for three": (
        LLAMA.with_shapes(
            {
                "blk.0.attn_q.weight": None,
                "blk.0.attn_k.weight": None,
                "blk.0.attn_v.weight": None,
                "blk.0.attn_qkv.weight": (EMBEDDING, EMBEDDING + 2 * HEADS_KV * 8),
            }
        ),
        [],
    ),
    "dimensions of one at the end": (
        LLAMA.with_shapes({"output_norm.weight": (EMBEDDING, 1, 1)}),
        [],
    ),
    "other embedding": (
        LLAMA.with_keys(
            llama__embedding_length=64,
            llama__attention__key_length=8,
            llama__attention__value_length=8,
        ),
        ["GG1106"],
    ),
    "other vocabulary": (LLAMA.with_keys(tokenizer__ggml__tokens=["a"]), ["GG1106"]),
    "no vocabulary": (LLAMA.with_keys(tokenizer__ggml__tokens=None), []),
    "size of the vocabulary alone": (
        LLAMA.with_keys(tokenizer__ggml__tokens=None, llama__vocab_size=9),
        ["GG1106"],
    ),
    "uneven heads": (LLAMA.with_keys(llama__attention__head_count_kv=3), ["GG1106", "GG1108"]),
    "embedding that heads do not share": (
        LLAMA.with_keys(llama__attention__head_count=5, llama__attention__head_count_kv=5),
        ["GG1106", "GG1108"],
    ),
    "no heads": (LLAMA.with_keys(llama__attention__head_count=0), ["GG1108"]),
    "no heads of keys": (LLAMA.with_keys(llama__attention__head_count_kv=0), ["GG1106", "GG1108"]),
    "half a rotation": (LLAMA.with_keys(llama__rope__dimension_count=4), ["GG1108"]),
    "whole rotation": (LLAMA.with_keys(llama__rope__dimension_count=8), []),
    "more experts used": (
        TOYS["llama with experts"].with_keys(llama__expert_used_count=4),
        ["GG1108"],
    ),
    "no experts used": (
        TOYS["llama with experts"].with_keys(llama__expert_used_count=0),
        ["GG1108"],
    ),
    "experts used of none": (LLAMA.with_keys(llama__expert_used_count=1), ["GG1108"]),
    "groups of one": (
        TOYS["llama with experts"].with_keys(llama__expert_group_count=3),
        ["GG1108"],
    ),
    "uneven groups": (
        TOYS["llama with experts"].with_keys(
            llama__expert_group_count=2, llama__expert_group_used_count=1
        ),
        ["GG1108"],
    ),
    "predicting blocks": (LLAMA.with_keys(llama__nextn_predict_layers=3), ["GG1108"]),
    "heads by block": (
        LLAMA.with_keys(
            llama__attention__head_count_kv=Value("ARRAY[INT32]", [HEADS_KV, HEADS_KV])
        ),
        [],
    ),
    "other heads in one block": (
        LLAMA.with_keys(llama__attention__head_count_kv=Value("ARRAY[INT32]", [HEADS_KV, HEADS])),
        ["GG1106"],
    ),
    "negative heads": (LLAMA.with_keys(llama__attention__head_count=Value("INT32", -4)), []),
    "heads that are text": (LLAMA.with_keys(llama__attention__head_count=Value("STRING", "4")), []),
    "huge cache": (
        LLAMA.with_keys(
            llama__context_length=2**32 - 1,
            llama__attention__key_length=2**31,
            llama__attention__value_length=2**31,
            llama__rope__dimension_count=2**31,
        ),
        ["GG1106", "GG1111"],
    ),
    "right file type": (LLAMA.with_keys(general__file_type=0), []),
    "wrong file type": (LLAMA.with_keys(general__file_type=15), ["GG1109"]),
    "guessed file type": (LLAMA.with_keys(general__file_type=1024), []),
    "unknown file type": (LLAMA.with_keys(general__file_type=500), ["GG1112"]),
    "retired file type": (LLAMA.with_keys(general__file_type=33), []),
    "version of nothing": (LLAMA.with_keys(general__quantization_version=1), []),
}


@pytest.mark.parametrize("name", CHANGES)
def test_contradictions(name: str) -> None:
    model, expected = CHANGES[name]
    assert told(model) == expected
    assert told(model, "ggml") == []


def test_types_that_no_program_calculates_with() -> None:
    norm, matrix = "blk.0.attn_norm.weight", "token_embd.weight"
    assert told(LLAMA, types={norm: "F16", matrix: "Q8_0"}) == []
    for types in ({norm: "I32"}, {norm: "Q8_0"}, {norm: "F64"}, {matrix: "F64"}, {matrix: "I8"}):
        assert told(LLAMA, types=types) == ["GG1107"]


def test_quantization_version() -> None:
    types = {"output.weight": "Q4_0"}
    for version, expected in ((2, []), (1, ["GG1110"]), (3, ["GG1110"])):
        model = LLAMA.with_keys(general__quantization_version=version)
        assert told(model, types=types) == expected


@pytest.mark.parametrize("kind", [kind for kind in FILE_TYPES if kind.type], ids=lambda k: k.name)
def test_every_file_type_is_found_in_its_own_tensors(kind: Any) -> None:
    dims = (256, 8)
    keys = {"general.architecture": "other", "general.file_type": kind.id}
    shapes = {"w.weight": dims, "norm": (256,)}
    assert rules(found(keys, shapes, types={"w.weight": kind.type}), "GG11") == []
    other = "Q8_0" if kind.type not in ("Q8_0", "MXFP4", "Q6_K") else "Q4_1"
    assert rules(found(keys, shapes, types={"w.weight": other}), "GG11") == ["GG1109"]


def test_rows_that_fell_back_keep_their_file_type() -> None:
    """gemma3-270m: rows of 640 do not divide by 256, so that Q4_K became Q5_0."""
    keys = {"general.architecture": "other", "general.file_type": 15}
    assert rules(found(keys, {"w.weight": (32, 8)}, types={"w.weight": "Q5_0"}), "GG11") == []


OTHER = {
    "general.architecture": "falcon",
    "falcon.embedding_length": 32,
    "falcon.block_count": 2,
    "falcon.expert_count": 3,
    "tokenizer.ggml.tokens": ["a", "b", "c"],
}
OTHER_SHAPES = {
    "token_embd.weight": (32, 3),
    "blk.0.attn_norm.weight": (32,),
    "blk.1.ffn_gate_inp.weight": (32, 3),
    "blk.1.ffn_up_exps.weight": (32, 5, 3),
    "blk.1.any.thing": (7,),
}


def test_other_architectures_have_general_rules() -> None:
    assert rules(found(OTHER, OTHER_SHAPES), "GG11") == []
    for name, dims in {
        "token_embd.weight": (32, 4),
        "blk.0.attn_norm.weight": (31,),
        "blk.1.ffn_up_exps.weight": (32, 5, 2),
    }.items():
        assert rules(found(OTHER, {**OTHER_SHAPES, name: dims}), "GG11") == ["GG1106"]
    assert rules(found(OTHER, {**OTHER_SHAPES, "blk.2.x": (1,)}), "GG11") == ["GG1102"]
    assert rules(found({**OTHER, "falcon.block_count": 3}, OTHER_SHAPES), "GG11") == ["GG1103"]
    # what a block in between lacks may be no part of the architecture
    some = {name: dims for name, dims in OTHER_SHAPES.items() if "blk.0" not in name}
    assert rules(found(OTHER, some), "GG11") == []


def test_exceptions_have_no_shapes() -> None:
    for name in tables.EXCEPT:
        keys = {"general.architecture": name, f"{name}.embedding_length": 5}
        assert rules(found(keys, {"token_embd.weight": (32, 3)}), "GG11") == []
        keys |= {f"{name}.block_count": 2, f"{name}.posnet.block_count": 3}
        assert rules(found(keys, {"token_embd.weight": (32, 3)}), "GG11") == ["GG1108"]


def test_tensors_of_all_files_of_a_set_count(tmp_path: Path) -> None:
    weights = {name: np.zeros(dims[::-1], np.float32) for name, dims in LLAMA.shapes.items()}
    first = write_set(tmp_path / "m", weights, LLAMA.keys, 3, 8)
    assert rules(ggufspec.validate(first, checks=("meaning",)), "GG11") == []
    del weights["blk.1.ffn_up.weight"]
    weights["blk.1.ffn_down.weight"] = np.zeros((3, 3), np.float32)
    first = write_set(tmp_path / "n", weights, LLAMA.keys, 3, 8)
    report = ggufspec.validate(first, checks=("meaning",))
    assert rules(report, "GG11") == ["GG1104", "GG1106"]
    (finding,) = (f for f in report.findings if f.rule == "GG1106")
    assert finding.file == "n-00003-of-00003.gguf"


def test_a_vocabulary_has_no_tensors_to_miss() -> None:
    assert rules(found(LLAMA.keys), "GG11") == []
    assert rules(found(LLAMA.with_keys(llama__attention__head_count_kv=3).keys), "GG11") == [
        "GG1108"
    ]


def test_formulas() -> None:
    formula = tables.ARCHITECTURES["llama"].tensors["blk.{n}.attn_k.weight"].dims[1]
    assert formula is not None
    numbers = {"embedding_length": 12, "head_count": 4, "head_count_kv": [2, 1]}
    assert [evaluate(formula, numbers, block) for block in range(3)] == [6, 3, None]
    assert evaluate(formula, {**numbers, "head_count": 0}, 0) is None
    assert evaluate(formula, {**numbers, "head_count": None}, 0) is None
    assert evaluate(formula, {**numbers, "key_length": 5}, 0) == 10


def test_many_tensors_that_no_llama_has(tmp_path: Path) -> None:
    names = [f"blk.{n % 512}.x{n}" for n in range(20_000)]
    data = {name: np.zeros(1, np.float32) for name in names}
    path = tmp_path / "many.gguf"
    ggufspec.write(path, {**LLAMA.keys, "llama.block_count": 512}, data)
    report = ggufspec.validate(path, checks=("meaning",))
    assert rules(report, "GG11") == ["GG1104", "GG1105"]
    assert sum(f.rule.startswith("GG11") for f in report.findings) == 2
