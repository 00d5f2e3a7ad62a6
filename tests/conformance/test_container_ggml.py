"""The profile `ggml` says what ggml's own reader says, but for the exceptions listed here."""

from __future__ import annotations

import random
from pathlib import Path

from support import oracle
from support.container import first_error
from support.crafted import F16, F32, Q4_0, STRING, UINT8, UINT32, V3, file
from support.crafted_cases import all_cases

EXCEPTIONS = {
    "elements overflow [4294967296, 4294967296]": "the wheel is ggml 0.20, whose test wraps",
    "elements overflow [9223372036854775807, 2, 1, 1]": "the wheel is ggml 0.20, whose test wraps",
    "elements overflow [1099511627776, 1099511627776]": "the wheel is ggml 0.20, whose test wraps",
    "elements overflow [4611686018427387904, 0, 4611686018427387904]": "ggml 0.25 aborts",
    "elements overflow [1, 0, 4611686018427387904, 4611686018427387904]": "ggml 0.25 aborts",
    "elements overflow [0, 4611686018427387904, 4611686018427387904]": (
        "ggml multiplies by the zero first and then overflows in ggml_nrows"
    ),
    "bytes overflow [4, 1073741823, 1073741825]": "the wheel is ggml 0.20, whose padding wraps",
    "bytes overflow [2305843009213693952]": "ggml aborts when it reads the data of 2^63 bytes",
    "bytes overflow [4611686018427387904, 1]": "ggml aborts when it reads the data of 2^63 bytes",
}
"""Crafted files that the wheel's reader accepts and we refuse, each with the reason."""


def _verdicts(files: list[bytes], folder: Path) -> list[str]:
    paths = [folder / f"{number}.gguf" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    answers = oracle.verdicts(paths)
    return [answers[path] for path in paths]


def test_crafted_files(tmp_path: Path) -> None:
    cases = all_cases()
    theirs = _verdicts([case.data for case in cases], tmp_path)
    ours = ["refuse" if case.expected["ggml"] else "accept" for case in cases]
    differing = {
        case.name: (their, our)
        for case, their, our in zip(cases, theirs, ours, strict=True)
        if their != our
    }
    assert differing == dict.fromkeys(EXCEPTIONS, ("accept", "refuse"))


def test_damaged_files(tmp_path: Path) -> None:
    """Bits flipped and bytes cut in a file with a bit of everything."""
    rng = random.Random(2)
    whole = _sample()
    files = [_damaged(whole, rng) for _ in range(400)]
    theirs = _verdicts(files, tmp_path)
    assert {"accept", "refuse"} <= set(theirs)
    for data, their in zip(files, theirs, strict=True):
        error = first_error(data, "ggml")
        assert (error is None) == (their == "accept"), (error, their, data.hex())


def _sample() -> bytes:
    pairs = [
        V3.pair("general.architecture", STRING, V3.string("llama")),
        V3.pair("general.alignment", UINT32, V3.u32(64)),
        V3.pair("a.tokens", 9, V3.array(STRING, 3, b"".join(map(V3.string, ("a", "", "bc"))))),
        V3.pair("a.types", 9, V3.array(UINT8, 3, b"\1\2\3")),
    ]
    tensors = [
        V3.tensor("one", [32, 2], Q4_0),
        V3.tensor("two", [3], F16, offset=64),
        V3.tensor("three", [2, 1, 2], F32, offset=128),
    ]
    return file(pairs, tensors, bytes(192), 64)


def _damaged(whole: bytes, rng: random.Random) -> bytes:
    data = bytearray(whole)
    if rng.random() < 0.2:
        del data[rng.randrange(len(data)) :]
        return bytes(data)
    for _ in range(rng.choice((1, 1, 2))):
        data[rng.randrange(len(data) - 192)] ^= 1 << rng.randrange(8)
    return bytes(data)
