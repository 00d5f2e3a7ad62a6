"""GG13: adapters, importance matrices, projectors, control vectors; and what they belong to."""

from __future__ import annotations

from typing import Any

import pytest

import ggufspec
from ggufspec import Value
from ggufspec.generated.kinds import OUTPUTS
from ggufspec.validation.model import kind_of
from support.meaning import EMBEDDING, FEED_FORWARD, TOKENS, Toy, found, made, rules, strings, toy

RANK = 3
ADAPTER = Toy(
    {
        "general.type": "adapter",
        "general.architecture": "llama",
        "adapter.type": "lora",
        "adapter.lora.alpha": 16.0,
    },
    {
        "blk.0.attn_q.weight.lora_a": (EMBEDDING, RANK),
        "blk.0.attn_q.weight.lora_b": (RANK, EMBEDDING),
        "blk.1.ffn_up.weight.lora_a": (EMBEDDING, RANK),
        "blk.1.ffn_up.weight.lora_b": (RANK, FEED_FORWARD),
        "token_embd.weight.lora_a": (RANK, TOKENS),
        "token_embd.weight.lora_b": (RANK, EMBEDDING),
        "blk.0.attn_norm.weight": (EMBEDDING,),
    },
)
IMATRIX = Toy(
    {
        "general.type": "imatrix",
        "imatrix.datasets": strings("a.txt"),
        "imatrix.chunk_count": 4,
        "imatrix.chunk_size": 512,
    },
    {
        "blk.0.attn_q.weight.in_sum2": (EMBEDDING, 1),
        "blk.0.attn_q.weight.counts": (1, 1),
        "blk.0.ffn_up_exps.weight.in_sum2": (EMBEDDING, 8),
        "blk.0.ffn_up_exps.weight.counts": (1, 8),
    },
)
PROJECTOR = Toy(
    {
        "general.type": "mmproj",
        "general.architecture": "clip",
        "clip.has_vision_encoder": True,
        "clip.projector_type": "mlp",
        "clip.vision.image_size": 224,
        "clip.vision.patch_size": 14,
        "clip.vision.embedding_length": 16,
        "clip.vision.feed_forward_length": 64,
        "clip.vision.block_count": 1,
        "clip.vision.projection_dim": 8,
        "clip.vision.attention.head_count": 2,
        "clip.vision.attention.layer_norm_epsilon": 1e-5,
    },
    {
        "v.patch_embd.weight": (14, 14, 3, 16),
        "mm.0.weight": (16, EMBEDDING),
        "mm.2.weight": (EMBEDDING, EMBEDDING),
    },
)
CONTROL = Toy(
    {
        "general.architecture": "controlvector",
        "controlvector.model_hint": "llama",
        "controlvector.layer_count": 2,
    },
    {"direction.1": (EMBEDDING,), "direction.2": (EMBEDDING,)},
)
NAMES = {"adapter": ADAPTER, "imatrix": IMATRIX, "projector": PROJECTOR, "control-vector": CONTROL}
Q_A, Q_B = "blk.0.attn_q.weight.lora_a", "blk.0.attn_q.weight.lora_b"

