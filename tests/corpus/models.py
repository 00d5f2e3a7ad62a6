"""Files of sound structure whose model is impossible: these ended loaders or the first decode."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

from support.crafted import (
    ARCHITECTURE,
    ARRAY,
    BOOL,
    F32,
    FLOAT32,
    INT32,
    Q8_0,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    V3,
    file,
    padded,
)

from . import Hostile

I32, F64 = 26, 28


def files() -> Iterator[Hostile]:
    """All of them."""
    for name, reason, pairs in (*_numbers(), *_vocabularies(), *_sets()):
        yield Hostile(name, reason, lambda pairs=pairs: model(pairs))  # type: ignore[misc]
    for kind, name in ((I32, "norm as I32"), (Q8_0, "norm as Q8_0"), (F64, "embedding as F64")):
        yield Hostile(
            name,
            "the loader or the first decode aborts",
            lambda kind=kind: model((), kind),  # type: ignore[misc]
        )


def model(pairs: Sequence[bytes], norm: int = F32, tokens: int = 4) -> bytes:
    """A llama of one layer, 32 wide, with more pairs."""
    width = 32
    size = {F32: 4 * width, I32: 4 * width, F64: 8 * width, Q8_0: 34}[norm]
    words = b"".join(V3.string(f"t{i}") for i in range(tokens))
    base = {
        "llama.block_count": u32("llama.block_count", 1),
        "llama.embedding_length": u32("llama.embedding_length", width),
        "llama.attention.head_count": u32("llama.attention.head_count", 4),
        "tokenizer.ggml.model": V3.pair("tokenizer.ggml.model", STRING, V3.string("llama")),
        "tokenizer.ggml.tokens": strings("tokenizer.ggml.tokens", tokens, words),
    }
    for pair in pairs:  # what the case says stands for what the model has
        name = pair[8 : 8 + int.from_bytes(pair[:8], "little")].decode("utf-8", "replace")
        base[name] = pair
    infos = [
        V3.tensor("token_embd.weight", [width, tokens], F32),
        V3.tensor("output_norm.weight", [width], norm, offset=4 * width * tokens),
    ]
    data = padded(bytes(4 * width * tokens + size))
    return file([ARCHITECTURE, *base.values()], infos, data)


def u32(key: str, value: int) -> bytes:
    """A pair with a number."""
    return V3.pair(key, UINT32, V3.u32(value))


def strings(key: str, count: int, elements: bytes) -> bytes:
    """A pair with strings."""
    return V3.pair(key, ARRAY, V3.array(STRING, count, elements))


def _f32(key: str, value: float) -> bytes:
    return V3.pair(key, FLOAT32, struct.pack("<f", value))


def _numbers() -> Iterator[tuple[str, str, list[bytes]]]:
    for count in (0, 513, 100_000, (1 << 32) - 1):
        yield (
            f"block_count {count}",
            "CVE-2024-8063 and #25821: 0 divides, more than 512 writes past fixed arrays",
            [u32("llama.block_count", count)],
        )
    for key, value in (
        ("llama.attention.head_count", 0),
        ("llama.attention.head_count", 3),
        ("llama.attention.head_count_kv", 0),
        ("llama.embedding_length", 0),
        ("llama.embedding_length", (1 << 32) - 1),
        ("llama.context_length", (1 << 32) - 1),
        ("llama.expert_count", 1 << 31),
        ("llama.expert_used_count", 9),
        ("llama.rope.dimension_count", 3),
        ("general.file_type", 4000),
        ("general.base_model.count", (1 << 32) - 1),
        ("general.dataset.count", 1 << 31),
    ):
        yield (f"{key} {value}", "a number that sizes arrays or divides", [u32(key, value)])
    for epsilon in (float("nan"), -1.0, 0.0, float("inf")):
        key = "llama.attention.layer_norm_rms_epsilon"
        why = "NaN comes out of every layer, or an abort"
        yield (f"epsilon {epsilon}", why, [_f32(key, epsilon)])
    key = "llama.rope.scaling.type"
    yield (
        "unknown rope scaling",
        "an abort in the loader",
        [V3.pair(key, STRING, V3.string("magic"))],
    )
    yield (
        "architecture as a number",
        "a value of another type than the reader asks for aborts",
        [u32("general.architecture", 1)],
    )


def _vocabularies() -> Iterator[tuple[str, str, list[bytes]]]:
    name = "tokenizer.ggml"
    for key in ("bos", "eos", "unknown", "padding"):
        for value in (4, (1 << 32) - 1):
            yield (
                f"{key} token {value} of 4",
                "R18: an id that indexes past the vocabulary",
                [u32(f"{name}.{key}_token_id", value)],
            )
    yield (
        "scores of one byte each",
        "R16, #26690: read as floats, three times past the block",
        [V3.pair(f"{name}.scores", ARRAY, V3.array(UINT8, 4, bytes(4)))],
    )
    yield (
        "token types of one byte each",
        "R16: the same",
        [V3.pair(f"{name}.token_type", ARRAY, V3.array(UINT8, 4, bytes(4)))],
    )
    for count in (0, 3, 5):
        scores = V3.array(FLOAT32, count, bytes(4 * count))
        yield (
            f"{count} scores for 4 tokens",
            "R16: lists that are not of one length",
            [V3.pair(f"{name}.scores", ARRAY, scores)],
        )
    for what, texts in (
        ("equal tokens", ["a", "a", "b", "a"]),
        ("empty tokens", ["", "", "", ""]),
        ("byte tokens <0x-1> and <0xZZ>", ["<0x00>", "<0x-1>", "<0xZZ>", "<0x1>"]),
    ):
        yield (
            what,
            "#24885, #27226: an abort, an exception, or a write before the block (R18)",
            [
                strings(f"{name}.tokens", 4, b"".join(map(V3.string, texts))),
                V3.pair(f"{name}.token_type", ARRAY, V3.array(INT32, 4, V3.u32(6) * 4)),
            ],
        )
    yield (
        "no tokens",
        "a vocabulary of nothing",
        [strings(f"{name}.tokens", 0, b"")],
    )
    yield (
        "merges that are no pairs",
        "a merge without a space in it is taken apart all the same",
        [strings(f"{name}.merges", 3, b"".join(map(V3.string, ("ab", "", "a b c"))))],
    )
    yield (
        "charsmap that points outside of itself",
        "precompiled_charsmap holds offsets into itself",
        [V3.pair(f"{name}.precompiled_charsmap", ARRAY, V3.array(UINT8, 8, b"\xff" * 8))],
    )


def _sets() -> Iterator[tuple[str, str, list[bytes]]]:
    u16 = V3.number
    for what, pairs in (
        ("split.no of another type", [V3.pair("split.no", STRING, V3.string("0"))]),
        ("split.count 65535", [V3.pair("split.count", UINT16, u16(65535, 2))]),
        ("split.count as a bool", [V3.pair("split.count", BOOL, b"\1")]),
        ("split.tensors.count -1", [V3.pair("split.tensors.count", INT32, u16(-1, 4))]),
        (
            "split.no beyond split.count",
            [V3.pair("split.count", UINT16, u16(1, 2)), V3.pair("split.no", UINT16, u16(9, 2))],
        ),
    ):
        yield (what, "R58: what the loader reads of a shard without asking for its type", pairs)
