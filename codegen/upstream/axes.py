"""Positions that follow from an element's number: the axes in which they are affine.

The spec's language splits an element's number into named axes, so that every index and shift is a
sum of integer * axis. This finds such a split for places that were only observed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Slice:
    """``width`` bits of word ``index`` of a field, from bit ``shift`` up; or a base-3 digit."""

    field: str
    index: int
    shift: int
    width: int
    digit: bool = False

    @property
    def form(self) -> tuple[str, int, bool]:
        return self.field, self.width, self.digit


@dataclass(frozen=True)
class Family:
    """Numbers of one kind, in order of the elements: each governs ``size`` elements in a row.

    items: the slices of each number, low bits first.
    """

    name: str
    size: int
    items: tuple[tuple[Slice, ...], ...]


@dataclass(frozen=True)
class Split:
    """Strides, in items, between which places are affine; ``case`` where the form changes."""

    strides: tuple[int, ...]
    case: int | None = None


def split(items: Sequence[tuple[Slice, ...]]) -> Split | None:
    """The axes of a family; None where its places follow no rule of the language."""
    whole = _affine(items)
    if whole is not None:
        return Split(whole)
    count = len(items)
    for parts in (2, 4, 8):
        if count % parts:
            continue
        step = count // parts
        found: set[int] = set()
        for start in range(0, count, step):
            inner = _affine(items[start : start + step])
            if inner is None:
                break
            found |= set(inner)
        else:
            return Split(tuple(sorted(found | {step})), step)
    return None


def _affine(items: Sequence[tuple[Slice, ...]]) -> tuple[int, ...] | None:
    """Strides of axes, the innermost (1) first."""
    forms = {tuple(piece.form for piece in slices) for slices in items}
    if len(forms) != 1:
        return None
    vectors = [tuple(n for piece in slices for n in (piece.index, piece.shift)) for slices in items]
    strides, stride = [], 1
    while len(vectors) > 1:
        extent = _run(vectors)
        if extent < 2:
            return None
        strides.append(stride)
        stride *= extent
        vectors = vectors[::extent]
    return tuple(strides) or (1,)


def _run(vectors: list[Vector]) -> int:
    """The longest axis whose steps are alike everywhere."""
    count = len(vectors)
    step = _minus(vectors[1], vectors[0])
    for extent in range(count, 1, -1):
        if count % extent:
            continue
        alike = all(
            _minus(vectors[place + 1], vectors[place]) == step
            for place in range(count - 1)
            if (place + 1) % extent
        )
        if alike:
            return extent
    return 1


def _minus(a: Vector, b: Vector) -> Vector:
    return tuple(x - y for x, y in zip(a, b, strict=True))


# ---- the spec's words


@dataclass(frozen=True)
class Proposal:
    """``order`` and ``codes`` of a type file; lists of them for a block of several regions."""

    orders: tuple[dict[str, int], ...]
    codes: tuple[dict[str, object], ...]


_LETTERS = "abceghkmnpsuvw"
"""Names for axes; the last axis is l, or j."""


def propose(
    families: Sequence[Family], elements: int, taken: set[str], widths: dict[str, int]
) -> Proposal | None:
    """Axes for all families together, and each family's slices in them.

    taken: names that fields have. widths: bits of each field's words.
    """
    splits = [split(family.items) for family in families]
    strides = {1, elements}
    for family, found in zip(families, splits, strict=True):
        if found is None or family.size * len(family.items) != elements:
            return None
        strides |= {stride * family.size for stride in found.strides}
        strides |= {family.size, family.size * found.case} if found.case else {family.size}
    steps = sorted(strides)
    if any(b % a for a, b in pairwise(steps)):
        return None
    extents = [b // a for a, b in pairwise(steps)][::-1]
    names = _names(len(extents), taken | {family.name for family in families})
    axes = dict(zip(names, extents, strict=True))
    at = dict(zip(names, steps[:-1][::-1], strict=True))
    codes: dict[str, object] = {}
    for family, found in zip(families, splits, strict=True):
        assert found is not None
        codes[family.name] = _code(family, found, axes, at, widths)
    return Proposal((axes,), (codes,))


def regions(
    digits: Sequence[Slice], name: str, taken: set[str], widths: dict[str, int]
) -> Proposal | None:
    """A block whose elements are digits: as few runs of them as have axes."""
    orders: list[dict[str, int]] = []
    codes: list[dict[str, object]] = []
    start = 0
    while start < len(digits):
        for stop in range(len(digits), start, -1):
            family = Family(name, 1, tuple((piece,) for piece in digits[start:stop]))
            if stop - start > 1 and _affine(family.items) is None:
                continue
            made = propose([family], stop - start, taken, widths)
            if made is not None:
                orders += made.orders
                codes += made.codes
                start = stop
                break
        else:
            return None
    return Proposal(tuple(orders), tuple(codes))


def _names(count: int, taken: set[str]) -> list[str]:
    free = [letter for letter in _LETTERS if letter not in taken]
    last = next(letter for letter in "lj" if letter not in taken)
    return [*free[: count - 1], last] if count else []


def _code(
    family: Family, found: Split, axes: dict[str, int], at: dict[str, int], widths: dict[str, int]
) -> object:
    own = {axis: at[axis] // family.size for axis in axes if at[axis] >= family.size}
    if found.case is None:
        return _listed([_text(family, own, {}, n, widths) for n in range(len(family.items[0]))])
    outer = [axis for axis, stride in own.items() if stride >= found.case]
    inner = {axis: stride for axis, stride in own.items() if axis not in outer}
    cases: dict[str, object] = {}
    for number in range(len(family.items) // found.case):
        left, fixed = number * found.case, {}
        for axis in outer:
            fixed[axis] = left // own[axis]
            left %= own[axis]
        item = sum(fixed[axis] * own[axis] for axis in outer)
        label = ",".join(f"{axis}={value}" for axis, value in fixed.items())
        slices = range(len(family.items[item]))
        cases[label] = _listed([_text(family, inner, {"": item}, n, widths) for n in slices])
    return cases


def _text(
    family: Family, own: dict[str, int], base: dict[str, int], number: int, widths: dict[str, int]
) -> str:
    """One slice of a code as the spec writes it."""
    start = base.get("", 0)
    first = family.items[start][number]
    steps = {
        axis: family.items[start + stride][number]
        for axis, stride in own.items()
        if start + stride < len(family.items)
    }
    index = _sum(first.index, {axis: piece.index - first.index for axis, piece in steps.items()})
    shift = _sum(first.shift, {axis: piece.shift - first.shift for axis, piece in steps.items()})
    word = f"{first.field}[{index}]" if widths[f"{first.field}[]"] else first.field
    if first.digit:
        return f"trit({word}, {shift})"
    if first.width == widths[first.field]:
        return word
    return f"bits({word}, {shift}, {first.width})"


def _sum(const: int, factors: dict[str, int]) -> str:
    parts = [axis if n == 1 else f"{n}*{axis}" for axis, n in factors.items() if n]
    if const or not parts:
        parts.insert(0, str(const))
    return " + ".join(parts).replace("+ -", "- ")


def _listed(texts: list[str]) -> object:
    return texts[0] if len(texts) == 1 else texts
