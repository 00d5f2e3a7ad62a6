"""Integer-affine maps of named axes: ``c0 + c1*axis1 + ...``.

The language's one idea: an index, shift or digit that is affine is a strided view in
NumPy, a loop nest with constant strides in C, a closed form anywhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True)
class Affine:
    """``const + sum(coefficient * axis)``; terms sorted by axis name, none zero."""

    const: int = 0
    terms: tuple[tuple[str, int], ...] = ()

    @staticmethod
    def of(const: int, terms: Mapping[str, int]) -> Affine:
        return Affine(const, tuple(sorted((a, c) for a, c in terms.items() if c)))

    @property
    def axes(self) -> frozenset[str]:
        return frozenset(axis for axis, _ in self.terms)

    @property
    def is_const(self) -> bool:
        return not self.terms

    def coefficient(self, axis: str) -> int:
        return dict(self.terms).get(axis, 0)

    def __add__(self, other: Affine) -> Affine:
        terms = dict(self.terms)
        for axis, factor in other.terms:
            terms[axis] = terms.get(axis, 0) + factor
        return Affine.of(self.const + other.const, terms)

    def scaled(self, factor: int) -> Affine:
        return Affine.of(self.const * factor, {a: c * factor for a, c in self.terms})

    def fix(self, values: Mapping[str, int]) -> Affine:
        """The map with some axes set to values."""
        const = self.const + sum(c * values[a] for a, c in self.terms if a in values)
        return Affine.of(const, {a: c for a, c in self.terms if a not in values})

    def at(self, values: Mapping[str, int]) -> int:
        return self.const + sum(c * values[a] for a, c in self.terms)

    def bounds(self, extents: Mapping[str, int]) -> tuple[int, int]:
        """Smallest and largest value over all axis values (exact)."""
        low = high = self.const
        for axis, factor in self.terms:
            span = factor * (extents[axis] - 1)
            low, high = (low + span, high) if span < 0 else (low, high + span)
        return low, high

    def __str__(self) -> str:
        parts = [axis if c == 1 else f"{c}*{axis}" for axis, c in self.terms]
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts)


def points(axes: Iterable[str], extents: Mapping[str, int]) -> Iterable[dict[str, int]]:
    """Every combination of the axes' values, the last axis fastest."""
    names = list(axes)
    for values in product(*(range(extents[name]) for name in names)):
        yield dict(zip(names, values, strict=True))
