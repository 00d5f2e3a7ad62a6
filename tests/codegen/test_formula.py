"""Formulas: what type a text gets, and that ranges hold for every value."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ggufspec.codegen import expr as E
from ggufspec.codegen.affine import points
from ggufspec.codegen.formula import FormulaError, Scope, parse, typed
from ggufspec.codegen.model import Field
from ggufspec.codegen.scalars import Scalar
from ggufspec.codegen.tables import Table
from support.specs import real_spec

EXTENTS = {"h": 2, "l": 4}
CODES = {"q": (0, 15), "s": (-8, 7), "f": (0, 1), "w": (0, 65535)}
TABLES = {
    "grid": Table("grid", (16, 4), tuple(range(-10, 54)), ""),
    "levels": Table("levels", (16,), tuple(range(16)), ""),
}


def scope(where: str = "decode") -> Scope:
    values: dict[str, E.Node] = {
        name: E.CodeRef(E.Int(low, high), frozenset("hl"), name)
        for name, (low, high) in CODES.items()
    }
    half, double = real_spec().scalars["f16"], real_spec().scalars["f64"]
    values["d"] = E.FieldRef(E.F32, frozenset(), Field("d", half, 0))
    values["big"] = E.FieldRef(E.Float(64), frozenset(), Field("big", double, 0))
    return Scope(values, EXTENTS, TABLES, where)


@pytest.mark.parametrize(
    ("text", "kind", "axes"),
    [
        ("7", E.Int(7, 7), ""),
        ("-7", E.Int(-7, -7), ""),
        ("0.5", E.F32, ""),
        ("-0.0", E.F32, ""),
        ("q", E.Int(0, 15), "hl"),
        ("-s", E.Int(-7, 8), "hl"),
        ("q - 8", E.Int(-8, 7), "hl"),
        ("q * s", E.Int(-120, 105), "hl"),
        ("2 * q + 1", E.Int(1, 31), "hl"),
        ("d", E.F32, ""),
        ("-d", E.F32, ""),
        ("d * q", E.F32, "hl"),
        ("q + 0.5", E.F32, "hl"),
        ("big", E.Float(64), ""),
        ("levels[q]", E.Int(0, 15), "hl"),
        ("levels[7]", E.Int(0, 15), ""),
        ("grid[q, l]", E.Int(-10, 53), "hl"),
        ("grid[0, 3 - l]", E.Int(-10, 53), "l"),
        ("levels[levels[q]]", E.Int(0, 15), "hl"),
        ("bit(w, 4*l)", E.Int(0, 1), "hl"),
        ("bit(7, h)", E.Int(0, 1), "h"),
        ("sign(f)", E.F32, "hl"),
        ("sign(bit(9, l))", E.F32, "l"),
        ("select(f, 1, -3)", E.Int(-3, 1), "hl"),
        ("select(f, 0.5, 2)", E.F32, "hl"),
        ("select(bit(3, h), d, -d)", E.F32, "h"),
        ("f16(w)", E.F32, "hl"),
        ("2147483647 - q", E.Int(2147483632, 2147483647), "hl"),
    ],
)
def test_types(text: str, kind: E.Type, axes: str) -> None:
    node = typed(text, scope())
    assert node.type == kind
    assert node.axes == frozenset(axes)


@pytest.mark.parametrize(
    ("text", "where", "kind", "axes"),
    [
        ("sum(q over l)", "derived", E.Int(0, 60), "h"),
        ("sum(sum(s over l) over h)", "derived", E.Int(-64, 56), ""),
        ("d * sum(q over l)", "derived", E.F32, "h"),
        ("q <= 2", "valid", E.Bool(), "hl"),
        ("finite(d)", "valid", E.Bool(), ""),
        ("finite(f16(w))", "valid", E.Bool(), "hl"),
    ],
)
def test_types_elsewhere(text: str, where: str, kind: E.Type, axes: str) -> None:
    node = typed(text, scope(where))
    assert node.type == kind
    assert node.axes == frozenset(axes)


def test_tree_is_as_written() -> None:
    """The order of evaluation is the text's; integers become float32 where they meet one."""
    node = typed("d * q - 2 * s", scope())
    assert isinstance(node, E.Binary)
    assert node.op == "-"
    left, right = node.left, node.right
    assert isinstance(left, E.Binary)
    assert isinstance(left.right, E.Convert)
    assert isinstance(right, E.Convert)
    assert isinstance(right.arg, E.Binary)
    assert right.arg.type == E.Int(-16, 14)


