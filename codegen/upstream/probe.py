"""What the bits of a block do, found out by flipping each of them and decoding.

A bit is known by the elements that change with it. Bits that only ever change one element are that
element's code; bits that change the same elements by the same proportions are one number (a scale,
a minimum); eight bits of a byte that hold base-3 digits give themselves away by their digits.
Nothing about the type is used but its sizes and, where they are known, its floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Decode = Callable[[Bytes], Floats]
Kind = Literal["code", "scale", "float", "digits", "index"]

BASES = 8
"""Blocks whose bits are flipped one by one."""

_PARALLEL = 1 - 1e-9
_WEIGHED = 4
"""Bases in which bits are weighed against one another."""
_CLOSER = 20_000
"""Blocks that may be spent on bytes whose bits are uneven."""
_DIGITS = 5
"""Base-3 digits that a byte can hold."""


@dataclass(frozen=True)
class StoredFloat:
    """A float of the block, at a byte: "f16" or "f32"."""

    offset: int
    scalar: str

    @property
    def bits(self) -> range:
        width = 16 if self.scalar == "f16" else 32
        return range(8 * self.offset, 8 * self.offset + width)


@dataclass(frozen=True)
class Number:
    """Stored bits (8 * byte + bit, the number's lowest first) and the elements that they govern.

    code: of one element. scale: an integer or small float of several. float: a whole stored float.
    digits: a byte of base-3 digits, its elements from the most significant digit on. index: bits
    that together choose several elements, in order of storage.
    """

    kind: Kind
    bits: tuple[int, ...]
    elements: tuple[int, ...]


@dataclass(frozen=True)
class BitMap:
    """Every bit of a block: part of a number, or without effect."""

    elements: int
    bytes: int
    numbers: tuple[Number, ...]
    dead: tuple[int, ...]

    def governed(self) -> dict[int, tuple[Number, int]]:
        """Stored bit to the number that it is part of, and which bit of it."""
        return {bit: (n, place) for n in self.numbers for place, bit in enumerate(n.bits)}


@dataclass(frozen=True)
class _Flips:
    """Per base: the differences (bits, elements) that flips make; and what changed in any base."""

    differences: list[NDArray[np.float64]]
    changed: NDArray[np.bool_]


def probe(
    decode: Decode, elements: int, size: int, floats: Sequence[StoredFloat] = (), seed: int = 0
) -> BitMap:
    """The bit map of a type of ``elements`` weights in ``size`` bytes.

    decode: blocks (n, bytes) to floats (n, elements). floats: the stored floats that are known.
    """
    bases = base_blocks(size, floats, BASES, seed)
    flips = _flip(decode, bases, elements)
    owned = {bit for one in floats for bit in one.bits}
    numbers = [number for one in floats if (number := _float(one, flips))]
    for byte in range(size):
        if 8 * byte not in owned and (found := _digits(byte, flips, decode, bases)):
            numbers.append(found)
            owned |= set(found.bits)
    _look_closer(decode, bases, flips, owned)
    alive = {bit for number in numbers for bit in number.bits}
    groups: dict[bytes, list[int]] = {}
    dead = []
    for bit in range(8 * size):
        if bit in alive:
            continue
        if not flips.changed[bit].any():
            dead.append(bit)
        else:
            groups.setdefault(flips.changed[bit].tobytes(), []).append(bit)
    for bits in groups.values():
        members = tuple(int(e) for e in np.flatnonzero(flips.changed[bits[0]]))
        if len(members) == 1:
            numbers.append(Number("code", _by_weight(bits, flips, members), members))
        else:
            numbers += _shared(bits, members, flips)
    numbers.sort(key=lambda number: min(number.bits))
    return BitMap(elements, size, tuple(numbers), tuple(dead))


def base_blocks(size: int, floats: Iterable[StoredFloat], count: int, seed: int) -> Bytes:
    """Random blocks (count, size) whose floats are of middling size and have few digits.

    So every product with a small integer is exact, and no flipped bit gives an infinity.
    """
    rng = np.random.default_rng([17, seed, size])
    blocks = rng.integers(0, 256, (count, size), np.uint8)
    for one in floats:
        sign, digits = rng.integers(0, 2, count), rng.integers(1, 8, count)
        if one.scalar == "f16":
            words: Any = (sign << 15 | 0b01110 << 10 | digits << 7).astype("<u2")
        else:
            words = (sign << 31 | 0b01111110 << 23 | digits << 20).astype("<u4")
        width = len(one.bits) // 8
        blocks[:, one.offset : one.offset + width] = words.view(np.uint8).reshape(count, width)
    return blocks


def _flip(decode: Decode, bases: Bytes, elements: int) -> _Flips:
    size = bases.shape[1]
    bits = np.arange(8 * size)
    changed = np.zeros((8 * size, elements), np.bool_)
    differences = []
    for base in bases:
        blocks = np.repeat(base[None], 8 * size + 1, axis=0)
        blocks[bits, bits // 8] ^= (1 << bits % 8).astype(np.uint8)
        decoded = decode(blocks)
        with np.errstate(all="ignore"):
            differences.append(decoded[:-1].astype(np.float64) - decoded[-1])
        changed |= different(decoded[:-1], decoded[-1])
    return _Flips(differences, changed)


def _look_closer(decode: Decode, bases: Bytes, flips: _Flips, owned: set[int]) -> None:
    """Try all values of bytes some of whose bits did nothing, or less than their neighbours.

    A value of its own (a NaN's bits that mean zero) shows such a bit only beside that value.
    """
    bytes_ = [b for b in range(bases.shape[1]) if 8 * b not in owned and _uneven(flips, b)]
    if not bytes_:
        return
    values = np.arange(256)
    for base in bases[: max(1, min(len(bases), _CLOSER // (256 * len(bytes_))))]:
        for byte in bytes_:
            blocks = np.repeat(base[None], 256, axis=0)
            blocks[:, byte] = values
            decoded = decode(blocks)
            for bit in range(8):
                flipped = decoded[values ^ 1 << bit]
                flips.changed[8 * byte + bit] |= different(decoded, flipped).any(axis=0)


def _uneven(flips: _Flips, byte: int) -> bool:
    """Whether some bit of a byte governs nothing, or a part of what another governs."""
    sets = flips.changed[8 * byte : 8 * byte + 8]
    for one in sets:
        for other in sets:
            if (one <= other).all() and (one != other).any():
                return True
    return not sets.any()


def different(a: Floats, b: Floats, *, zeros: bool = True) -> NDArray[np.bool_]:
    """Where bits differ; a NaN is a NaN. ``zeros``: zeros of unlike sign differ."""
    unlike: NDArray[np.bool_] = a.view(np.uint32) != b.view(np.uint32)
    alike = np.isnan(a) & np.isnan(b)
    if not zeros:
        alike |= (a == 0) & (b == 0)
    return np.asarray(unlike & ~alike)


def _float(one: StoredFloat, flips: _Flips) -> Number | None:
    touched = flips.changed[list(one.bits)].any(axis=0)
    if not touched.any():
        return None  # stored, but not used: its bits are among the dead
    return Number("float", tuple(one.bits), tuple(int(e) for e in np.flatnonzero(touched)))


# ---- numbers of several elements


def _shared(bits: list[int], members: tuple[int, ...], flips: _Flips) -> list[Number]:
    """The numbers among bits that govern the same elements."""
    clusters = _clusters(bits, members, flips)
    if len(clusters) > 1 and all(len(cluster) == 1 for cluster in clusters):
        return [Number("index", tuple(bits), members)]
    return [Number("scale", _by_weight(c, flips, members), members) for c in clusters]


def _clusters(bits: list[int], members: tuple[int, ...], flips: _Flips) -> list[list[int]]:
    """Bits whose flips change the elements by the same proportions, in every base."""
    found: list[list[int]] = []
    rare = [bit for bit in bits if not any(d[bit].any() for d in flips.differences)]
    for bit in [bit for bit in bits if bit not in rare]:
        for cluster in found:
            if _parallel(bit, cluster[0], members, flips):
                cluster.append(bit)
                break
        else:
            found.append([bit])
    for bit in rare:  # it had no effect in the bases: it belongs to what stands around it
        near = [cluster for cluster in found if any(b // 8 == bit // 8 for b in cluster)]
        if near:
            near[0].append(bit)
        else:
            found.append([bit])
    return [sorted(cluster) for cluster in found]


def _parallel(a: int, b: int, members: tuple[int, ...], flips: _Flips) -> bool:
    compared = 0
    for difference in flips.differences:
        left, right = difference[a, list(members)], difference[b, list(members)]
        if not (np.isfinite(left).all() and np.isfinite(right).all()):
            continue
        one, other = _unit(left), _unit(right)
        if one is None or other is None:
            continue
        compared += 1
        if abs(float(one @ other)) < _PARALLEL:
            return False
    return compared > 0


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Of length 1, whatever its magnitude; None for zeros."""
    largest = float(np.abs(vector).max())
    if not largest:
        return None
    scaled = vector / largest
    return np.asarray(scaled / np.sqrt(float(scaled @ scaled)))


def _by_weight(bits: list[int], flips: _Flips, members: tuple[int, ...]) -> tuple[int, ...]:
    """Lowest first: by what they weigh where that doubles from bit to bit, else as stored."""
    order: tuple[int, ...] | None = None
    for difference in flips.differences[:_WEIGHED]:
        weights = np.abs(difference[np.ix_(bits, members)]).max(axis=1)
        if not np.isfinite(weights).all() or not weights.all():
            continue
        places = np.argsort(weights, kind="stable")
        doubling = weights[places] / weights[places[0]]
        if not np.allclose(doubling, 2.0 ** np.arange(len(bits)), rtol=1e-6):
            return tuple(bits)
        found = tuple(bits[int(place)] for place in places)
        if order is not None and order != found:
            return tuple(bits)
        order = found
    return order or tuple(bits)


# ---- base-3 digits


def trits(digit: int) -> NDArray[np.int64]:
    """Digit ``digit`` (0 is the most significant) of every byte value."""
    values = np.arange(256) * 3**digit & 0xFF
    found: NDArray[np.int64] = values * 3 >> 8
    return found


def _digits(byte: int, flips: _Flips, decode: Decode, bases: Bytes) -> Number | None:
    """The byte's elements by digit, if digits are what it holds."""
    whole = range(8 * byte, 8 * byte + 8)
    touched = flips.changed[list(whole)]
    members = np.flatnonzero(touched.any(axis=0))
    if not 2 <= len(members) <= _DIGITS or (touched.sum(axis=1) <= 1).all():
        return None
    blocks = np.repeat(bases[:1], 256, axis=0)
    blocks[:, byte] = np.arange(256)
    decoded = decode(blocks)[:, members]
    places: dict[int, int] = {}
    for element, values in zip(members, decoded.T, strict=True):
        for digit in range(len(members)):
            if digit not in places and _follows(values, trits(digit)):
                places[digit] = int(element)
                break
    if len(places) < len(members):
        return None
    return Number("digits", tuple(whole), tuple(places[digit] for digit in range(len(members))))


def _follows(values: Floats, digits: NDArray[np.int64]) -> bool:
    """Whether the values are different for different digits and the same for the same."""
    kinds = [np.unique(values[digits == digit].view(np.uint32)) for digit in range(3)]
    distinct = {int(kind[0]) for kind in kinds}
    return all(len(kind) == 1 for kind in kinds) and len(distinct) == 3
