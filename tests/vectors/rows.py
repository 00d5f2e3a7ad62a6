"""Rows of blocks that show what a decoder can get wrong."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from support import interpreter

from .storage import Kind, Row, Word

HOSTILE = {
    1: (0x00, 0x01, 0x07, 0x08, 0x7E, 0x7F, 0x80, 0xFE, 0xFF),
    2: (0x8000, 0, 1, 0x03FF, 0x7C00, 0x7C01, 0x7BFF, 0xFBFF, 0xFC00, 0x8001, 0x0400, 0x7E00),
    4: (0, 1 << 31, 1, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000),
    8: (0, 1 << 63, 1, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0x7FF8000000000000),
}
"""Bits by width: zeros, subnormals, the least normal and the largest, infinities, NaNs."""

SCALES = ((0, 1), (2, 6), (4, 7))
"""Which of the two-byte ones a block gets in turn: zero, subnormal, infinity."""

CANDIDATES = 16


def samples(kind: Kind) -> list[Row]:
    """The rows of a type, the same on every run."""
    rng = np.random.default_rng(zlib.crc32(kind.name.encode()))
    if kind.plain:
        return list(_plain(kind, rng))
    return list(_blocks(kind, rng))


def random_row(kind: Kind, rng: np.random.Generator, blocks: int, what: str = "") -> Row:
    """Random blocks whose scales are ordinary."""
    words = kind.words()
    data = b"".join(_ordinary(rng.bytes(kind.size), words, rng) for _ in range(blocks))
    return Row(what, data, *_ends(kind, rng))


def _blocks(kind: Kind, rng: np.random.Generator) -> Iterator[Row]:
    small = kind.elements < 128
    tries = [random_row(kind, rng, 1, "ordinary scales") for _ in range(CANDIDATES)]
    yield max(tries, key=lambda row: _coverage(kind, row))
    yield Row("random bytes", rng.bytes(kind.size), *_ends(kind, rng))
    if small:
        yield random_row(kind, rng, 3, "three blocks in a row")
        yield Row("all bits zero", bytes(kind.size), *_ends(kind, rng))
    yield Row("all bits one", b"\xff" * kind.size, *_ends(kind, rng))
    for number in range(6 if small else len(SCALES)):
        yield Row("hostile scales", _hostile(kind, rng, number, small), *_ends(kind, rng))
    if kind.prefix:
        for bits in HOSTILE[4]:
            prefix = struct.pack("<I", bits).ljust(kind.prefix, b"\0")
            yield Row("hostile row prefix", rng.bytes(kind.size), prefix, _ends(kind, rng)[1])
    if kind.suffix:
        for bits in HOSTILE[4][: None if small else 3]:
            suffix = struct.pack("<I", bits).ljust(kind.suffix, b"\0")
            yield Row("hostile suffix", rng.bytes(kind.size), _ends(kind, rng)[0], suffix)


def _plain(kind: Kind, rng: np.random.Generator) -> Iterator[Row]:
    yield Row("random bytes", rng.bytes(24 * kind.size))
    edges = [0, 1, *(1 << kind.size * 8 - 1, (1 << kind.size * 8 - 1) - 1)]
    edges += [(1 << kind.size * 8) - 1, *HOSTILE.get(kind.size, ())]
    if kind.name == "BF16":
        edges += [0x7F80, 0xFF80, 0x7F81, 0x7FC0, 0x0080, 0x007F, 0x7F7F]
    if kind.words()[0].scalar[0] == "i":
        edges += _ties(kind.size)
    if kind.name == "F64":
        edges += map(_double_bits, _DOUBLES)
    distinct = list(dict.fromkeys(edges))
    yield Row("edges", b"".join(bits.to_bytes(kind.size, "little") for bits in distinct))


_DOUBLES = (
    *(1.0 + 2.0**-24, 1.0 + 3 * 2.0**-24, 1.0 + 2.0**-24 + 2.0**-50),  # ties and just above
    *(3.4028235677973366e38, 3.4028235677973362e38, -1e300),  # around float32's largest
    *(2.0**-149, 2.0**-150, 2.0**-150 + 2.0**-190, 3 * 2.0**-150, 2.0**-126 - 2.0**-151, 1e-300),
)


def _double_bits(value: float) -> int:
    return int.from_bytes(struct.pack("<d", value), "little")


def _ties(width: int) -> list[int]:
    """Integers half-way between two float32, and beside them, as far as the width goes."""
    top = 1 << width * 8
    steps = (2**24, 3 * 2**24, 2**31 - 64, 2**31 - 65, 2**53 + 2**29, 2**62 + 2**38)
    near = [n + d for n in steps for d in (-1, 0, 1, 2, 3)]
    return [sign * n % top for n in near if 2 * n < top for sign in (1, -1)]


def _ends(kind: Kind, rng: np.random.Generator) -> tuple[bytes, bytes]:
    """Ordinary bytes for once a row and once a tensor."""
    return (
        _ordinary(bytes(kind.prefix), kind.words("row_prefix"), rng),
        _ordinary(bytes(kind.suffix), kind.words("tensor_suffix"), rng),
    )


def _ordinary(data: bytes, words: Sequence[Word], rng: np.random.Generator) -> bytes:
    """The data with a float near 0.02 in each word that holds one; others stay."""
    made = bytearray(data)
    for word in words:
        value = float(rng.normal(0, 0.02))
        if word.is_float and word.size > 1:
            made[word.offset : word.offset + word.size] = _stored(value, word)
    return bytes(made)


def _stored(value: float, word: Word) -> bytes:
    if word.scalar == "bf16":
        return struct.pack("<f", value)[2:]
    return struct.pack({2: "<e", 4: "<f", 8: "<d"}[word.size], value)


def _hostile(kind: Kind, rng: np.random.Generator, number: int, small: bool) -> bytes:
    """Random codes under scales of which each is one of the hostile bits."""
    made = bytearray(rng.bytes(kind.size))
    floats = [word for word in kind.words() if word.is_float]
    for place, word in enumerate(floats):
        bits = HOSTILE[word.size]
        turn = number + place if small else SCALES[number][place % 2]
        made[word.offset : word.offset + word.size] = bits[turn % len(bits)].to_bytes(
            word.size, "little"
        )
    return bytes(made)


def _coverage(kind: Kind, row: Row) -> int:
    """How many different values its codes take."""
    codes = interpreter.unpack(kind.file, kind.stored(row, 0))
    return sum(len(set(values)) for values in codes.values())
