"""Elements by runs and lanes: where each lane of a vector finds its bits.

A run is 32 (or 16, or 8) elements that stand one behind the other in the output; eight of
them are a vector. Inner axes that a run holds whole become lanes, the axis at its edge is
split, the axes outside stay axes of runs. As every position is affine in axes, lane i's bits
lie at a base that all lanes share plus a number known now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from ...affine import Affine
from ...model import Bits, Case, Code, Trit
from .storage import NoForm

LANES = 8

Order = tuple[tuple[str, int], ...]


class Unroll(Exception):  # noqa: N818 - not an error: the schedule unrolls the axis
    """Something must know the value of these loop axes."""

    def __init__(self, axes: frozenset[str]) -> None:
        """Remember the axes."""
        super().__init__(f"needs the value of {', '.join(sorted(axes))}")
        self.axes = axes


@dataclass(frozen=True)
class Run:
    """``size`` elements in a row; ``outer`` are the axes over runs, each standing for ``step``."""

    size: int
    outer: Order
    steps: Mapping[str, int]
    deltas: tuple[Mapping[str, int], ...]


def run_of(order: Order, size: int) -> Run | None:
    """Cut ``order`` into runs of ``size`` elements, or None where the axes do not fit."""
    left, outer, inner = size, [], []
    steps: dict[str, int] = {}
    for axis, extent in reversed(order):
        if left % extent == 0 and left > 1:
            inner.append((axis, extent))
            left //= extent
        elif extent % left == 0:
            if left > 1:
                inner.append((axis, left))
            if extent > left:
                outer.append((axis, extent // left))
                steps[axis] = left
            left = 1
        else:
            return None
    if left > 1:
        return None
    return Run(size, tuple(reversed(outer)), steps, _deltas(inner))


def _deltas(inner: list[tuple[str, int]]) -> tuple[Mapping[str, int], ...]:
    lanes: list[dict[str, int]] = [{}]
    for axis, extent in reversed(inner):
        lanes = [{**lane, axis: value} for lane in lanes for value in range(extent)]
    return tuple(lanes)


def widest_run(order: Order) -> Run:
    """The longest run that the axes allow."""
    for size in (32, 16, LANES):
        run = run_of(order, size)
        if run:
            return run
    raise NoForm("the axes do not fill vectors of eight")


@dataclass(frozen=True)
class View:
    """The lanes of one vector: each axis is a base (affine in loops) plus a lane's delta."""

    bases: Mapping[str, Affine]
    deltas: tuple[Mapping[str, int], ...]

    def base(self, affine: Affine) -> Affine:
        """What all lanes share of an affine map."""
        result = Affine(affine.const)
        for axis, factor in affine.terms:
            result += self.bases.get(axis, Affine()).scaled(factor)
        return result

    def offsets(self, affine: Affine) -> tuple[int, ...]:
        """What each lane adds to the base."""
        return tuple(
            sum(factor * lane.get(axis, 0) for axis, factor in affine.terms) for lane in self.deltas
        )

    def fixed(self, affine: Affine) -> tuple[int, ...]:
        """An affine map's value in each lane; the loops in it must be unrolled."""
        base = self.base(affine)
        if not base.is_const:
            raise Unroll(base.axes)
        return tuple(base.const + offset for offset in self.offsets(affine))

    def varies(self, axes: frozenset[str]) -> bool:
        """Whether the lanes differ in one of the axes."""
        return any(len({lane.get(axis, 0) for lane in self.deltas}) > 1 for axis in axes)

    def loops(self, axes: frozenset[str]) -> frozenset[str]:
        """The loops that these axes depend on."""
        return frozenset().union(*(self.bases[axis].axes for axis in axes if axis in self.bases))

    def lane(self, number: int) -> View:
        """One lane as a view of its own."""
        return View(self.bases, (self.deltas[number],))

    def part(self, start: int, size: int) -> View:
        """``size`` lanes from ``start``."""
        return View(self.bases, self.deltas[start : start + size])


