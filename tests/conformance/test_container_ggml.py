"""The profile `ggml` says what ggml's own reader says, but for the exceptions listed here."""

from __future__ import annotations

import random
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from corpus import BIG, hostile
from ggufspec.container.scan import scan
from support import oracle
from support.container import first_error
from support.crafted import F16, F32, Q4_0, STRING, UINT8, UINT32, V3, file
from support.damaged import FORMS, everything
from support.mutations import random_mutations
from support.strategies import Sample, files

BATCH = 1000

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
    "shape [4611686018427387904, 0, 4611686018427387904] of type 24": "ggml 0.25 aborts",
    "shape [1, 0, 4611686018427387904, 4611686018427387904] of type 24": "ggml 0.25 aborts",
    "shape [4294967296, 4294967296] of type 0": "the wheel is ggml 0.20, whose test wraps",
    "shape [9223372036854775807, 2, 1, 1] of type 24": "the wheel is ggml 0.20, whose test wraps",
    "shape [0, 4611686018427387904, 4611686018427387904] of type 0": (
        "ggml multiplies by the zero first and then overflows in ggml_nrows"
    ),
    "alignment with a NUL in front of the alignment": (
        "ggml compares keys as C strings and takes the other alignment; we look keys up whole"
    ),
    "bytes overflow [2305843009213693952]": "ggml aborts when it reads the data of 2^63 bytes",
    "bytes overflow [4611686018427387904, 1]": "ggml aborts when it reads the data of 2^63 bytes",
}
"""Files of the corpus that the wheel's reader accepts and we refuse, each with the reason."""

ONLY_WE_ACCEPT = {
    "size within 31 bytes of 2^63": "ggml 0.20 refuses 2^63-1 elements, ggml 0.25 takes them",
    "tensor names equal up to a NUL": "ggml 0.20 compares them as C strings, ggml 0.25 as texts",
}
"""Those that we accept and the wheel's reader refuses."""

OVERFLOWS = {"GG0509", "GG0513"}
"""Rules that ggml 0.20 tests with arithmetic that wraps, as in the cases above."""


def _verdicts(files: list[bytes], folder: Path) -> list[str]:
    paths = [folder / f"{number}.gguf" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    answers = oracle.verdicts(paths)
    return [answers[path] for path in paths]


def test_corpus(tmp_path: Path) -> None:
    """The whole kept corpus, but for files that the wheel's reader takes hours for."""
    files = [file for file in hostile() if file.name not in BIG]
    data = [file.make() for file in files]
    theirs = _verdicts(data, tmp_path)
    ours = [_verdict(made)[0] for made in data]
    differing = {
        file.name: (their, our)
        for file, their, our in zip(files, theirs, ours, strict=True)
        if their != our
    }
    assert differing == {
        **dict.fromkeys(EXCEPTIONS, ("accept", "refuse")),
        **dict.fromkeys(ONLY_WE_ACCEPT, ("refuse", "accept")),
    }


def test_generated_files(tmp_path: Path) -> None:
    _compare(2_000, 4, tmp_path)


@pytest.mark.sweep
def test_many_generated_files(tmp_path: Path) -> None:
    _compare(20_000, 5, tmp_path)


def _compare(count: int, seed: int, folder: Path) -> None:
    """Valid files and, of ten, nine with typed damage."""
    random = Random(seed)
    valid = _valid_files()
    while count > 0:
        batch = [random.choice(valid) for _ in range(min(count, BATCH))]
        files = [
            data if number % 10 == 0 else random_mutations(data, random, 2)
            for number, data in enumerate(batch)
        ]
        theirs = _verdicts(files, folder)
        assert {"accept", "refuse"} <= set(theirs)
        for data, their in zip(files, theirs, strict=True):
            our, rule = _verdict(data)
            assert our == their or _explained(their, rule, data), (their, rule, data.hex())
        count -= len(files)


def _explained(their: str, rule: str, data: bytes) -> bool:
    """Whether a generated file is one of the exceptions above."""
    if their == "accept" and rule in OVERFLOWS:
        return True
    found = scan(data)
    keys, tensors = found.keys, found.tensors
    places = [
        *zip(keys.key_offset, keys.key_length, strict=True),
        *zip(tensors.name_offset, tensors.name_length, strict=True),
    ]
    # To ggml 0.20 a key or name ends at its first NUL.
    return any(b"\0" in data[offset : offset + length] for offset, length in places)


def _verdict(data: bytes) -> tuple[str, str]:
    error = scan(data, profile="ggml").first_error()
    return ("refuse", error.rule) if error else ("accept", "")


def _valid_files() -> list[bytes]:
    """What the strategies make, and the files with a bit of everything."""
    found: list[bytes] = []

    @settings(
        max_examples=60,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(files(versions=st.sampled_from((2, 3)), byte_orders=st.just("little"), nested=False))
    def collect(sample: Sample) -> None:
        found.append(sample.data)

    collect()
    return [*found, *(everything(form) for form in FORMS.values())]


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
