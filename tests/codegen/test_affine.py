"""Affine maps of axes: arithmetic, bounds and text agree with plain evaluation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ggufspec.codegen.affine import Affine, points
from ggufspec.codegen.formula import FormulaError, affine, parse

EXTENTS = {"a": 2, "b": 3, "c": 5}
NUMBERS = st.integers(-40, 40)
MAPS = st.builds(Affine.of, NUMBERS, st.dictionaries(st.sampled_from(list(EXTENTS)), NUMBERS))


@st.composite
def texts(draw: Any, depth: int = 3) -> str:
    """Formulas that are affine by construction."""
    if not depth or draw(st.booleans()):
        return str(draw(st.one_of(st.integers(0, 9), st.sampled_from(list(EXTENTS)))))
    form = draw(st.sampled_from(["{} + {}", "{} - {}", "({}) * {n}", "{n} * ({})", "-({})"]))
    parts = [draw(texts(depth - 1)) for _ in range(form.count("{}"))]
    return str(form.format(*parts, n=draw(st.integers(0, 9))))


@given(texts())
def test_text(text: str) -> None:
    made = affine(parse(text), EXTENTS)
    for point in points(EXTENTS, EXTENTS):
        assert made.at(point) == eval(text, {}, point)
    assert affine(parse(str(made)), EXTENTS) == made, "str gives a formula of the same map"


@given(MAPS)
def test_bounds_are_exact(made: Affine) -> None:
    values = [made.at(point) for point in points(EXTENTS, EXTENTS)]
    assert made.bounds(EXTENTS) == (min(values), max(values))


@given(MAPS, MAPS, NUMBERS)
def test_arithmetic(one: Affine, other: Affine, factor: int) -> None:
    for point in points(EXTENTS, EXTENTS):
        assert (one + other).at(point) == one.at(point) + other.at(point)
        assert one.scaled(factor).at(point) == one.at(point) * factor
    assert not one.scaled(0).axes, "no axis stays with a zero"
    assert (one + one.scaled(-1)) == Affine()


@given(MAPS, st.dictionaries(st.sampled_from(list(EXTENTS)), st.integers(0, 1)))
def test_fix(made: Affine, values: dict[str, int]) -> None:
    fixed = made.fix(values)
    assert not fixed.axes & set(values)
    for point in points(EXTENTS, EXTENTS):
        assert fixed.at(point) == made.at({**point, **values})


def test_points() -> None:
    assert list(points(["b", "a"], EXTENTS))[:3] == [
        {"b": 0, "a": 0},
        {"b": 0, "a": 1},
        {"b": 1, "a": 0},
    ]
    assert list(points([], EXTENTS)) == [{}]


@pytest.mark.parametrize(
    "text",
    ["a // 2", "a % 2", "a / 2", "a * b", "a * a", "a ** 2", "1 << a", "2.0 * a", "a if b else c",
     "f(a)", "a and b", "True", "~a", "a[0]", "z"],
)  # fmt: skip
def test_not_affine(text: str) -> None:
    with pytest.raises(FormulaError, match=r"is not affine|is no axis"):
        affine(parse(text), EXTENTS)