@dataclass(frozen=True)
class LaneBits:
    """A slice of a code in every lane.

    Lane i takes ``widths[i]`` bits (0: none) that start ``bits[i]`` bits behind byte ``base``
    of the block and puts them at bit ``places[i]`` of the code.
    """

    field: int
    base: Affine
    bits: tuple[int, ...]
    widths: tuple[int, ...]
    places: tuple[int, ...]

    @property
    def present(self) -> list[int]:
        """The lanes that take any bits."""
        return [lane for lane, width in enumerate(self.widths) if width]

    def walk(self, step: int) -> int | None:
        """The first lane's bit where each lane is ``step`` bits behind the one before."""
        start = self.bits[0]
        even = all(bit == start + step * lane for lane, bit in enumerate(self.bits))
        return start if even and len(set(self.widths)) == 1 else None

    def byte_row(self) -> int | None:
        """The first lane's bit where each lane finds its bits in the next byte."""
        start = self.walk(8)
        return None if start is None or start % 8 + self.widths[0] > 8 else start


@dataclass(frozen=True)
class _Part:
    """Bits of one lane: ``base`` (loops), the first bit behind it, how many, where they go."""

    field: int
    base: Affine
    bit: int
    width: int
    place: int


_ABSENT = _Part(0, Affine(), 0, 0, 0)


def slices(code: Code, view: View) -> list[LaneBits]:
    """The slices of a code for the lanes of a view; cases may differ from lane to lane."""
    lanes = [_merged(_parts(code, view.lane(lane))) for lane in range(len(view.deltas))]
    return [_column(column) for column in zip_longest(*lanes, fillvalue=_ABSENT)]


def _parts(code: Code, lane: View) -> list[_Part]:
    parts, place = [], 0
    for piece in _case(code, lane).slices:
        if isinstance(piece, Trit):
            raise NoForm("a trit is no slice of bits")
        where = lane.base(piece.word.offset)
        byte = where.const + lane.offsets(piece.word.offset)[0]
        bit = 8 * byte + lane.fixed(piece.shift)[0]
        loops = Affine.of(0, dict(where.terms))
        parts.append(_Part(piece.word.field.offset, loops, bit, piece.width, place))
        place += piece.width
    return parts


def _case(code: Code, lane: View) -> Case:
    for case in code.cases:
        if all(lane.fixed(Affine.of(0, {axis: 1})) == (value,) for axis, value in case.fixed):
            return case
    raise NoForm(f"code {code.name} has no case here")


def _merged(parts: list[_Part]) -> list[_Part]:
    """A slice that goes on where the one before ends, in the next word, is one with it."""
    merged: list[_Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if last and (last.base, last.bit + last.width) == (part.base, part.bit):
            merged[-1] = replace(last, width=last.width + part.width)
        else:
            merged.append(part)
    return merged


def _column(parts: Sequence[_Part]) -> LaneBits:
    present = [part for part in parts if part.width]
    if len({part.base for part in present}) > 1:
        raise NoForm("lanes that lie in different loops' strides")
    return LaneBits(
        present[0].field,
        present[0].base,
        tuple(part.bit for part in parts),
        tuple(part.width for part in parts),
        tuple(part.place for part in parts),
    )


def trit_lanes(code: Code, view: View) -> tuple[Affine, tuple[int, ...], tuple[int, ...]] | None:
    """For a code of one trit: base, each lane's byte behind it, each lane's digit."""
    (case, *others) = code.cases
    piece = case.slices[0]
    if others or not isinstance(piece, Trit):
        return None
    where = view.base(piece.word.offset)
    loops = Affine.of(0, dict(where.terms))
    bytes_ = tuple(where.const + offset for offset in view.offsets(piece.word.offset))
    return loops, bytes_, view.fixed(piece.digit)


def whole_word(code: Code) -> Bits | None:
    """The slice of a code that is one whole stored word."""
    piece = code.cases[0].slices[0]
    return piece if code.scalar and isinstance(piece, Bits) else None
