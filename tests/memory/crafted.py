"""Headers of models of any architecture, with the keys that llama.cpp asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

import ggufspec
from ggufspec.generated.memory import KEEPS

CONTEXT = 4096
_BLOCKS = {"gemma3n": 22, "exaone4": 64}
_MIXED = {
    "plamo2", "jamba", "nemotron_h", "nemotron_h_moe", "granitehybrid", "lfm2", "lfm2moe",
    "kimi-linear", "bailingmoe3", "kimi-k3",
}  # fmt: skip
_LATENT = {
    "deepseek2", "deepseek32", "glm-dsa", "kimi-linear", "bailingmoe3", "kimi-k3", "mistral4",
    "hy_v4",
}  # fmt: skip
_LISTED = {"mimo2", "step35", "spark2_5", "granite_swa", "maple", "gemma4"}
_DENSE = {
    "llama", "falcon", "gpt2", "gptneox", "mpt", "baichuan", "starcoder", "refact", "bloom",
    "stablelm", "qwen", "qwen2", "qwen2vl", "qwen3", "qwen3vl", "phi2", "phi3", "plamo", "plamo3",
    "plamo2", "codeshell", "orion", "internlm2", "minicpm", "minicpm3", "gemma", "gemma2", "gemma3",
    "gemma3n", "gemma4", "starcoder2", "mamba", "mamba2", "falcon-h1", "xverse", "command-r",
    "cohere2", "olmo", "olmo2", "openelm", "deci", "chatglm", "glm4", "bitnet", "t5", "t5encoder",
    "jais", "jais2", "nemotron", "nemotron_h", "exaone", "exaone4", "rwkv6", "rwkv6qwen2", "rwkv7",
    "arwkv7", "granite", "granitehybrid", "chameleon", "plm", "arcee", "smollm3", "lfm2",
    "seed_oss", "apertus", "mistral3", "qwen35", "ernie4_5", "cogvlm", "pangu-embedded", "talkie",
    "maincoder",
    "paddleocr", "hunyuan-dense", "hunyuan_vl", "muse-glimmer", "llama-embed",
}  # fmt: skip


def metadata(architecture: str) -> dict[str, Any]:
    """Keys of a small model of `architecture`, with what tells its rules from others'."""
    keys = _common(architecture)
    for architectures, more in _MORE:
        if architecture in architectures:
            keys |= more
    if architecture not in _DENSE:
        keys |= _EXPERTS
    if architecture == "minimax-01":
        keys = {name: value for name, value in keys.items() if not name.startswith("ssm.")}
    tokens = [f"tok_{number}" for number in range(512)]
    return {
        "general.architecture": architecture,
        **{f"{architecture}.{key}": _value(value) for key, value in keys.items()},
        **{f"xielu.{name}": ggufspec.Value("FLOAT32", 1.0) for name in _XIELU},
        "tokenizer.ggml.model": "test",
        "tokenizer.ggml.token_type_count": 2,
        "tokenizer.ggml.tokens": ggufspec.Value("ARRAY[STRING]", tokens),
        "tokenizer.ggml.scores": ggufspec.Value("ARRAY[FLOAT32]", [0.0] * 512),
    }


