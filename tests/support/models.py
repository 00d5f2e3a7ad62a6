"""Made-up models: names and shapes as in real ones, rows that every block divides."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import ggufspec

Floats = npt.NDArray[np.float32]

ROW = 1024


def llama(layers: int = 4, experts: int = 0, *, tied: bool = False) -> dict[str, Floats]:
    """Weights of a llama; with experts its feed-forward matrices are stacks of so many."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (24, ROW),
        "output_norm.weight": (ROW,),
    }
    if not tied:
        shapes["output.weight"] = (24, ROW)
    stack, name = ((experts,), "_exps") if experts else ((), "")
    for layer in range(layers):
        block = f"blk.{layer}."
        shapes |= {
            f"{block}attn_norm.weight": (ROW,),
            f"{block}attn_q.weight": (16, ROW),
            f"{block}attn_k.weight": (8, ROW),
            f"{block}attn_v.weight": (8, ROW),
            f"{block}attn_output.weight": (16, ROW),
            f"{block}ffn_norm.weight": (ROW,),
            f"{block}ffn_gate{name}.weight": (*stack, 8, ROW),
            f"{block}ffn_up{name}.weight": (*stack, 8, ROW),
            f"{block}ffn_down{name}.weight": (*stack, 8, ROW),
        }
        if experts:
            shapes[f"{block}ffn_gate_inp.weight"] = (experts, ROW)
    return {
        name: np.random.default_rng([number, 7]).standard_t(4, shape).astype(np.float32) * 0.02
        for number, (name, shape) in enumerate(shapes.items())
    }


def metadata(layers: int = 4, experts: int = 0) -> dict[str, Any]:
    """Keys of such a llama."""
    keys: dict[str, Any] = {
        "general.architecture": "llama",
        "general.name": "made up",
        "general.file_type": 0,
        "llama.block_count": layers,
        "llama.attention.head_count": 4,
        "llama.attention.head_count_kv": 2,
        "llama.embedding_length": ROW,
    }
    return {**keys, "llama.expert_count": experts} if experts else keys


def write_llama(path: Path, layers: int = 4, experts: int = 0, **more: Any) -> dict[str, Floats]:
    """Write one, and give its weights."""
    tied = more.pop("tied", False)
    weights = llama(layers, experts, tied=tied)
    keys = {**metadata(layers, experts), **more.pop("keys", {})}
    ggufspec.write(path, keys, weights, **more)
    return weights


def split_keys(number: int, count: int, tensors: int) -> dict[str, Any]:
    """Keys of a file of a set, whose files are counted from zero."""
    return {
        "split.no": ggufspec.Value("UINT16", number),
        "split.count": ggufspec.Value("UINT16", count),
        "split.tensors.count": ggufspec.Value("INT32", tensors),
    }


def write_set(
    prefix: Path, weights: Mapping[str, Floats], keys: Mapping[str, Any], *cuts: int
) -> Path:
    """The same as a set of files, each ending before the tensor of that number; the first file."""
    names = list(weights)
    ends = [*cuts, len(names)]
    paths = []
    for number, (start, end) in enumerate(zip([0, *cuts], ends, strict=True)):
        path = prefix.with_name(f"{prefix.name}-{number + 1:05}-of-{len(ends):05}.gguf")
        own = {**(keys if number == 0 else {}), **split_keys(number, len(ends), len(names))}
        ggufspec.write(path, own, {name: weights[name] for name in names[start:end]})
        paths.append(path)
    return paths[0]


def matrix(weights: Mapping[str, Floats], experts: int = 0) -> dict[str, tuple[Any, Any]]:
    """Entries of an importance matrix for all matrices but the embeddings and the output."""
    entries = {}
    for number, (name, array) in enumerate(weights.items()):
        if array.ndim > 1 and name.startswith("blk.") and "gate_inp" not in name:
            count = experts if array.ndim == 3 else 1
            sums = np.abs(np.random.default_rng([number, 8]).normal(0, 50, (count, ROW))) + 1
            entries[name] = (sums.astype(np.float32), np.arange(count) + 100)
    return entries