CASES: dict[str, tuple[Toy, list[str]]] = {
    **{f"whole {name}": (model, []) for name, model in NAMES.items()},
    **{f"empty {name}": (model._replace(shapes={}), ["GG1302"]) for name, model in NAMES.items()},
    "no alpha": (ADAPTER.with_keys(adapter__lora__alpha=None), ["GG1301"]),
    "no chunks": (IMATRIX.with_keys(imatrix__chunk_count=None), ["GG1301"]),
    "no size of images": (PROJECTOR.with_keys(clip__vision__image_size=None), ["GG1301"]),
    "no flag": (PROJECTOR.with_keys(clip__has_vision_encoder=None), ["GG1301"]),
    "no hint": (CONTROL.with_keys(controlvector__model_hint=None), ["GG1301"]),
    "projector of a llama": (PROJECTOR.with_keys(general__architecture="llama"), ["GG1303"]),
    "adapter of clip": (ADAPTER.with_keys(general__architecture="clip"), ["GG1303"]),
    "matrix of control": (IMATRIX.with_keys(general__architecture="controlvector"), ["GG1303"]),
    "matrix of a llama": (IMATRIX.with_keys(general__architecture="llama"), []),
    "projector without its type": (PROJECTOR.with_keys(general__type=None), []),
    "projector that says model": (PROJECTOR.with_keys(general__type="model"), []),
    "whole tensor": (ADAPTER.with_shapes({"blk.0.ffn_up.weight": (4, 4)}), ["GG1311"]),
    "half a pair": (ADAPTER.with_shapes({Q_B: None}), ["GG1312"]),
    "other rank": (ADAPTER.with_shapes({Q_B: (RANK + 1, EMBEDDING)}), ["GG1313"]),
    "transposed": (ADAPTER.with_shapes({Q_A: (RANK, EMBEDDING)}), ["GG1313"]),
    "matrix in F16": (IMATRIX, ["GG1321"]),
    "no counts": (IMATRIX.with_shapes({"blk.0.attn_q.weight.counts": None}), ["GG1322"]),
    "no sums": (IMATRIX.with_shapes({"blk.0.attn_q.weight.in_sum2": None}), ["GG1322"]),
    "fewer counts": (
        IMATRIX.with_shapes({"blk.0.ffn_up_exps.weight.counts": (1, 4)}),
        ["GG1323"],
    ),
    "counts in a row": (
        IMATRIX.with_shapes({"blk.0.ffn_up_exps.weight.counts": (8, 1)}),
        ["GG1323"],
    ),
    "one count, one dimension": (IMATRIX.with_shapes({"blk.0.attn_q.weight.counts": (1,)}), []),
    "something else": (IMATRIX.with_shapes({"token_embd.weight": (4,)}), ["GG1324"]),
    "audio that is not there": (
        PROJECTOR.with_keys(clip__has_audio_encoder=True).with_shapes(
            {name: None for name in PROJECTOR.shapes if name.startswith("mm.")}
        ),
        ["GG1301", "GG1331"],
    ),
    "images that are denied": (PROJECTOR.with_keys(clip__has_vision_encoder=False), ["GG1331"]),
    "direction 0": (CONTROL.with_shapes({"direction.0": (EMBEDDING,)}), ["GG1341"]),
    "direction without a number": (CONTROL.with_shapes({"direction.": (EMBEDDING,)}), ["GG1341"]),
    "no direction": (CONTROL.with_shapes({"x": (EMBEDDING,)}), ["GG1341"]),
    "negative direction": (CONTROL.with_shapes({"direction.-1": (EMBEDDING,)}), ["GG1341"]),
    "shorter direction": (CONTROL.with_shapes({"direction.2": (EMBEDDING - 1,)}), ["GG1342"]),
    "matrix of directions": (CONTROL.with_shapes({"direction.2": (EMBEDDING, 2)}), ["GG1342"]),
}
TYPES = {"matrix in F16": {"blk.0.attn_q.weight.in_sum2": "F16"}}


@pytest.mark.parametrize("name", CASES)
def test_kinds(name: str) -> None:
    model, expected = CASES[name]
    types = TYPES.get(name)
    report = found(model.keys, model.shapes, types=types)
    assert rules(report, "GG13") == expected
    assert rules(found(model.keys, model.shapes, "ggml", types)) == []


def test_none_is_taken_for_a_broken_model() -> None:
    for model in NAMES.values():
        assert found(model.keys, model.shapes).verdict == "valid"


def test_directions_are_f32() -> None:
    report = found(*CONTROL, types={"direction.2": "F16"})
    assert rules(report, "GG13") == ["GG1342"]


@pytest.mark.parametrize(
    ("keys", "tensors", "kind"),
    [
        ({}, 0, "model"),
        ({"general.type": "model", "tokenizer.ggml.tokens": ["a"]}, 0, "vocabulary"),
        ({"tokenizer.ggml.tokens": ["a"]}, 1, "model"),
        ({"general.type": "adapter"}, 1, "adapter"),
        ({"adapter.type": "lora"}, 1, "adapter"),
        ({"general.type": "imatrix"}, 1, "imatrix"),
        ({"imatrix.chunk_count": 1}, 1, "imatrix"),
        ({"general.type": "mmproj"}, 1, "projector"),
        ({"general.architecture": "clip"}, 1, "projector"),
        ({"general.architecture": "controlvector"}, 1, "control-vector"),
        ({"general.type": 5, "general.architecture": b"\xff"}, 1, "model"),
    ],
)
def test_which_kind(keys: dict[str, Any], tensors: int, kind: str) -> None:
    assert kind_of(keys, tensors) == kind