@st.composite
def integer_texts(draw: Any, depth: int = 3) -> str:
    if not depth or draw(st.booleans()):
        return str(draw(st.one_of(st.integers(0, 9), st.sampled_from(["q", "s", "f", "l_"]))))
    form = draw(
        st.sampled_from(
            ["({} + {})", "({} - {})", "({} * {})", "-({})", "select(f, {}, {})", "bit(w, l)",
             "levels[q]", "grid[q, l]", "select(bit(q, l), {}, {})"]
        )
    )  # fmt: skip
    return str(form.format(*(draw(integer_texts(depth - 1)) for _ in range(form.count("{}")))))


@given(integer_texts(), st.data())
def test_ranges_hold(text: str, data: Any) -> None:
    """Whatever the codes hold, the value lies in the typed range."""
    text = re.sub(r"\bl_\b", "bit(q, l)", text)
    try:
        node = typed(text, scope())
    except FormulaError:
        assume(False)
    assert isinstance(node.type, E.Int)
    functions = {
        "bit": lambda value, number: value >> number & 1,
        "select": lambda flag, yes, no: yes if flag else no,
        "levels": TABLES["levels"].data,
        "grid": {(r, c): TABLES["grid"].data[4 * r + c] for r in range(16) for c in range(4)},
    }
    ends = {name: data.draw(st.sampled_from([low, high])) for name, (low, high) in CODES.items()}
    drawn = {name: data.draw(st.integers(low, high)) for name, (low, high) in CODES.items()}
    for point in points(EXTENTS, EXTENTS):
        for values in (ends, drawn):
            found = eval(text, {}, {**functions, **point, **values})
            assert node.type.low <= found <= node.type.high


@pytest.mark.parametrize(
    "text",
    ["", " ", "(", ")", "1 2", "q q", "q +", "* q", "lambda: 0", "q := 1", "[q]", "(q, q)", "{q}",
     "q.real", "q()", "q(1)", "bit", "bit()", "bit(q, l, 1)", "bit(x=q)", "bit(*q)", "f(q)",
     "not q", "q and q", "q if f else q", "q < 1", "q == q", "True", "None", "...", "1j", "'q'",
     "b'q'", "f'{q}'", "q # note", "q; q", "q\nq", "`q`", "q?", "$q", "é", "q\x00", "0777",
     "1if 2else 3", "9" * 400, "0x" + "f" * 900, "1e400", "-1e39", "q @ q", "q ** 2", "q // 2",
     "q % 2", "q << 1", "~q", "await q", "yield q", "levels[q:1]", "levels[q, l]", "grid[q][l]",
     "levels[d]", "levels[-1]", "levels[s]", "grid[q, h + 3]", "grid[q, q]", "bit(q, q)",
     "bit(s, 0)", "bit(q, 4)", "bit(d, 0)", "sign(q)", "sign(d)", "select(q, 1, 2)", "f16(q)",
     "f16(d)", "big + 1", "-big", "select(f, big, 1)", "sum(q over l)", "finite(d)", "h", "h * d",
     "levels", "w * w * 9", "d + w * 1000", "-" * 60 + "q", "(" * 250 + "q" + ")" * 250,
     "+".join("q" * 600)],
)  # fmt: skip
def test_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        typed(text, scope())


@given(st.text(max_size=40))
def test_any_text(text: str) -> None:
    """No text does more than make a node or a FormulaError."""
    with suppress(FormulaError):
        typed(text, scope())


def test_length_is_bounded() -> None:
    with pytest.raises(FormulaError, match="1000 is the limit"):
        parse("q" * 1001)


def test_small_floats() -> None:
    """Every byte of the scale formats, against the formats' own definitions."""
    e8m0h = Scalar("e", "float", 8, exponent=8, bias=128, subnormals=False)
    assert e8m0h.values() == [2.0 ** (e - 128) for e in range(256)]
    ue4m3h = real_spec().scalars["ue4m3h"]
    for stored, value in enumerate(ue4m3h.values()):
        e, m = stored >> 3 & 15, stored & 7
        expected = m / 8 * 2.0**-7 if e == 0 else (1 + m / 8) * 2.0 ** (e - 8)
        assert value == (0.0 if stored == 0x7F else expected), stored
    signed = Scalar("s", "float", 8, sign=True, exponent=4, mantissa=3, bias=7)
    assert signed.value(0x80 | 0x38) == -1.0
    assert signed.value(0x38) == 1.0
