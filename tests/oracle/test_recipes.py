"""The recipes equal llama.cpp's snapshots: every tensor of twelve models under 33 file types.

A snapshot gives a model's facts and, a file type, the tensors whose type is not the default.
It lists every tensor but stacks of matrices somewhere: what is no stack is Q8_0, not MXFP4, in
MXFP4_MOE. It gives no shapes; what it leaves out stands here with its source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ggufspec.recipes import ModelFacts, file_type, plan
from ggufspec.registry import types
from support import realfiles

NAMES = """
deepseek-v3.1 gemma-3-4b-it glm-4.6v gpt-oss-120b meta-llama-3.1-70b-instruct
nvidia-nemotron-3-nano-30b-a3b qwen3-0.6b qwen3-14b qwen3-coder-next qwen3.5-397b-a17b qwen3.6-27b
step-3.5-flash
""".split()
FILE_TYPES = 33
"""Those whose names the snapshots' maker knows: all that are offered but Q1_0 and Q2_0."""


class Known(NamedTuple):
    """What a snapshot does not say; a width is the length of a row, n_embd where none is given.

    ``head`` is the width of a head: attn_output has n_head of them in a row, ffn_down n_ff.
    The numbers are those of the models' config.json on Hugging Face (names in brackets).
    """

    arch: str
    head: int  # [head_dim, v_head_dim]
    widths: Mapping[str, int] = {}
    stacks: tuple[str, ...] = ("ffn_down_exps", "ffn_gate_exps", "ffn_up_exps")
    """Tensors with a third dimension, in each layer that the first is listed for."""


KNOWN = {
    "deepseek-v3.1": Known(
        "deepseek2",
        128,
        {
            "attn_q_b": 1536,  # [q_lora_rank]
            "attn_k_b": 128,  # [qk_nope_head_dim]
            "attn_v_b": 512,  # [kv_lora_rank]
            "ffn_down_exps": 2048,  # [moe_intermediate_size]
            "ffn_down_shexp": 2048,  # the same, times one shared expert
        },
    ),
    "gemma-3-4b-it": Known("gemma3", 256),
    "glm-4.6v": Known(
        "glm4moe",
        128,
        {"ffn_down_exps": 1408, "ffn_down_shexp": 1408},  # [moe_intermediate_size]
    ),
    "gpt-oss-120b": Known("gpt-oss", 64, {"ffn_down_exps": 2880}),  # [intermediate_size]
    "meta-llama-3.1-70b-instruct": Known("llama", 128),
    "nvidia-nemotron-3-nano-30b-a3b": Known(
        "nemotron_h_moe",
        128,
        {
            "ffn_down_exps": 1856,  # [moe_intermediate_size]
            "ffn_down_shexp": 3712,  # [moe_shared_expert_intermediate_size]
            "ssm_out": 4096,  # [mamba_num_heads * mamba_head_dim]
        },
        ("ffn_down_exps", "ffn_up_exps"),  # its experts have no gate
    ),
    "qwen3-0.6b": Known("qwen3", 128),
    "qwen3-14b": Known("qwen3", 128),
    "qwen3-coder-next": Known(
        "qwen3next",
        256,
        {
            "ffn_down_exps": 512,  # [moe_intermediate_size]
            "ffn_down_shexp": 512,  # [shared_expert_intermediate_size]
            "ssm_out": 4096,  # [linear_num_value_heads * linear_value_head_dim]
        },
    ),
    "qwen3.5-397b-a17b": Known(
        "qwen35moe",
        256,
        {"ffn_down_exps": 1024, "ffn_down_shexp": 1024, "ssm_out": 8192},  # as above
    ),
    "qwen3.6-27b": Known("qwen35", 256, {"ssm_out": 6144}),  # as above
    "step-3.5-flash": Known(
        "step35",
        128,
        {
            "ffn_down_exps": 1280,  # [moe_intermediate_size]
            "ffn_down_shexp": 1280,  # [share_expert_dim]
        },
    ),
}


class Snapshot(NamedTuple):
    facts: dict[str, int]
    defaults: dict[str, str]
    types: dict[str, dict[str, str]]
    """File type to tensor to type, of those that are not the default."""


def parsed(path: Path) -> Snapshot:
    snapshot = Snapshot({}, {}, {})
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            facts = re.findall(r"(n_\w+)=(\d+)", line)
            snapshot.facts.update((name, int(number)) for name, number in facts)
        elif section := re.fullmatch(r"\[(\w+)\] (\w+)", line):
            current, default = section.groups()
            snapshot.defaults[current] = types[default].name
            snapshot.types[current] = {}
        elif line:
            tensor, type_ = line.split()
            snapshot.types[current][tensor] = types[type_].name
    return snapshot


def named(snapshot: Snapshot, known: Known) -> set[str]:
    """All tensors: those that are listed, and the stacks that need not be."""
    listed = set().union(*snapshot.types.values())
    first, *others = known.stacks
    layers = [name.removesuffix(f"{first}.weight") for name in listed if f".{first}." in name]
    stacks = {f"{layer}{stack}.weight" for layer in layers for stack in others}
    if known.arch == "deepseek2":
        stacks |= {name.replace("attn_k_b", "attn_v_b") for name in listed if "attn_k_b" in name}
    return listed | stacks


def tensors(snapshot: Snapshot, known: Known) -> Iterator[tuple[str, tuple[int, ...], str]]:
    facts = snapshot.facts
    widths = {
        "attn_output": facts["n_head"] * known.head,
        "ffn_down": facts["n_ff"],
        **known.widths,
    }
    for name in named(snapshot, known):
        part = name.removesuffix(".weight").rpartition(".")[2]
        stacked = part in (*known.stacks, "attn_k_b", "attn_v_b")
        shape = (widths.get(part, facts["n_embd"]), 256, *([128] if stacked else []))
        yield name, shape, "F32"


def test_there_are_twelve() -> None:
    assert [path.stem for path in realfiles.snapshots()] == NAMES == list(KNOWN)


@pytest.mark.parametrize("name", NAMES)
def test_every_tensor_of_every_file_type(name: str) -> None:
    path = next(path for path in realfiles.snapshots() if path.stem == name)
    snapshot, known = parsed(path), KNOWN[name]
    facts = snapshot.facts
    model = ModelFacts(
        known.arch, facts["n_layer"], facts["n_head"], facts["n_head_kv"], facts.get("n_expert", 0)
    )
    every = list(tensors(snapshot, known))
    assert len(snapshot.types) == FILE_TYPES
    mismatches = []
    for recipe, listed in snapshot.types.items():
        default = snapshot.defaults[recipe]
        assert file_type(recipe).type == default
        for decision in plan(recipe, model, every):
            expected = listed.get(decision.name, default)
            if decision.type != expected:
                mismatches.append((recipe, decision, expected))
    assert mismatches == []