LLAMA = toy("llama")
BASE = made(*LLAMA)


def against(model: Toy, base: bytes = BASE) -> list[str]:
    return rules(found(model.keys, model.shapes, base=base), "GG13")


def test_adapter_that_fits() -> None:
    assert against(ADAPTER) == []
    experts = toy("llama", experts=3)
    stack = "blk.0.ffn_up_exps.weight"
    adapter = ADAPTER._replace(
        shapes={
            f"{stack}.lora_a": (EMBEDDING, RANK, 3),
            f"{stack}.lora_b": (RANK, FEED_FORWARD, 3),
        }
    )
    assert against(adapter, made(*experts)) == []
    fewer = adapter.with_shapes({f"{stack}.lora_a": (EMBEDDING, RANK, 2)})
    assert against(fewer, made(*experts)) == ["GG1317"]


MISFITS: dict[str, tuple[Toy, list[str]]] = {
    "other architecture": (ADAPTER.with_keys(general__architecture="qwen2"), ["GG1315"]),
    "tensor that is not there": (
        ADAPTER.with_shapes(
            {
                "blk.9.attn_q.weight.lora_a": (EMBEDDING, RANK),
                "blk.9.attn_q.weight.lora_b": (RANK, EMBEDDING),
            }
        ),
        ["GG1316"],
    ),
    "rows of another length": (ADAPTER.with_shapes({Q_A: (64, RANK)}), ["GG1317"]),
    "other rows": (ADAPTER.with_shapes({Q_B: (RANK, 64)}), ["GG1317"]),
    "embedding like any other": (
        ADAPTER.with_shapes(
            {
                "token_embd.weight.lora_a": (EMBEDDING, RANK),
                "token_embd.weight.lora_b": (RANK, TOKENS),
            }
        ),
        ["GG1317"],
    ),
    "wide control vector": (
        CONTROL.with_shapes({"direction.1": (64,), "direction.2": (64,)}),
        ["GG1318"],
    ),
    "control vector": (CONTROL, []),
    "wide projector": (PROJECTOR.with_shapes({"mm.2.weight": (EMBEDDING, 64)}), ["GG1318"]),
    "projector": (PROJECTOR, []),
    "projector of an unknown type": (
        PROJECTOR.with_keys(clip__projector_type="new").with_shapes({"mm.2.weight": (1, 64)}),
        [],
    ),
}


@pytest.mark.parametrize("name", MISFITS)
def test_pairs(name: str) -> None:
    model, expected = MISFITS[name]
    assert against(model) == expected


def test_base_of_the_wrong_kind() -> None:
    assert against(ADAPTER, made(*PROJECTOR)) == ["GG1314"]
    assert against(CONTROL, made(*ADAPTER)) == ["GG1314"]


def test_base_that_is_damaged() -> None:
    report = found(*ADAPTER, base=BASE[:100])
    assert "GG0902" in [finding.rule for finding in report.findings]
    assert rules(report, "GG13") == []


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_projectors(name: str) -> None:
    tensor, axis = OUTPUTS[name]
    for width, expected in ((EMBEDDING, []), (EMBEDDING + 1, ["GG1318"])):
        dims = tuple(width if at == axis else 5 for at in range(max(axis + 1, 1)))
        model = PROJECTOR.with_keys(clip__projector_type=name)
        assert against(model.with_shapes({"mm.2.weight": None, tensor: dims})) == expected


def test_severities() -> None:
    for name, (model, expected) in CASES.items():
        report = found(*model, types=TYPES.get(name))
        for finding in report.findings:
            if finding.rule in expected:
                info = finding.rule in ("GG1301", "GG1302", "GG1324")
                assert finding.severity == ("info" if info else "error")


def test_adapter_with_values_of_the_wrong_type() -> None:
    keys = {**ADAPTER.keys, "general.type": Value("UINT32", 3), "adapter.type": Value("UINT32", 3)}
    report = ggufspec.validate(made(keys, ADAPTER.shapes), checks=("meaning",))
    assert rules(report, "GG10") == ["GG1001"]
