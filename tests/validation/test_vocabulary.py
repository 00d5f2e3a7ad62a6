"""GG12: tokens, what runs along with them, numbers that point into them."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.generated.rules import RULES
from ggufspec.generated.tokenizers import TOKENIZERS
from support.crafted import ARRAY, STRING, UINT32, V3, file
from support.meaning import found, rules, strings

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
WORDS = ["<unk>", "<s>", "</s>", *BYTES, "a", "b", "ab"]


def llama(*tokens: str | bytes, types: list[int] | None = None, **more: Any) -> dict[str, Any]:
    """The keys of a SentencePiece vocabulary; `__` in names of further ones stands for a dot."""
    words = list(tokens) or WORDS
    types = types or [6 if word in BYTES else 1 for word in words]
    keys = {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": strings(*words),
        "tokenizer.ggml.scores": Value("ARRAY[FLOAT32]", [0.0] * len(words)),
        "tokenizer.ggml.token_type": Value("ARRAY[INT32]", types),
    }
    keys |= {f"tokenizer.ggml.{name}": given for name, given in more.items()}
    return {name: given for name, given in keys.items() if given is not None}


def bpe(*merges: str | bytes, **more: Any) -> dict[str, Any]:
    """The keys of a BPE vocabulary."""
    tokens = [f"t{number}" for number in range(20)]
    return llama(*tokens, model="gpt2", scores=None, merges=strings(*merges), **more)


N = len(WORDS)
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "whole": (llama(), []),
    "whole BPE": (bpe("a b", "ab c", "  a"), []),
    "no tokens": (llama(tokens=None, scores=None, token_type=None), ["GG1201"]),
    "no scores": (llama(scores=None), ["GG1201"]),
    "no types": (llama(token_type=None), ["GG1201"]),
    "no merges": (bpe() | {"tokenizer.ggml.model": "gpt2"}, []),
    "without the key of merges": (
        {name: value for name, value in bpe().items() if "merges" not in name},
        ["GG1201"],
    ),
    "no vocabulary at all": ({"tokenizer.ggml.model": "no_vocab"}, []),
    "unknown tokenizer": (llama("a", model="other"), []),
    "last token": (llama(bos_token_id=N - 1), []),
    "behind the last token": (llama(bos_token_id=N), ["GG1202"]),  # R18
    "largest number": (llama(eos_token_id=2**32 - 1), ["GG1202"]),  # R18
    "signed": (llama(eos_token_id=Value("INT32", -1)), ["GG1202"]),
    "in a list": (llama(suppress_tokens=Value("ARRAY[INT32]", [0, N])), ["GG1202"]),
    "of the architecture": (llama() | {"llama.decoder_start_token_id": N}, ["GG1202"]),
    "default behind the end": (
        bpe()
        | {
            "tokenizer.ggml.tokens": strings("a"),
            "tokenizer.ggml.token_type": Value("ARRAY[INT32]", [1]),
        },
        ["GG1203"],
    ),
    "small vocabulary of words": (
        llama("[PAD]", "a", model="bert", scores=None),
        ["GG1203"],
    ),
    "told to add what is not there": (
        llama("a", "b", "c", model="t5", add_bos_token=True),
        ["GG1204"],
    ),
    "told to add what is there": (
        llama("a", "b", "c", model="t5", add_bos_token=True, bos_token_id=1),
        [],
    ),
    "told to add a default": (llama(add_bos_token=True), []),
    "told not to add": (llama("a", "b", "c", model="t5", add_bos_token=False), []),
    "twice": (llama(*WORDS, "a"), ["GG1205"]),
    "twice, no UTF-8": (llama(*WORDS, b"\xff", b"\xff"), ["GG1205"]),
    "alike in front of NUL": (llama(*WORDS, "a\0x"), ["GG1205", "GG1207"]),
    "not UTF-8": (llama(*WORDS, b"\xff", b"\xc3", b"\xed\xa0\x80"), []),
    "empty": (llama(*WORDS, ""), ["GG1206"]),
    "empty twice": (llama(*WORDS, "", ""), ["GG1206"]),
    "NUL": (llama(*WORDS, "x\0y"), ["GG1207"]),
    "long": (llama(*WORDS, "x" * 65536), []),
    "too long": (llama(*WORDS, "x" * 65537), ["GG1208"]),
    "minus one": (llama(*WORDS, "<0x-1>", types=[*[1] * N, 6]), ["GG1209"]),  # R18
    "no digits": (llama(*WORDS, "<0xZZ>", types=[*[1] * N, 6]), ["GG1209"]),  # R18
    "lower case": (llama(*WORDS, "<0x0a>", types=[*[1] * N, 6]), ["GG1209"]),
    "cut": (llama(*WORDS, "<0x", types=[*[1] * N, 6]), ["GG1209"]),
    "line end behind": (llama(*WORDS, "<0x0A>\n", types=[*[1] * N, 6]), ["GG1209"]),
    "no byte, no UTF-8": (llama(*WORDS, b"\xff", types=[*[1] * N, 6]), ["GG1209"]),
    "looks like a byte": (llama(*WORDS, "<0xZZ>"), []),
    "more types than tokens": (llama(types=[*[1] * N, 6]), []),
    "one byte missing": (llama(*(word for word in WORDS if word != "<0x0A>")), ["GG1210"]),
    "no bytes": (llama("a", "b", "c"), ["GG1210"]),
    "merge without space": (bpe("ab"), ["GG1211"]),
    "merge of one side": (bpe("a ", "a b"), ["GG1211"]),
    "merge of the other side": (bpe(" a"), ["GG1211"]),
    "merge of spaces": (bpe("   "), []),
    "empty merge": (bpe(""), ["GG1211"]),
    "merge of bytes": (bpe(b"\xff \xfe"), []),
    "score NaN": (
        llama(scores=Value("ARRAY[FLOAT32]", [0.0, math.nan, *[0.0] * (N - 2)])),
        ["GG1213"],
    ),
    "score infinite": (llama(scores=Value("ARRAY[FLOAT32]", [-math.inf] * N)), []),
    "charsmap": (
        llama(precompiled_charsmap=Value("ARRAY[UINT8]", [4, 0, 0, 0, 1, 2, 3, 4, 0])),
        [],
    ),
    "charsmap too short": (
        llama(precompiled_charsmap=Value("ARRAY[UINT8]", [4, 0, 0])),
        ["GG1214"],
    ),
    "charsmap without text": (
        llama(precompiled_charsmap=Value("ARRAY[INT8]", [4, 0, 0, 0, 1, 2, 3, 4])),
        ["GG1214"],
    ),
    "size": (llama() | {"llama.vocab_size": N}, []),
    "other size": (llama() | {"llama.vocab_size": N + 1}, ["GG1215"]),
    "tokens that are numbers": (
        {
            **llama(scores=None, token_type=None),
            "tokenizer.ggml.tokens": Value("ARRAY[INT32]", [1, 1]),
        },
        ["GG1201"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_vocabularies(name: str) -> None:
    keys, expected = CASES[name]
    assert rules(found(keys), "GG12") == expected
    assert rules(found(keys, profile="ggml")) == []


def test_words() -> None:
    report = found(llama(*WORDS, "a", "b", "a"))
    (finding,) = (f for f in report.findings if f.rule == "GG1205")
    assert finding.message == (
        f"3 tokens are there more than once; the first is a, token {N - 3} and again {N}"
    )
    assert finding.path == "metadata[2].value"


@pytest.mark.parametrize("name", TOKENIZERS)
def test_defaults_stay_within_a_vocabulary_of_their_size(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    size = max(tokenizer.defaults.values(), default=0) + 1
    for count, more in ((size, []), (size - 1, ["GG1203"])):
        words = [f"w{number}" for number in range(count)]
        keys = llama(*words or ["w"], model=name, merges=strings())
        if tokenizer.defaults:
            assert set(rules(found(keys), "GG12")) - {"GG1210"} == set(more)


def raw(tokens: bytes, count: int, *pairs: bytes) -> bytes:
    return file([V3.pair("tokenizer.ggml.tokens", ARRAY, V3.array(STRING, count, tokens)), *pairs])


def timed(data: bytes) -> tuple[float, ggufspec.Report]:
    start = time.process_time()
    report = ggufspec.validate(data, checks=("meaning",))
    return time.process_time() - start, report


def test_too_many_tokens_are_not_compared() -> None:
    limit = RULES["GG1212"].limits["strict"]
    seconds, report = timed(raw(bytes(8 * (limit + 1)), limit + 1))
    assert rules(report, "GG12") == ["GG1212"]
    assert seconds < 5  # a hang, not a speed
    assert rules(timed(raw(bytes(8 * limit), limit))[1], "GG12") == ["GG1206"]


def collisions(count: int) -> list[str]:
    """Different texts that are alike to a hash that adds up 31 times what came before."""
    pair = ("Aa", "BB")
    bits = max(1, (count - 1).bit_length())
    return ["".join(pair[number >> bit & 1] for bit in range(bits)) for number in range(count)]


@pytest.mark.parametrize(
    "tokens",
    [
        [f"token {number}" for number in range(260_000)],
        collisions(1 << 16),
        ["same"] * 260_000,
        ["x" * 1000] * 10_000,
    ],
    ids=["different", "colliding", "equal", "long"],
)
def test_hostile_vocabularies_take_linear_time(tokens: list[str]) -> None:
    seconds, report = timed(raw(b"".join(map(V3.string, tokens)), len(tokens)))
    expected = [] if len(set(tokens)) == len(tokens) else ["GG1205"]
    assert rules(report, "GG12") == expected
    assert seconds < 10  # a hang, not a speed


def test_merges_of_any_length() -> None:
    big = b"x" * 5_000_000
    merges = [b"a b", big, b"c d", big[:3_000_000] + b" " + big[:100], b"e", b"f g" * 1000]
    keys = bpe(*merges)
    (finding,) = (f for f in found(keys).findings if f.rule.startswith("GG12"))
    assert finding.message.startswith("2 merges are not two parts")
    assert finding.message.endswith("merge 1")


@pytest.mark.parametrize("order", ["little", "big"])
def test_byte_orders(order: Any) -> None:
    form = V3._replace(order=order)
    words = [form.string(word) for word in ("a", "b", "a")]
    data = file(
        [
            form.pair("tokenizer.ggml.tokens", ARRAY, form.array(STRING, 3, b"".join(words))),
            form.pair("tokenizer.ggml.merges", ARRAY, form.array(STRING, 1, form.string("ab"))),
            form.pair("tokenizer.ggml.bos_token_id", UINT32, form.u32(3)),
        ],
        form=form,
    )
    report = ggufspec.validate(data, checks=("meaning",))
    assert rules(report, "GG12") == ["GG1202", "GG1205", "GG1211"]


def test_arrays_of_numpy_are_taken(tmp_path: Any) -> None:
    keys = llama(scores=np.zeros(N, np.float32), token_type=np.ones(N, np.int32))
    path = tmp_path / "v.gguf"
    ggufspec.write(path, keys, {})
    assert rules(ggufspec.validate(path, checks=("meaning",)), "GG12") == []
