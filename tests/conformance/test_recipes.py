"""Rules of the recipes that no snapshot reaches, and what the options do to them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import recipes
from ggufspec.jobs.errors import ConversionError
from ggufspec.jobs.options import Options
from ggufspec.jobs.plan import make_plan
from ggufspec.recipes import Decision, ModelFacts
from support import realfiles

ROW = 1024
"""A row that is whole blocks of every type."""

LLAMA = ModelFacts("llama", 32, 32, 8)
MANY_HEADS = ModelFacts("llama", 32, 32, 32)
MIXTRAL = ModelFacts("llama", 32, 32, 8, 8)
FALCON = ModelFacts("falcon", 32, 71, 1)


def decide(
    file_type: str | int, model: ModelFacts, names: Iterable[str], row: int = ROW, **options: Any
) -> dict[str, Decision]:
    """What becomes of matrices with these names, and of an output.weight beside them."""
    tensors = [(name, (row, 64), "F16") for name in {"output.weight": 0, **dict.fromkeys(names)}]
    return {d.name: d for d in recipes.plan(file_type, model, tensors, **options)}


def one(file_type: str | int, model: ModelFacts, name: str, **options: Any) -> str:
    return decide(file_type, model, [name], **options)[name].type


def layers(file_type: str, model: ModelFacts, part: str, **options: Any) -> list[str]:
    """The types of one tensor a layer, in order of layer."""
    names = [f"blk.{number}.{part}.weight" for number in range(model.n_layer)]
    decided = decide(file_type, model, names, **options)
    return [decided[name].type for name in names]


def is_more(i: int, n: int) -> bool:
    return i < n // 8 or i >= 7 * n // 8 or (i - n // 8) % 3 == 2


def picked(n: int, *choices: tuple[Iterable[int], str], other: str) -> list[str]:
    """``other`` for n layers, but the type of the first choice that has the layer."""
    return [next((t for some, t in choices if i in set(some)), other) for i in range(n)]


MORE = [i for i in range(32) if is_more(i, 32)]


def test_more_is_half_of_the_layers() -> None:
    assert MORE == [0, 1, 2, 3, 6, 9, 12, 15, 18, 21, 24, 27, 28, 29, 30, 31]


def test_falcon() -> None:
    assert one("Q4_0", FALCON, "output.weight") == "Q8_0"
    down = {name: layers(name, FALCON, "ffn_down") for name in ("Q3_K_M", "Q3_K_L", "Q4_K_M")}
    assert down["Q3_K_M"] == picked(32, (range(2), "Q5_K"), (MORE, "Q4_K"), other="Q3_K")
    assert down["Q3_K_L"] == ["Q4_K"] * 32
    assert down["Q4_K_M"] == picked(32, (range(2), "Q6_K"), (MORE, "Q5_K"), other="Q4_K")
    assert layers("Q4_K_S", FALCON, "ffn_down") == ["Q4_K"] * 32
    assert layers("Q5_K_M", FALCON, "ffn_down") == picked(32, (MORE, "Q6_K"), other="Q5_K")
    assert one("Q3_K_L", FALCON, "blk.0.attn_output.weight") == "Q4_K"
    assert one("Q3_K_M", FALCON, "blk.0.attn_output.weight") == "Q3_K"
    assert one("Q2_K", FALCON, "blk.0.attn_output.weight") == "Q2_K"
    assert layers("Q4_K_M", FALCON, "attn_qkv") == picked(32, (MORE, "Q6_K"), other="Q4_K")


def test_others_than_falcon() -> None:
    assert layers("Q3_K_M", LLAMA, "ffn_down") == picked(32, (range(2), "Q5_K"), other="Q4_K")
    assert layers("Q3_K_L", LLAMA, "ffn_down") == ["Q5_K"] * 32
    assert layers("Q4_K_M", LLAMA, "ffn_down") == picked(32, (MORE, "Q6_K"), other="Q4_K")
    assert layers("Q4_K_S", LLAMA, "ffn_down") == picked(32, (range(4), "Q5_K"), other="Q4_K")
    assert layers("Q4_K_S", LLAMA, "attn_v") == picked(32, (range(4), "Q5_K"), other="Q4_K")
    assert layers("Q3_K_M", LLAMA, "attn_v") == picked(32, (range(2), "Q5_K"), other="Q4_K")
    middle = picked(32, (range(4, 28), "IQ3_XXS"), other="IQ3_S")
    assert layers("IQ3_XS", LLAMA, "ffn_up") == layers("IQ3_XS", LLAMA, "ffn_gate") == middle


@pytest.mark.parametrize(
    ("model", "is_70b"),
    [
        (ModelFacts("llama", 80, 64, 8), True),
        (ModelFacts("llama-embed", 80, 64, 8), True),
        (ModelFacts("llama", 80, 64, 64), False),  # 65B
        (ModelFacts("llama", 79, 64, 8), False),
        (ModelFacts("llama", 81, 64, 8, n_layer_nextn=1), True),
        (ModelFacts("qwen2", 80, 64, 64), True),
        (ModelFacts("deci", 80, 64, 8), True),
        (ModelFacts("olmo", 80, 64, 8), True),
        (ModelFacts("jais2", 68, 64, 8), True),
        (ModelFacts("jais2", 80, 64, 8), False),
        (ModelFacts("qwen3", 80, 64, 8), False),
    ],
)
def test_70b(model: ModelFacts, is_70b: bool) -> None:
    more = [i for i in range(model.n_layer) if is_more(i, model.n_layer)]
    rest = "Q5_K" if is_70b else "Q4_K"
    values = layers("Q4_K_M", model, "attn_v")
    assert values == picked(model.n_layer, (more, "Q6_K"), other=rest)
    assert one("Q3_K_S", model, "blk.0.attn_v.weight") == ("Q5_K" if is_70b else "Q3_K")
    assert one("IQ2_M", model, "blk.0.attn_v.weight") == ("Q4_K" if model.gqa >= 4 else "IQ3_S")
    assert one("Q3_K_S", model, "blk.0.attn_k.weight") == "Q3_K"


def test_8_experts() -> None:
    for name in ("Q2_K", "Q4_0", "Q4_K_M", "IQ3_XXS", "TQ2_0"):
        assert one(name, MIXTRAL, "blk.0.attn_v.weight") == "Q8_0"
        assert one(name, MIXTRAL, "blk.0.attn_k.weight") == "Q8_0"
    five = "Q2_K Q3_K_S Q3_K_M Q4_K_S Q4_K_M IQ3_XXS IQ3_XS IQ3_S IQ3_M IQ4_NL IQ4_XS".split()
    for name in five:
        assert one(name, MIXTRAL, "blk.0.attn_output.weight") == "Q5_K"
    assert one("Q3_K_L", MIXTRAL, "blk.0.attn_output.weight") == "Q3_K"
    assert one("Q2_K_S", MIXTRAL, "blk.0.attn_output.weight") == "Q2_K"
    assert one("IQ1_S", MIXTRAL, "blk.0.attn_k.weight") == "Q4_K"
    assert one("IQ1_S", MIXTRAL, "blk.0.attn_output.weight") == "Q5_K"
    experts = layers("IQ3_M", MIXTRAL, "ffn_down_exps")
    assert experts == picked(32, (MORE, "Q4_K"), other="IQ3_S")
    dense = layers("IQ3_M", LLAMA, "ffn_down")
    assert dense == picked(32, (range(4), "Q4_K"), other="IQ3_S")


def test_layers_of_experts_are_numbered_by_name() -> None:
    """Several ffn_down a layer, and layers without: the number in the name counts."""
    names = [f"blk.{i}.{part}.weight" for i in (5, 30) for part in ("ffn_down", "ffn_down_shexp")]
    assert {d.type for n, d in decide("Q4_K_M", MIXTRAL, names).items() if "30" in n} == {"Q6_K"}
    assert {d.type for n, d in decide("Q4_K_M", MIXTRAL, names).items() if ".5" in n} == {"Q4_K"}
    counted = decide("Q4_K_M", LLAMA, names)
    assert {counted[name].type for name in names} == {"Q6_K"}, "by their order, the first four"


def test_below_3_bits_counts_even_experts() -> None:
    down = layers("IQ2_S", MIXTRAL, "ffn_down_exps")
    assert down == picked(32, (range(4), "IQ3_S"), other="IQ2_XS")
    names = [f"blk.{i}.ffn_down_exps.weight" for i in (20, 21, 22, 23, 24)]
    assert [decide("IQ2_S", MIXTRAL, names)[n].type for n in names] == [*["IQ3_S"] * 4, "IQ2_XS"]


@pytest.mark.parametrize(
    ("file_type", "values", "attn_output", "down", "embedding", "output"),
    [
        ("IQ1_S", "Q2_K", "IQ2_XXS", "Q2_K", "Q2_K", "Q5_K"),
        ("IQ1_M", "Q2_K", "IQ2_XXS", "Q2_K", "Q2_K", "Q5_K"),
        ("IQ2_XXS", "Q2_K", "IQ2_XXS", "Q2_K", "Q2_K", "Q5_K"),
        ("IQ2_XS", "Q2_K", "IQ2_XS", "Q2_K", "Q2_K", "Q5_K"),
        ("IQ2_S", "IQ3_S", "IQ3_S", "IQ3_S", "IQ3_S", "Q5_K"),
        ("IQ2_M", "IQ3_S", "IQ3_S", "IQ3_S", "IQ3_S", "Q5_K"),
        ("IQ3_XXS", "IQ3_XXS", "IQ3_S", "IQ3_XXS", "IQ3_S", "Q5_K"),
        ("Q2_K", "Q3_K", "Q3_K", "Q3_K", "Q2_K", "Q6_K"),
        ("Q2_K_S", "Q2_K", "Q2_K", "Q4_K", "Q2_K", "Q6_K"),
        ("TQ1_0", "TQ1_0", "TQ1_0", "TQ1_0", "Q4_K", "Q6_K"),
        ("TQ2_0", "TQ2_0", "TQ2_0", "TQ2_0", "Q4_K", "Q6_K"),
        ("Q2_0", "Q2_0", "Q2_0", "Q2_0", "Q4_K", "Q6_K"),
        ("Q1_0", "Q1_0", "Q1_0", "Q1_0", "Q1_0", "Q6_K"),
        ("Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0", "Q8_0"),
        ("BF16", "BF16", "BF16", "BF16", "BF16", "BF16"),
    ],
)
def test_one_head_a_value(
    file_type: str, values: str, attn_output: str, down: str, embedding: str, output: str
) -> None:
    names = ["blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_down.weight"]
    names += ["token_embd.weight", "output.weight"]
    decided = decide(file_type, MANY_HEADS, names, has_imatrix=True)
    types = [decided[name].type for name in names]
    assert types == [values, attn_output, down, embedding, output]


def test_mxfp4_is_for_stacks() -> None:
    def types(arch: str) -> dict[str, str]:
        tensors = [
            ("blk.0.ffn_up_exps.weight", (ROW, 64, 4), "F16"),
            ("blk.0.ffn_down_exps.weight", (48, 64, 4), "F16"),
            ("blk.0.attn_k_b.weight", (ROW, 64, 4), "F16"),
            ("blk.0.attn_q.weight", (ROW, 64), "F16"),
            ("token_embd.weight", (ROW, 64), "F16"),
            ("output.weight", (ROW, 64), "F16"),
        ]
        planned = recipes.plan("MXFP4_MOE", ModelFacts(arch, 1, 8, 8, 4), tensors)
        return {d.name.split(".")[-2]: d.type for d in planned}

    others = {"attn_q": "Q8_0", "token_embd": "Q8_0", "output": "Q8_0", "ffn_down_exps": "F16"}
    assert types("qwen3moe") == {**others, "ffn_up_exps": "MXFP4", "attn_k_b": "MXFP4"}
    assert types("bailingmoe3") == {**others, "ffn_up_exps": "MXFP4", "attn_k_b": "Q8_0"}


def test_glm5_next() -> None:
    model = ModelFacts("glm5-next", 4, 8, 8)
    for part in ("attn_q_a", "attn_q_b", "nextn.eh_proj"):
        assert one("Q4_K_M", model, f"blk.1.{part}.weight") == "Q8_0"
        assert one("F16", model, f"blk.1.{part}.weight") == "F16"
    for part in ("hc_attn_fn", "indexer.proj", "ssm_beta", "attn_k_b", "indexer.attn_q_b"):
        name = f"blk.1.{part}.weight"
        assert decide("Q4_K_M", model, [name])[name].reason.startswith("stays: glm5-next")
        assert one("Q8_0", LLAMA, name) == "Q8_0"


@pytest.mark.parametrize("model", [LLAMA, MANY_HEADS])
def test_importance_matrix(model: ModelFacts) -> None:
    first, grouped = range(4), model.gqa >= 4
    assert layers("Q4_0", model, "ffn_down") == ["Q4_0"] * 32
    weighted = layers("Q4_0", model, "ffn_down", has_imatrix=True)
    assert weighted == picked(32, (first, "Q4_1"), other="Q4_0")
    weighted = layers("Q5_0", model, "ffn_down", has_imatrix=True)
    assert weighted == picked(32, (first, "Q5_1"), other="Q5_0")
    for name in ("IQ4_NL", "IQ4_XS"):
        assert layers(name, model, "ffn_down") == picked(32, (first, "Q5_K"), other=name)
        assert layers(name, model, "ffn_down", has_imatrix=True) == [name] * 32
        assert one(name, model, "blk.9.attn_v.weight") == ("Q5_K" if grouped else name)
    down = layers("IQ3_XXS", model, "ffn_down")
    assert down == picked(32, (first, "Q4_K"), other="Q3_K")
    assert layers("IQ3_XXS", model, "ffn_down", has_imatrix=True) == ["IQ3_XXS"] * 32
    name = "blk.0.attn_v.weight"
    assert one("IQ3_XXS", model, name) == ("Q4_K" if grouped else "IQ3_S")
    assert one("IQ3_XXS", model, name, has_imatrix=True) == ("Q4_K" if grouped else "IQ3_XXS")


def test_needs_a_matrix() -> None:
    names = [
        "token_embd.weight",
        "blk.0.attn_q.weight",
        "blk.0.attn_v.weight",
        "blk.0.x_norm.weight",
    ]

    def needing(file_type: str, **options: Any) -> set[str]:
        decided = decide(file_type, MANY_HEADS, names, **options).values()
        return {d.name.split(".")[-2] for d in decided if d.needs_imatrix}

    assert needing("IQ2_XXS") == {"attn_q"}, "attn_v is Q2_K, which needs none"
    assert needing("IQ3_XXS", has_imatrix=True) == {"attn_q", "attn_v"}
    assert needing("IQ3_S") == needing("Q2_K") == needing("IQ4_XS") == set()
    assert needing("Q2_K_S") == {"attn_q", "attn_v"}
    given = {"output_type": "IQ1_S", "token_embedding_type": "IQ1_S"}
    assert needing("Q4_0", **given) == set(), "output and embedding are exempt"
    assert needing("Q4_0", overrides=[("attn", "IQ1_M")]) == {"attn_q", "attn_v"}


FALLBACK = {
    "IQ4_NL": "IQ1_S IQ1_M IQ2_XXS IQ2_XS IQ2_S IQ3_XXS IQ3_S IQ4_XS",
    "Q4_0": "Q2_0 Q2_K Q3_K TQ1_0 TQ2_0",
    "Q5_0": "Q4_K",
    "Q5_1": "Q5_K",
    "Q8_0": "Q6_K",
}


@pytest.mark.parametrize(
    ("target", "type_"), [(to, name) for to, names in FALLBACK.items() for name in names.split()]
)
def test_fallback(target: str, type_: str) -> None:
    name = "blk.0.x.weight"

    def made(row: int) -> tuple[str, str | None]:
        decision = decide("Q8_0", LLAMA, [name], row=row, overrides=[("x", type_)])[name]
        assert decision.reason.startswith("--tensor-type x")
        return decision.type, decision.fallback_from

    assert made(512) == (type_, None)
    assert made(96) == (target, type_)
    assert made(48) == ("F16", type_)


@pytest.mark.parametrize("type_", ["Q4_0", "Q5_1", "Q8_0", "IQ4_NL", "MXFP4"])
def test_small_blocks_fall_back_to_f16(type_: str) -> None:
    assert one("Q8_0", LLAMA, "blk.0.x.weight", row=48, overrides=[("x", type_)]) == "F16"


@pytest.mark.parametrize(("type_", "row"), [("Q1_0", 96), ("NVFP4", 96)])
def test_no_fallback_is_defined(type_: str, row: int) -> None:
    with pytest.raises(ValueError, match=rf"^blk\.0\.x\.weight: .* defined for {type_}$"):
        one("Q8_0", LLAMA, "blk.0.x.weight", row=row, overrides=[("x", type_)])


def test_reason_tells_the_fallback(tmp_path: Path) -> None:
    decision = decide("Q2_K", MANY_HEADS, ["blk.0.attn_v.weight"], row=576)["blk.0.attn_v.weight"]
    reason = "attn_v needs more bits; rows of 576 are not whole blocks of Q3_K (256)"
    assert (decision.type, decision.reason, decision.layer) == ("Q4_0", reason, 0)
    keys = {
        "general.architecture": "llama",
        "llama.block_count": 32,
        "llama.attention.head_count": 32,
    }
    matrix = np.zeros((64, 576), np.float16)
    names = ["output.weight", "blk.0.attn_v.weight", "blk.0.x.weight"]
    path = tmp_path / "narrow.gguf"
    ggufspec.write(path, keys, dict.fromkeys(names, matrix))
    told = f"tensor 'blk.0.attn_v.weight' would become Q4_0: {reason}; the same goes for 1 more"
    with ggufspec.open(path) as file:
        with pytest.raises(ConversionError, match=re.escape(told)):
            make_plan(file, "Q2_K", Options(fallback=False)).check()
        make_plan(file, "Q8_0", Options(fallback=False)).check()


def test_output_with_odd_rows_is_q8_0() -> None:
    decision = decide("Q4_K_M", LLAMA, [], row=576)["output.weight"]
    assert (decision.type, decision.fallback_from) == ("Q8_0", None)
    assert decide("Q4_0", LLAMA, [], row=576)["output.weight"].type == "Q8_0", "Q6_K would not fit"


def test_tied_embedding() -> None:
    tensors = [("token_embd.weight", (ROW, 64), "F16"), ("blk.0.ffn_up.weight", (ROW, 64), "F16")]

    def embedding(file_type: str, **options: Any) -> str:
        return recipes.plan(file_type, LLAMA, tensors, **options)[0].type

    assert [embedding(t) for t in ("Q4_K_M", "IQ1_S", "Q8_0", "Q2_0")] == [
        "Q6_K", "Q5_K", "Q8_0", "Q6_K",
    ]  # fmt: skip
    assert embedding("Q4_0", output_type="Q5_0") == "Q5_0"
    assert embedding("Q4_0", output_type="Q5_0", token_embedding_type="Q3_K") == "Q3_K"
    assert embedding("Q4_0", output_type="Q5_0", pure=True) == "Q4_0"
    assert embedding("F16", output_type="Q5_0") == "F16"


def test_given_types() -> None:
    name = "blk.0.attn_v.weight"
    assert one("F16", LLAMA, "output.weight", output_type="Q5_K") == "Q5_K"
    assert one("Q4_0", LLAMA, "token_embd.weight", token_embedding_type="q3_k") == "Q3_K"
    assert one("Q4_K_M", LLAMA, name, pure=True) == "Q4_K"
    assert one("Q4_K_M", LLAMA, "output.weight", pure=True, output_type="Q8_0") == "Q8_0"
    overrides = [("attn_v", "Q5_1"), ("attn", "Q8_0")]
    assert one("Q4_K_M", LLAMA, name, overrides=overrides) == "Q5_1", "the first pattern counts"
    assert one("F16", LLAMA, name, overrides=overrides) == "F16", "plain file types know none"
    assert one("Q4_0", LLAMA, "token_embd.weight", token_embedding_type="Q3_K",
               overrides=[("embd", "Q8_0")]) == "Q3_K"  # fmt: skip
    per_layer = "per_layer_token_embd.weight"
    assert one("Q4_0", LLAMA, per_layer, token_embedding_type="Q3_K",
               overrides=[("per_layer", "Q8_0")]) == "Q8_0"  # fmt: skip
    with pytest.raises(
        ValueError, match=r"^token_embd\.weight: --token-embedding-type: rows of 96"
    ):
        one("Q4_0", LLAMA, "token_embd.weight", row=96, token_embedding_type="Q3_K")


def test_a_pattern_takes_no_part_in_counting() -> None:
    values = layers("Q3_K_M", LLAMA, "attn_v", overrides=[(r"blk\.[01]\.", "Q8_0")])
    assert values[:5] == ["Q8_0", "Q8_0", "Q5_K", "Q5_K", "Q4_K"]


def test_order_and_counting_by_it() -> None:
    names = ["output.weight", "blk.10.attn_v.weight", "token_embd.weight", "blk.9.attn_v.weight"]
    tensors = [(name, (ROW, 64), "F16") for name in names]
    planned = recipes.plan("Q3_K_M", ModelFacts("llama", 32, 32, 8), tensors)
    assert [d.name for d in planned] == [names[0], names[2], names[3], names[1]]
    assert [d.name for d in recipes.plan("Q3_K_M", LLAMA, tensors, keep_order=True)] == names
    many = [(f"blk.{i}.attn_v.weight", (ROW, 64), "F16") for i in reversed(range(32))]
    kept = recipes.plan("Q3_K_M", LLAMA, many, keep_order=True)
    assert [d.name for d in kept if d.type == "Q5_K"] == [many[0][0], many[1][0]]


@pytest.mark.parametrize(
    "name",
    """blk.0.attn_norm.weight blk.0.attn_q.bias blk.0.ffn_gate_inp.weight altup_proj.weight
    blk.0.ffn_gate_tid2eid.weight blk.0.laurel_l.weight per_layer_model_proj.weight
    position_embd.weight token_types.weight blk.0.ssm_conv1d.weight blk.0.shortconv.conv.weight
    blk.0.indexer.k_proj.weight blk.0.time_mix_w1.weight blk.0.time_mix_lerp_fused.weight
    blk.0.attn_rel_b.weight v.position_embd.weight sam.neck.0.weight v.patch_embd.weight
    a.rvq.codebook.weight mm.a.code_embd.weight""".split(),
)
def test_stays(name: str) -> None:
    decision = decide("Q4_0", LLAMA, [name])[name]
    assert (decision.type, decision.reason[:6]) == ("F16", "stays:")


@pytest.mark.parametrize("shape", [(ROW,), (), (ROW, 1), (ROW, 1, 1, 1)])
def test_vectors_stay(shape: tuple[int, ...]) -> None:
    (decision,) = recipes.plan("Q4_0", LLAMA, [("blk.0.ffn_up.weight", shape, "F32")])
    assert decision.type == "F32"
    (decision,) = recipes.plan("Q4_0", LLAMA, [("blk.0.ffn_up.weight", (ROW, 1, 2), "F32")])
    assert decision.type == "Q4_0"


def test_copy_and_leave_output() -> None:
    for options in ({"file_type": "COPY"}, {"file_type": "Q4_0", "copy": True}):
        planned = recipes.plan(model=LLAMA, tensors=[("a.weight", (ROW, 64), "Q5_0")], **options)
        assert [(d.type, d.reason) for d in planned] == [("Q5_0", "stays: COPY changes nothing")]
    assert one("Q4_0", LLAMA, "output.weight", leave_output=True) == "F16"
    assert one("Q4_0", LLAMA, "output.weight", leave_output=True, output_type="Q8_0") == "F16"


def test_errors_of_layers() -> None:
    with pytest.raises(ValueError, match=r"^ffn_down\.weight: no layer number"):
        one("Q4_0", MIXTRAL, "ffn_down.weight")
    with pytest.raises(ValueError, match=r"^blk\.32\.ffn_up_exps\.weight: layer 32 is not"):
        one("Q4_0", MIXTRAL, "blk.32.ffn_up_exps.weight")
    assert one("Q4_0", LLAMA, "ffn_down.weight") == "Q4_0", "without experts it needs none"
    assert one("F16", MIXTRAL, "ffn_down.weight") == "F16"


@pytest.mark.parametrize("name", ["NVFP4", 39, 4, "Q4_0_4_4", 42, "Q9", ""])
def test_file_types_that_cannot_be_made(name: str | int) -> None:
    with pytest.raises(ValueError, match="file type"):
        recipes.plan(name, LLAMA, [])


@pytest.mark.parametrize("type_", ["Q8_1", "Q4_2", "I32", "F64", "Q9"])
def test_types_that_no_tensor_can_be_made(type_: str) -> None:
    with pytest.raises(ValueError, match=type_):
        recipes.plan("Q4_0", LLAMA, [], output_type=type_)


def test_bad_pattern() -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        recipes.plan("Q4_0", LLAMA, [], overrides=[("(", "Q8_0")])


def test_file_type_names() -> None:
    assert recipes.file_type("q4_k") == recipes.file_type("15") == recipes.file_type(15)
    assert recipes.file_type("Q3_K").name == "Q3_K_M"
    assert recipes.file_type("Q5_K").name == "Q5_K_M"
    assert recipes.file_type("Q2_K").id == 10
    assert (recipes.file_type("IQ2_M").type, recipes.file_type("copy").id) == ("IQ2_S", None)
    assert recipes.display_name(15) == "Q4_K - Medium"
    assert recipes.display_name(1024 | 15) == "(guessed) Q4_K - Medium"
    assert recipes.display_name(39) == "NVFP4"
    assert recipes.display_name(4) == recipes.display_name(99) == "unknown, may not work"


@pytest.mark.parametrize(
    ("types", "name"),
    [
        ("Q4_K Q4_K F32", "Q4_K_M"),
        ("Q3_K", "Q3_K_M"),
        ("Q5_K", "Q5_K_M"),
        ("IQ2_S", "IQ2_S"),
        ("IQ3_S", "IQ3_S"),
        ("NVFP4", "NVFP4"),
        ("MXFP4 MXFP4 Q8_0", "F32"),  # llama.cpp has no case for it
        ("Q8_0 F16 F16 Q8_0", "F16"),  # of equals the first to get there
        ("", "F32"),
    ],
)
def test_guess(types: str, name: str) -> None:
    tensors = [(f"blk.{number}.x", type_) for number, type_ in enumerate(types.split())]
    id_ = recipes.file_type(name).id
    assert id_ is not None
    assert recipes.guess(reversed(tensors)) == 1024 | id_


def test_model_facts() -> None:
    def facts(arch: str, **keys: object) -> ModelFacts:
        named = {f"{arch}.{key.replace('__', '.')}": value for key, value in keys.items()}
        return recipes.model_facts({"general.architecture": arch, **named})

    assert facts("x", block_count=4, attention__head_count=8) == ModelFacts("x", 4, 8, 8)
    mixed = facts("x", attention__head_count=[0, 8], attention__head_count_kv=[2, 2])
    assert (mixed.n_head, mixed.n_head_kv, mixed.gqa) == (0, 2, 0)
    assert facts("x", attention__head_count=8, attention__head_count_kv=0).gqa == 0
    assert facts("x", expert_count=8, nextn_predict_layers=1) == ModelFacts("x", 0, 0, 0, 8, 1)
    assert facts("nanbeige", block_count=10, num_loops=2).n_layer == 20
    assert facts("nanbeige", block_count=10).n_layer == 10
    assert facts("graniteswitch", block_count=10).n_layer == 11
    assert recipes.model_facts({}) == ModelFacts("", 0)
    with pytest.raises(ValueError, match=r"^x\.block_count is 'four', not a number$"):
        facts("x", block_count="four")


def test_a_real_file() -> None:
    """llama-quantize's own Q4_K_M of gemma3-270m: every type, and the order of the tensors."""
    with ggufspec.open(realfiles.gemma3()) as file:
        real = [(name, tensor.type) for name, tensor in file.tensors.items()]
        tensors = [
            (name, tensor.shape[::-1], "F32" if len(tensor.shape) == 1 else "F16")
            for name, tensor in file.tensors.items()
        ]
        model = recipes.model_facts(file.metadata)
        file_type = file.metadata["general.file_type"]
    planned = recipes.plan(file_type, model, reversed(tensors))
    assert [(d.name, d.type) for d in planned] == real
