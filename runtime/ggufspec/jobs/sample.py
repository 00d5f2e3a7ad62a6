"""A small llama model with made-up weights: the same bytes on every machine.

The weights are heavy-tailed, as trained ones are: with normal ones every quantizer would
look better than it is. Only exact operations make them (integers, + - * / and square roots
of IEEE float64), never a function of the C library.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.values import Value
from ..files.writer import write

EMBEDDING, FEED_FORWARD, LAYERS, HEADS, KEY_HEADS, HEAD = 256, 1024, 4, 4, 2, 64

SIZE = 10 << 20
"""Bytes that suffice for the file."""

_NORMAL, _CONTROL, _UNKNOWN, _BYTE = 1, 3, 2, 6  # llama.cpp's kinds of tokens
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxz"


def write_sample(path: str | os.PathLike[str]) -> None:
    """Write the model: F16 matrices, F32 norms, a tokenizer of 512 pieces; about 8 MB."""
    write(path, _metadata(), dict(_tensors()))


def heavy_tailed(seed: int, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Random numbers about as wide as a normal distribution, with the tails of Student's t.

    A sum of four uniforms in [-1/2, 1/2) is nearly normal; dividing it by the fourth root of
    a uniform gives it tails that fall with the fifth power.
    """
    count = int(np.prod(shape))
    bits = np.random.PCG64(seed).random_raw((5, count)) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 0.5) / 2**53
    centre = (uniform[:4] - 0.5).sum(axis=0) * math.sqrt(3)
    numbers: NDArray[np.float64] = centre / np.sqrt(np.sqrt(uniform[4]))
    return numbers.reshape(shape)


def _tensors() -> Iterator[tuple[str, NDArray[Any]]]:
    pieces = len(_pieces())
    yield "token_embd.weight", _matrix(1, pieces, EMBEDDING)
    for layer in range(LAYERS):
        seed, name = 100 * (layer + 1), f"blk.{layer}."
        yield name + "attn_norm.weight", _norm(seed)
        yield name + "attn_q.weight", _matrix(seed + 1, HEADS * HEAD, EMBEDDING)
        yield name + "attn_k.weight", _matrix(seed + 2, KEY_HEADS * HEAD, EMBEDDING)
        yield name + "attn_v.weight", _matrix(seed + 3, KEY_HEADS * HEAD, EMBEDDING)
        yield name + "attn_output.weight", _matrix(seed + 4, EMBEDDING, HEADS * HEAD)
        yield name + "ffn_norm.weight", _norm(seed + 5)
        yield name + "ffn_gate.weight", _matrix(seed + 6, FEED_FORWARD, EMBEDDING)
        yield name + "ffn_up.weight", _matrix(seed + 7, FEED_FORWARD, EMBEDDING)
        yield name + "ffn_down.weight", _matrix(seed + 8, EMBEDDING, FEED_FORWARD)
    yield "output_norm.weight", _norm(2)
    yield "output.weight", _matrix(3, pieces, EMBEDDING)


def _matrix(seed: int, rows: int, columns: int) -> NDArray[np.float16]:
    """Weights whose rows differ in size, as the rows of trained matrices do."""
    scale = 1 + 0.25 * heavy_tailed(seed + 50, (rows, 1))
    weights: NDArray[np.float64] = heavy_tailed(seed, (rows, columns)) * scale / math.sqrt(columns)
    return weights.astype(np.float16)


def _norm(seed: int) -> NDArray[np.float32]:
    return (1 + 0.1 * heavy_tailed(seed, (EMBEDDING,))).astype(np.float32)


def _metadata() -> Mapping[str, Any]:
    tokens = _pieces()
    return {
        "general.architecture": "llama",
        "general.name": "ggufspec sample",
        "general.description": "Made-up weights to try tools on; it has learned nothing.",
        "general.file_type": 1,
        "general.quantization_version": 2,
        "llama.context_length": 512,
        "llama.embedding_length": EMBEDDING,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED_FORWARD,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": HEAD,
        "llama.vocab_size": len(tokens),
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": list(tokens),
        "tokenizer.ggml.scores": Value("ARRAY[FLOAT32]", [float(-n) for n in range(len(tokens))]),
        "tokenizer.ggml.token_type": Value("ARRAY[INT32]", list(tokens.values())),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def _pieces() -> dict[str, int]:
    """The vocabulary and the kind of each token: specials, bytes, letters, syllables."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    syllables = [c + v for c in _CONSONANTS for v in _VOWELS]
    words = ["\u2581", *letters, *("\u2581" + letter for letter in letters)]
    words += [*syllables, *(syllable[::-1] for syllable in syllables)]
    return {
        "<unk>": _UNKNOWN,
        "<s>": _CONTROL,
        "</s>": _CONTROL,
        **{f"<0x{byte:02X}>": _BYTE for byte in range(256)},
        **dict.fromkeys(words, _NORMAL),
    }
