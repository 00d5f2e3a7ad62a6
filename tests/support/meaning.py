"""Small whole models, written down from llama.cpp's loader, and what a check says of them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import ggufspec
from ggufspec import Value

BLOCKS, EMBEDDING, HEADS, HEADS_KV, KEY, VALUE, FEED_FORWARD = 2, 32, 4, 2, 10, 6, 40
TOKENS, CONTEXT, EXPERTS = 7, 16, 3
HEAD = EMBEDDING // HEADS  # how long keys and values are where no key says it


class Toy(NamedTuple):
    """A model: its keys, and the shapes of its tensors, rows' length first."""

    keys: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]

    def with_keys(self, **changed: Any) -> Toy:
        """The same with other keys; `__` stands for the dot, None takes a key away."""
        keys = {**self.keys, **{name.replace("__", "."): given for name, given in changed.items()}}
        return self._replace(
            keys={name: given for name, given in keys.items() if given is not None}
        )

    def with_shapes(self, changed: Mapping[str, tuple[int, ...] | None]) -> Toy:
        """The same with other tensors; None takes one away."""
        shapes = {**self.shapes, **changed}
        return self._replace(shapes={n: dims for n, dims in shapes.items() if dims is not None})


def toy(architecture: str, *, experts: int = 0, lengths: bool = False) -> Toy:
    """A model of one of the architectures below; lengths: with a key_length of its own."""
    key, value = (KEY, VALUE) if lengths else (HEAD, HEAD)
    name = architecture
    epsilon = "layer_norm_epsilon" if name == "bert" else "layer_norm_rms_epsilon"
    keys: dict[str, Any] = {
        "general.architecture": name,
        f"{name}.context_length": CONTEXT,
        f"{name}.embedding_length": EMBEDDING,
        f"{name}.block_count": BLOCKS,
        f"{name}.feed_forward_length": FEED_FORWARD,
        f"{name}.attention.head_count": HEADS,
        f"{name}.attention.head_count_kv": HEADS_KV,
        f"{name}.attention.{epsilon}": 1e-6,
        "tokenizer.ggml.tokens": [f"t{number}" for number in range(TOKENS)],
    }
    if lengths:
        keys |= {f"{name}.attention.key_length": key, f"{name}.attention.value_length": value}
    if experts:
        keys |= {f"{name}.expert_count": experts, f"{name}.expert_used_count": 2}
    if name == "bert":
        keys["tokenizer.ggml.token_type_count"] = 2
    shapes = _TOPS[name]()
    for block in range(BLOCKS):
        shapes |= {f"blk.{block}.{n}": d for n, d in _BLOCKS[name](key, value, experts).items()}
    return Toy(keys, shapes)


def found(
    keys: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]] | None = None,
    profile: str = "strict",
    types: Mapping[str, str] | None = None,
    base: bytes | None = None,
) -> ggufspec.Report:
    """What the checks of meaning say of a file with these keys and tensors of zeros."""
    data = made(keys, shapes, types)
    return ggufspec.validate(data, profile, checks=("meaning",), base=base)


