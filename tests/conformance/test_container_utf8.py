"""The compiled part's UTF-8 test against Python's, at every place of a vector block."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from itertools import product

import pytest

from ggufspec.container import cscan

LIBRARY = cscan.library()
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="needs the compiled part")

EDGES = bytes.fromhex("00 41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
"""Bytes at which a rule of UTF-8 begins or ends."""


def _ours(text: bytes) -> bool:
    assert LIBRARY is not None
    test = LIBRARY.ggufspec_utf8_valid
    test.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    test.restype = ctypes.c_int
    return bool(test(text, len(text)))


def _theirs(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _sequences() -> Iterator[bytes]:
    for length in (1, 2, 3):
        yield from map(bytes, product(EDGES, repeat=length))
    for lead, *rest in product(
        b"\xf0\xf1\xf4\xf5\xe0\xed", EDGES, b"\x7f\x80\xbf\xc0", b"\x80\xbfA"
    ):
        yield bytes([lead, *rest])


def test_edges_alone_and_in_blocks() -> None:
    rng = random.Random(1)
    for sequence in _sequences():
        expected = _theirs(sequence)
        assert _ours(sequence) == expected, sequence
        before, after = rng.randrange(70), rng.randrange(70)
        text = b"a" * before + sequence + b"b" * after
        assert _ours(text) == _theirs(text), text


@pytest.mark.parametrize("code", ["e282ac", "f09f9880", "c3a9", "eda080"])
def test_every_place_and_every_cut(code: str) -> None:
    sequence = bytes.fromhex(code)
    for before in range(70):
        for cut in range(len(sequence) + 1):
            for after in (b"", b"z", b"z" * 40, b"\x80"):
                text = b"a" * before + sequence[:cut] + after
                assert _ours(text) == _theirs(text), text


def test_random_mixtures() -> None:
    rng = random.Random(2)
    characters = [chr(c).encode() for c in (65, 233, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF)]
    for _ in range(20_000):
        text = bytearray(b"".join(rng.choices(characters, k=rng.randrange(40))))
        if text and rng.random() < 0.5:
            text[rng.randrange(len(text))] = rng.choice(EDGES)
        assert _ours(bytes(text)) == _theirs(bytes(text)), text
