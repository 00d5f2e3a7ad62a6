"""Bit pictures: which bits of which stored word belong to which code, as text.

Words of one field that are cut the same way share a line, so the picture of a 256-element
super-block fits on a screen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest

from .bitmap import Claim, bit_map
from .model import Bits, BlockType, Code, Field, Trit
from .scalars import Scalar


@dataclass(frozen=True)
class Segment:
    """Bits ``high`` to ``low`` of a word: ``count`` equal cuts of a code, bits ``first`` and up.

    ``digits``: the whole word holds so many base-3 digits instead. ``whole``: it is the word.
    """

    high: int
    low: int
    code: str
    first: int = 0
    count: int = 1
    digits: int = 0
    whole: bool = False

    @property
    def width(self) -> int:
        return self.high - self.low + 1

    @property
    def cuts(self) -> Iterator[tuple[int, int]]:
        """Highest and lowest bit of each cut, the highest cut first."""
        step = self.width // self.count
        for high in range(self.high, self.low - 1, -step):
            yield high, high - step + 1

    def __str__(self) -> str:
        if self.digits:
            return f"{self.digits} base-3 digits of {self.code}, first the most significant"
        if self.whole:
            return self.code
        where = f"{self.high}" if self.high == self.low else f"{self.high}:{self.low}"
        many = f"{self.count} x " if self.count > 1 else ""
        return f"[{where}] {many}{self.code}" + (f" from bit {self.first}" if self.first else "")


@dataclass(frozen=True)
class Line:
    """Words of a field cut alike: the byte offset of each, their name, their cuts."""

    places: tuple[int, ...]
    word: str
    scalar: Scalar
    cuts: tuple[Segment, ...]

    @property
    def offset(self) -> int:
        """Of the first word."""
        return self.places[0]

    @property
    def count(self) -> int:
        return len(self.places)


def picture(kind: BlockType) -> tuple[Line, ...]:
    """The lines of a type's picture, in storage order; the cuts of a word highest bits first."""
    cut = bit_map(kind)
    trits = {
        piece.word.field.name
        for region in kind.regions
        for code in region.codes
        for case in code.cases
        for piece in case.slices
        if isinstance(piece, Trit)
    }
    derived = [item.field for item in kind.derived]
    lines: list[Line] = []
    for field in sorted(kind.fields, key=lambda field: field.offset):
        if field in kind.claimed:
            note = "derived" if field in derived else field.name
            name = field.name if not field.counts else f"{field.name}[0..{field.total - 1}]"
            whole = Segment(field.scalar.bits - 1, 0, note, whole=True)
            lines.append(Line(tuple(field.places), name, field.scalar, (whole,)))
            continue
        for cuts, group in groupby(field.places, key=lambda at: _cuts(cut, field, at, trits)):
            same = tuple(group)
            first, last = field.word_at(same[0]), field.word_at(same[-1])
            name = first if len(same) == 1 else f"{first} .. {last}"
            lines.append(Line(same, name, field.scalar, cuts))
    return tuple(lines)


def _cuts(
    cut: dict[tuple[str, int, int], Claim], field: Field, place: int, trits: set[str]
) -> tuple[Segment, ...]:
    top = field.scalar.bits - 1
    if field.name in trits:
        digits = [digit for digit in range(5) if (field.name, place, digit) in cut]
        return (Segment(top, 0, cut[field.name, place, 0].code, digits=len(digits)),)
    segments: list[Segment] = []
    previous: Claim | None = None
    for bit in range(field.scalar.bits):
        claim = cut[field.name, place, bit]
        goes_on = previous and (claim.code, claim.at) == (previous.code, previous.at)
        if segments and goes_on and previous and claim.bit == previous.bit + 1:
            last = segments[-1]
            segments[-1] = Segment(bit, last.low, last.code, last.first)
        else:
            segments.append(Segment(bit, bit, claim.code, claim.bit))
        previous = claim
    if len(segments) == 1 and not segments[0].first:
        return (replace(segments[0], whole=True),)
    return tuple(reversed(_merge(segments)))


def _merge(segments: list[Segment]) -> list[Segment]:
    """Runs of equal cuts (eight single bits of one code) as one segment."""
    merged: list[Segment] = []
    for segment in segments:
        last = merged[-1] if merged else None
        if (
            last
            and (last.code, last.first) == (segment.code, segment.first)
            and last.width == segment.width * last.count
        ):
            merged[-1] = replace(last, high=segment.high, count=last.count + 1)
        else:
            merged.append(segment)
    return merged


def summary(kind: BlockType) -> list[str]:
    """A line for each code, where its bits are, and for each formula."""
    codes = {code.name: code for region in kind.regions for code in region.codes}
    formulas = [f"{name} = {text}" for name, text in kind.decode_text.items()]
    return [*map(code_line, codes.values()), *formulas]


def code_lines(kind: BlockType) -> tuple[str, ...]:
    """Where the bits of each code lie; with several regions each line names its elements."""
    if len(kind.regions) == 1:
        return tuple(code_line(code) for code in kind.regions[0].codes)
    return tuple(
        f"{code_line(code)} (elements {region.start} to {region.start + region.size - 1})"
        for region in kind.regions
        for code in region.codes
    )


def code_line(code: Code) -> str:
    """One line that says where a code's bits lie, low bits first."""
    axes = f"[{','.join(code.axes)}]" if code.axes else ""
    cases = []
    for case in code.cases:
        text = " | ".join(map(_slice_text, case.slices))
        fixed = ",".join(f"{axis}={value}" for axis, value in case.fixed)
        cases.append(f"{fixed}: {text}" if fixed else text)
    return f"{code.name}{axes} = {'; '.join(cases)}"


def _slice_text(piece: Bits | Trit) -> str:
    group, *members = piece.word.field.name.split(".")
    indices = [f"[{index}]" for index in piece.word.indices]
    names = [group, *(f".{member}" for member in members)]
    word = "".join(n + i for n, i in zip_longest(names, indices, fillvalue=""))
    if isinstance(piece, Trit):
        return f"{word} digit {piece.digit}"
    if piece.is_word:
        return word
    if piece.shift.is_const:
        first, last = piece.shift.const, piece.shift.const + piece.width - 1
        return f"{word} bit {first}" if first == last else f"{word} bits {first}..{last}"
    return f"{word} bits {piece.shift}, {piece.width} wide"