def made(
    keys: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]] | None = None,
    types: Mapping[str, str] | None = None,
) -> bytes:
    """The bytes of such a file."""
    tensors = {
        name: _zeros(dims, (types or {}).get(name, "F32")) for name, dims in (shapes or {}).items()
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.gguf")
        ggufspec.write(path, dict(keys), tensors)
        return path.read_bytes()


def rules(report: ggufspec.Report, area: str = "GG1") -> list[str]:
    """The rules of the findings, each once, in order of their ids."""
    return sorted({finding.rule for finding in report.findings if finding.rule.startswith(area)})


def _zeros(dims: Sequence[int], type_: str) -> ggufspec.TensorData:
    shape = tuple(dims[::-1])
    kind = ggufspec.types[type_]
    row = dims[0] // kind.elements * kind.bytes
    rows = int(np.prod(shape[:-1], dtype=np.int64))
    return ggufspec.TensorData(np.zeros((rows, row), np.uint8), type_, shape)


def strings(*texts: str | bytes) -> Value:
    """An array of strings."""
    return Value("ARRAY[STRING]", list(texts))


def _decoder() -> dict[str, tuple[int, ...]]:
    return {
        "token_embd.weight": (EMBEDDING, TOKENS),
        "output_norm.weight": (EMBEDDING,),
        "output.weight": (EMBEDDING, TOKENS),
    }


def _without_output() -> dict[str, tuple[int, ...]]:
    return {"token_embd.weight": (EMBEDDING, TOKENS), "output_norm.weight": (EMBEDDING,)}


def _encoder() -> dict[str, tuple[int, ...]]:
    return {
        "token_embd.weight": (EMBEDDING, TOKENS),
        "token_types.weight": (EMBEDDING, 2),
        "position_embd.weight": (EMBEDDING, CONTEXT),
        "token_embd_norm.weight": (EMBEDDING,),
        "token_embd_norm.bias": (EMBEDDING,),
    }


def _attention(key: int, value: int) -> dict[str, tuple[int, ...]]:
    return {
        "attn_norm.weight": (EMBEDDING,),
        "attn_q.weight": (EMBEDDING, HEADS * key),
        "attn_k.weight": (EMBEDDING, HEADS_KV * key),
        "attn_v.weight": (EMBEDDING, HEADS_KV * value),
        "attn_output.weight": (HEADS * key, EMBEDDING),
        "ffn_norm.weight": (EMBEDDING,),
    }


def _feed_forward() -> dict[str, tuple[int, ...]]:
    return {
        "ffn_gate.weight": (EMBEDDING, FEED_FORWARD),
        "ffn_up.weight": (EMBEDDING, FEED_FORWARD),
        "ffn_down.weight": (FEED_FORWARD, EMBEDDING),
    }


def _llama(key: int, value: int, experts: int) -> dict[str, tuple[int, ...]]:
    if not experts:
        return {**_attention(key, value), **_feed_forward()}
    return {
        **_attention(key, value),
        "ffn_gate_inp.weight": (EMBEDDING, experts),
        "ffn_gate_exps.weight": (EMBEDDING, FEED_FORWARD, experts),
        "ffn_up_exps.weight": (EMBEDDING, FEED_FORWARD, experts),
        "ffn_down_exps.weight": (FEED_FORWARD, EMBEDDING, experts),
    }


def _qwen2(key: int, value: int, _experts: int) -> dict[str, tuple[int, ...]]:
    biases = {
        "attn_q.bias": (EMBEDDING,),
        "attn_k.bias": (HEADS_KV * value,),
        "attn_v.bias": (HEADS_KV * value,),
    }
    return {**_attention(key, value), **biases, **_feed_forward()}


def _qwen3(key: int, _value: int, _experts: int) -> dict[str, tuple[int, ...]]:
    norms = {"attn_q_norm.weight": (key,), "attn_k_norm.weight": (key,)}
    return {**_attention(key, key), **norms, **_feed_forward()}


def _gemma2(key: int, value: int, _experts: int) -> dict[str, tuple[int, ...]]:
    norms = {"post_attention_norm.weight": (EMBEDDING,), "post_ffw_norm.weight": (EMBEDDING,)}
    return {**_attention(key, value), **norms, **_feed_forward()}


def _gemma3(key: int, value: int, experts: int) -> dict[str, tuple[int, ...]]:
    norms = {"attn_q_norm.weight": (key,), "attn_k_norm.weight": (key,)}
    return {**_gemma2(key, value, experts), **norms}


def _phi3(_key: int, value: int, _experts: int) -> dict[str, tuple[int, ...]]:
    return {
        "attn_norm.weight": (EMBEDDING,),
        "attn_qkv.weight": (EMBEDDING, EMBEDDING + 2 * HEADS_KV * value),
        "attn_output.weight": (EMBEDDING, EMBEDDING),
        "ffn_norm.weight": (EMBEDDING,),
        "ffn_up.weight": (EMBEDDING, 2 * FEED_FORWARD),
        "ffn_down.weight": (FEED_FORWARD, EMBEDDING),
    }


def _bert(_key: int, value: int, _experts: int) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        "attn_q.weight": (EMBEDDING, EMBEDDING),
        "attn_k.weight": (EMBEDDING, HEADS_KV * value),
        "attn_v.weight": (EMBEDDING, HEADS_KV * value),
        "attn_output.weight": (EMBEDDING, EMBEDDING),
        "ffn_up.weight": (EMBEDDING, FEED_FORWARD),
        "ffn_down.weight": (FEED_FORWARD, EMBEDDING),
    }
    for name in [*shapes]:
        shapes[name.replace("weight", "bias")] = shapes[name][1:]
    for name in ("attn_output_norm", "layer_output_norm"):
        shapes |= {f"{name}.weight": (EMBEDDING,), f"{name}.bias": (EMBEDDING,)}
    return shapes


_TOPS = {
    "llama": _decoder,
    "qwen2": _decoder,
    "qwen3": _decoder,
    "gemma2": _without_output,
    "gemma3": _without_output,
    "phi3": _decoder,
    "bert": _encoder,
}
_BLOCKS = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "phi3": _phi3,
    "bert": _bert,
}
ARCHITECTURES = tuple(_TOPS)
WITH_LENGTHS = ("llama", "gemma2", "gemma3")  # those that take key and value lengths of any size
