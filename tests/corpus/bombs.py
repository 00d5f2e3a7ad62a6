"""Files that cost more time or memory than their size allows."""

from __future__ import annotations

from collections.abc import Iterator

from support.crafted import ARCHITECTURE, ARRAY, STRING, UINT8, V3, file

from . import Hostile

MANY, SOME = 1_000_000, 100_000


def files() -> Iterator[Hostile]:
    """All of them."""
    yield Hostile(
        "100,000 nested arrays",
        "R13: 1.2 MB, 12 bytes a level; recursion ends the stack of a native program",
        lambda: file([V3.pair("a", ARRAY, V3.array(ARRAY, 1) * SOME + V3.array(UINT8, 0))]),
    )
    yield Hostile(
        "arrays of empty arrays",
        "R14: many elements a byte, none of which holds anything",
        lambda: file(
            [V3.pair("a", ARRAY, V3.array(ARRAY, MANY // 10, V3.array(ARRAY, 0) * (MANY // 10)))]
        ),
    )
    yield Hostile(
        "a million empty strings",
        "R14: an object for each takes twelve times the file",
        lambda: file([V3.pair("a", ARRAY, V3.array(STRING, MANY, bytes(8 * MANY)))]),
    )
    yield Hostile(
        "30,000 colliding keys",
        "equal hashes in libstdc++'s unkeyed std::hash: ggml takes 2.2 s for 0.9 MB",
        lambda: keys(colliding(30_000)),
    )
    yield Hostile(
        "a million keys",
        "linear time: readers that look up each key in a list take hours",
        lambda: keys(b"k%d" % number for number in range(MANY)),
    )
    yield Hostile("200,000 tensors", "R21: the same for names of tensors", lambda: tensors(200_000))


def keys(names: Iterator[bytes]) -> bytes:
    """A file with these keys, each of one byte."""
    pairs = [V3.pair(name, UINT8, b"\0") for name in names]
    return V3.header(0, len(pairs) + 1) + ARCHITECTURE + b"".join(pairs)


def tensors(count: int) -> bytes:
    """A file with so many small tensors."""
    infos = [V3.tensor(f"t{i}", [8], offset=32 * i) for i in range(count)]
    return file([ARCHITECTURE], infos, bytes(32 * count))


_WORD = (1 << 64) - 1
_FACTOR = (0xC6A4A793 << 32) + 0x5BD1E995
_INVERSE = pow(_FACTOR, -1, 1 << 64)
_SEED = 0xC70F6907


def colliding(count: int) -> Iterator[bytes]:
    """Texts of 16 bytes with one value of std::hash<std::string> of libstdc++ (MurmurHash64A).

    The first half is a number; the second is computed so that the state behind it is zero.
    """
    start = _SEED ^ (16 * _FACTOR & _WORD)
    for number in range(count):
        first = number.to_bytes(8, "little")
        state = (start ^ _mixed(number)) * _FACTOR & _WORD
        second = _unmixed(state).to_bytes(8, "little")
        yield first + second


def _mixed(word: int) -> int:
    word = word * _FACTOR & _WORD
    return (word ^ word >> 47) * _FACTOR & _WORD


def _unmixed(word: int) -> int:
    word = word * _INVERSE & _WORD
    return (word ^ word >> 47) * _INVERSE & _WORD
