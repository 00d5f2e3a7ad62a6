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
from .text import Body, plus

BLOCK = "block"
"""The axis of the loop over blocks: whatever reads storage depends on it."""


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
        for start in (aligned, first):
            start = min(start, latest)
            if start + low >= 0 and start <= first and last <= start + size:
                return start
        return None

    def load(self, how: str, ctype: str, base: Affine, start: int) -> str:
        """Name what ``how`` loads at a byte of the block."""
        text = f"{how}({plus('src', base + Affine(start))})"
        return self.body.bind(ctype, "w", text, {BLOCK, *base.axes})


@dataclass(frozen=True)
class _Source:
    """A vector whose lane i holds the wanted bits from bit ``at[i]``; ``valid[i]`` low bits may
    be set."""

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
    elif max(shifts) <= 0:
        text = f"right_by({source.text}, {vector(_at_present(bits, source, -1))})"
    elif min(shifts) >= 0:
        text = f"left_by({source.text}, {vector(_at_present(bits, source, 1))})"
    else:
        low = tuple((1 << width) - 1 for width in bits.widths)
        text = f"(right_by({source.text}, {vector(source.at)}) & {vector(low)})"
        return f"left_by({text}, {vector(bits.places)})"
    if all(_clean(bits, source, lane) for lane in range(len(bits.bits))):
        return text
    return f"({text} & {vector(masks)})"


def low(bits: LaneBits, memory: Memory) -> str | None:
    """The bits from bit 0 up, whatever stands above them."""
    source = _source(bits, memory)
    if source is None or len(bits.present) < len(bits.bits):
        return None
    if len(set(source.at)) == 1:
        return _shifted(source.text, -source.at[0])
    return f"right_by({source.text}, {vector(source.at)})"


def top(bits: LaneBits, memory: Memory) -> str | None:
    """The last bit at bit 31, whatever stands below it."""
    source = _source(bits, memory)
    if source is None or len(bits.present) < len(bits.bits):
        return None
    counts = tuple(32 - at - w for at, w in zip(source.at, bits.widths, strict=True))
    if len(set(counts)) == 1:
        return _shifted(source.text, counts[0])
    return f"left_by({source.text}, {vector(counts)})"


def _source(bits: LaneBits, memory: Memory) -> _Source | None:
    for step, how in ((8, "widen_u8"), (16, "widen_u16"), (32, "load_words")):
        start = bits.walk(step)
        if start is not None:
            text = memory.load(how, "i32x8", bits.base, start // step * step // 8)
            return _Source(text, (start % step,) * 8, (step,) * 8)
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


def _at_present(bits: LaneBits, source: _Source, sign: int) -> tuple[int, ...]:
    return tuple(
        sign * (place - at) if width else 0
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


def vector(values: tuple[int, ...]) -> str:
    """Integers as a vector, or as one number where they are equal."""
    signed = [value - (1 << 32) if value >= 1 << 31 else value for value in values]
    if len(set(signed)) == 1:
        return str(signed[0]) if signed[0] != -(1 << 31) else "INT32_MIN"
    return f"(i32x8){{{', '.join(map(str, signed))}}}"


def byte_vector(values: list[int]) -> str:
    """32 byte values as a vector."""
    return f"(u8x32){{{', '.join(map(str, values))}}}"