def _common(architecture: str) -> dict[str, Any]:
    blocks = _BLOCKS.get(architecture, 8)
    latent = architecture in _LATENT
    embedding, heads = (512, 2) if architecture == "gemma3n" else (1024, 2 if latent else 4)
    heads_kv = 1 if latent and architecture not in _MIXED else 2
    mixed = [heads_kv if block % 3 == 1 else 0 for block in range(blocks)]
    return {
        **_EVERYWHERE,
        "embedding_length": embedding,
        "features_length": embedding,
        "block_count": blocks,
        "decoder_block_count": blocks,
        "attention.head_count": heads,
        "attention.head_count_kv": mixed if architecture in _MIXED else heads_kv,
        "attention.indexer.head_count": 2 if architecture == "minimax-m3" else 64,
        "ssm.inner_size": 512 if architecture.startswith("qwen3") else 2 * embedding,
        "ssm.time_step_rank": heads,
        "rope.dimension_sections": [embedding // heads // 4] * 4,
    }


_EVERYWHERE = {
    "vocab_size": 512,
    "context_length": CONTEXT,
    "leading_dense_block_count": 1,
    "feed_forward_length": 768,
    "use_parallel_residual": False,
    "logit_scale": 1.0,
    "time_mix_extra_dim": 64,
    "time_decay_extra_dim": 128,
    "attention.max_alibi_bias": 8.0,
    "attention.clamp_kqv": 1.0,
    "attention.layer_norm_epsilon": 1e-5,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "attention.group_norm_epsilon": 1e-5,
    "attention.group_norm_groups": 8,
    "attention.q_lora_rank": 512,
    "attention.kv_lora_rank": 512,
    "attention.relative_buckets_count": 8,
    "attention.sliding_window": 300,
    "attention.indexer.key_length": 128,
    "attention.indexer.top_k": 2048,
    "attention.indexer.block_size": 4,
    "attention.indexer.local_blocks": 1,
    "ssm.conv_kernel": 4,
    "ssm.state_size": 128,
    "attention.decay_lora_rank": 64,
    "attention.iclr_lora_rank": 64,
    "attention.value_residual_mix_lora_rank": 32,
    "attention.gate_lora_rank": 64,
    "residual_scale": 3.5,
    "attn_res.block_size": 12,
    "activation.situ_beta": 4.0,
    "activation.situ_linear_beta": 25.0,
    "kda.gate_lower_bound": -5.0,
    "kda.safe_gate": True,
}
_EXPERTS = {
    "expert_feed_forward_length": 768,
    "expert_shared_feed_forward_length": 384,
    "expert_latent_length": 768,
    "interleave_moe_layer_step": 2,
    "expert_count": 2,
    "expert_used_count": 2,
    "expert_shared_count": 1,
    "expert_gating_func": 2,
    "expert_group_scale": 1.0,
    "experts_per_group": 1,
    "expert_weights_scale": 1.0,
    "expert_weights_norm": True,
    "moe_every_n_layers": 2,
}
_LATENT_KEYS = {
    "attention.key_length": 576,
    "attention.value_length": 512,
    "rope.dimension_count": 64,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}
_SHARING = {
    "embedding_length_per_layer_input": 512,
    "attention.shared_kv_layers": 3,
    "attention.key_length_swa": 128,
    "attention.value_length_swa": 128,
    "rope.freq_base_swa": 1e4,
}
_CONNECTIONS = {
    "hyper_connection.count": 4,
    "hyper_connection.epsilon": 1e-6,
    "hyper_connection.magnitude": 2.0,
}
_NOT_GROUPED = {"mamba", "jamba"}
_MORE: tuple[tuple[set[str], dict[str, Any]], ...] = (
    (set(KEEPS) - _NOT_GROUPED, {"ssm.group_count": 2}),
    ({"plamo2"}, {"ssm.group_count": 0}),
    ({"rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7"}, {"wkv.head_size": 64}),
    ({"lfm2", "lfm2moe"}, {"shortconv.l_cache": 3}),
    ({"kimi-linear", "kimi-k3", "bailingmoe3"}, {"kda.head_dim": 128}),
    (
        {"nemotron_h", "nemotron_h_moe"},
        {"feed_forward_length": [768 if block % 3 == 2 else 0 for block in range(8)]},
    ),
    (_LATENT, _LATENT_KEYS),
    ({"hy_v4", "glm-dsa"}, {"attention.indexer.types": [1, 0, 1, 0, 1, 0, 1, 0]}),
    ({"minimax-m3"}, {"rope.dimension_count": 64}),
    (_LISTED, {"attention.sliding_window_pattern": [block % 3 != 1 for block in range(8)]}),
    ({"gemma4"}, _SHARING),
    ({"hy_v4"}, _CONNECTIONS),
    ({"hy_v4", "maple"}, {"swiglu_clamp_exp": 7.0}),
    ({"bailingmoe3"}, {"rope.dimension_sections": [8, 12, 12, 0]}),
)
_XIELU = ("alpha_n", "alpha_p", "beta", "eps")


def _value(value: Any) -> ggufspec.Value:
    if isinstance(value, list):
        kind = "BOOL" if isinstance(value[0], bool) else "INT32"
        return ggufspec.Value(f"ARRAY[{kind}]", value)
    kind = {bool: "BOOL", int: "UINT32", float: "FLOAT32"}[type(value)]
    return ggufspec.Value(kind, value)


def write(path: Any, architecture: str) -> None:
    """The header of such a model, and one tensor of no use."""
    tensors = {"unused.weight": np.zeros(32, np.float32)}
    ggufspec.write(path, metadata(architecture), tensors)
