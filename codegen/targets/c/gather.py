"""Bits of eight lanes into one vector of eight integers, by the cheapest load that reaches them.

The choice depends only on where the bits lie: one value a lane behind the other is widened
from memory; bits within 32 are broadcast as a word and shifted lane by lane; bits within 16
bytes are brought to their lanes by a byte shuffle.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...affine import Affine
from .lanes import LaneBits
from .storage import plus
from .text import Body

BLOCK = "block"
"""The axis of the loop over blocks: whatever reads storage depends on it."""

SIGN = "INT32_MIN"
"""Bit 31 alone."""


@dataclass(frozen=True)
class Memory:
    """The block that loads must stay in, and the loops around them."""

    body: Body
    size: int
    extents: Mapping[str, int]

    def window(self, bits: LaneBits, size: int, step: int) -> int | None:
        """Where a load of ``size`` bytes that reaches all lanes' bits starts, or None.

        Starts are multiples of ``step`` from the field on, so that neighbours share loads.
        """
        ends = [bits.bits[lane] + bits.widths[lane] for lane in bits.present]
        first, last = min(bits.bits[lane] for lane in bits.present) // 8, (max(ends) + 7) // 8
        low, high = bits.base.bounds(self.extents)
        latest = self.size - high - size
        aligned = bits.field + (first - bits.field) // step * step
        for wish in (aligned, first):
            start = min(wish, latest)
            if start + low >= 0 and start <= first and last <= start + size:
                return start
        return None

    def words(self, bits: LaneBits, size: int) -> tuple[int, int] | None:
        """Start and shift of a row of eight words of ``size`` bytes with a lane's bits in each."""
        start = bits.walk(8 * size)
        if start is None:
            return None
        shift = (start - 8 * bits.field) % (8 * size)
        first = (start - shift) // 8
        low, high = bits.base.bounds(self.extents)
        inside = first + low >= 0 and first + high + 8 * size <= self.size
        return (first, shift) if inside and shift + bits.widths[0] <= 8 * size else None

    def load(self, how: str, ctype: str, base: Affine, start: int) -> str:
        """Name what ``how`` loads at a byte of the block."""
        text = f"{how}({plus('src', base + Affine(start))})"
        return self.body.bind(ctype, "w", text, {BLOCK, *base.axes})


@dataclass(frozen=True)
class _Source:
    """A vector whose lane i holds the wanted bits from bit ``at[i]`` up.

    Of lane i only the low ``valid[i]`` bits can be set.
    """

    text: str
    at: tuple[int, ...]
    valid: tuple[int, ...]


def exact(bits: LaneBits, memory: Memory) -> str | None:
    """The bits at their places, all other bits zero; None where no load reaches them."""
    source = _source(bits, memory)
    if source is None:
        return None
    shifts = {bits.places[i] - source.at[i] for i in bits.present}
    masks = tuple(((1 << w) - 1) << p for w, p in zip(bits.widths, bits.places, strict=True))
    if len(shifts) == 1:
        text = _shifted(source.text, shifts.pop())
    elif max(shifts) <= 0 or min(shifts) >= 0:
        text = _each_shifted(source.text, _shifts(bits, source))
    else:
        low = tuple((1 << width) - 1 for width in bits.widths)
        down = _each_shifted(source.text, tuple(-at for at in source.at))
        return _each_shifted(f"({down} & {vector(low)})", bits.places)
    if all(_clean(bits, source, lane) for lane in range(len(bits.bits))):
        return text
    return f"({text} & {vector(masks)})"


def low(bits: LaneBits, memory: Memory) -> str | None:
    """The bits from bit 0 up, whatever stands above them."""
    source = _source(bits, memory) if len(bits.present) == len(bits.bits) else None
    if source is None:
        return None
    return _each_shifted(source.text, tuple(-at for at in source.at))


def top(bits: LaneBits, memory: Memory) -> str | None:
    """The last bit at bit 31, whatever stands below it."""
    source = _source(bits, memory) if len(bits.present) == len(bits.bits) else None
    if source is None:
        return None
    counts = tuple(32 - at - w for at, w in zip(source.at, bits.widths, strict=True))
    return _each_shifted(source.text, counts)


def _source(bits: LaneBits, memory: Memory) -> _Source | None:
    for size, how in ((1, "widen_u8"), (2, "widen_u16"), (4, "load_words")):
        row = memory.words(bits, size)
        if row:
            text = memory.load(how, "i32x8", bits.base, row[0])
            return _Source(text, (row[1],) * 8, (8 * size,) * 8)
    start = memory.window(bits, 4, 4)
    if start is not None:
        text = memory.load("splat_word", "i32x8", bits.base, start)
        at = tuple(b - 8 * start if w else 0 for b, w in zip(bits.bits, bits.widths, strict=True))
        return _Source(text, at, (32,) * 8)
    start = memory.window(bits, 16, 16)
    return None if start is None else _shuffled(bits, memory, start)


def _shuffled(bits: LaneBits, memory: Memory, start: int) -> _Source | None:
    at, valid, indices = [], [], []
    for bit, width in zip(bits.bits, bits.widths, strict=True):
        first, shift = bit // 8 - start, bit % 8
        count = (shift + width + 7) // 8 if width else 0
        if count > 4:
            return None
        at.append(shift if width else 0)
        valid.append(8 * count)
        indices += [*range(first, first + count), *[128] * (4 - count)]
    window = memory.load("twice", "u8x32", bits.base, start)
    text = memory.body.bind(
        "i32x8",
        "w",
        f"(i32x8)shuffle({window}, {byte_vector(indices)})",
        {BLOCK, *bits.base.axes},
    )
    return _Source(text, tuple(at), tuple(valid))


def _shifts(bits: LaneBits, source: _Source) -> tuple[int, ...]:
    """How far left each lane's bits have to go; 0 where there are none."""
    return tuple(
        place - at if width else 0
        for place, at, width in zip(bits.places, source.at, bits.widths, strict=True)
    )


def _clean(bits: LaneBits, source: _Source, lane: int) -> bool:
    """Whether shifting alone leaves nothing but the wanted bits."""
    at, width, place = source.at[lane], bits.widths[lane], bits.places[lane]
    if not width:
        return source.valid[lane] == 0
    return at + width == source.valid[lane] and (place == 0 or at == 0)


def _shifted(text: str, count: int) -> str:
    if count == 0:
        return text
    return f"left({text}, {count})" if count > 0 else f"right({text}, {-count})"


def _each_shifted(text: str, counts: tuple[int, ...]) -> str:
    """Left by counts that are all at least 0, or right by counts that are all at most 0."""
    if len(set(counts)) == 1:
        return _shifted(text, counts[0])
    how = "left" if max(counts) > 0 else "right"
    return f"{how}_by({text}, {vector(tuple(map(abs, counts)))})"


def vector(values: tuple[int, ...]) -> str:
    """Integers as a vector, or as one number where they are equal."""
    signed = [value - (1 << 32) if value >= 1 << 31 else value for value in values]
    if len(set(signed)) == 1:
        return str(signed[0]) if signed[0] != -(1 << 31) else SIGN
    return full_vector(tuple(signed))


def full_vector(values: tuple[int, ...]) -> str:
    """Integers as a vector."""
    return f"(i32x8){{{', '.join(map(str, values))}}}"


def byte_vector(values: list[int]) -> str:
    """32 byte values as a vector."""
    return f"(u8x32){{{', '.join(map(str, values))}}}"
