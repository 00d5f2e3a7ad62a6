"""Float formulas in eight lanes: one C operation for each of the formula's.

What to do is read off the layout: bits by where they lie (gather, planes), small tables by
their size, signs as flips of the sign bit, values that all lanes share as broadcasts. A
formula that nothing here fits raises NoForm, and the portable loops serve.
"""

from __future__ import annotations

from dataclasses import replace

from ... import expr as E
from ...affine import Affine
from ...model import Code
from ...tables import Table
from . import storage as S
from .context import Lanes
from .gather import BLOCK, SIGN
from .integers import integer
from .lanes import LANES, slices, whole_word
from .scalars import scalar
from .storage import literal, plus
from .tables import CTable


def element(lanes: Lanes) -> str:
    """The region's x."""
    x = lanes.context.region.x
    code = few_values(lanes)
    if code is None:
        return real(lanes, x)
    values = real(replace(lanes, chosen=code.name), x)
    table = lanes.bind("f32x8", "values", values, _axes_without(lanes, x, code))
    return f"lookup4({table}, {integer(lanes, code_ref(code), 'low')})"


def code_ref(code: Code) -> E.CodeRef:
    """A code as formulas refer to it."""
    return E.CodeRef(E.Int(code.low, code.high), frozenset(code.axes), code.name)


# ---- few values


def few_values(lanes: Lanes) -> Code | None:
    """The only thing in x that differs between lanes, if it has at most 4 values.

    Then x has 4 values too: they are computed once and looked up.
    """
    names = _varying(lanes, lanes.context.region.x)
    if names is None or len(names) != 1:
        return None
    code = lanes.code(names.pop())
    return code if code.width <= 2 and code.low == 0 and not code.is_float else None


def _varying(lanes: Lanes, node: E.Node) -> set[str] | None:
    """Codes that differ between lanes; None when something else does."""
    node = lanes.context.resolved(node)
    if not lanes.varies(node):
        return set()
    if isinstance(node, E.CodeRef):
        return {node.name}
    if lanes.view.varies(_own_axes(node)):
        return None
    found: set[str] = set()
    for child in E.children(node):
        inner = _varying(lanes, child)
        if inner is None:
            return None
        found |= inner
    return found


def _own_axes(node: E.Node) -> frozenset[str]:
    """Axes that a node uses itself, beside its parts'."""
    if isinstance(node, E.Lookup) and node.column:
        return node.column.axes
    return node.shift.axes if isinstance(node, E.Bit) else frozenset()


def _axes_without(lanes: Lanes, node: E.Node, code: Code) -> frozenset[str]:
    """The axes of a formula in which ``code`` stands for its values."""
    node = lanes.context.resolved(node)
    if isinstance(node, E.CodeRef):
        return frozenset() if node.name == code.name else node.axes
    parts = [_axes_without(lanes, child, code) for child in E.children(node)]
    return _own_axes(node).union(*parts)


# ---- formulas


def real(lanes: Lanes, node: E.Node) -> str:
    """A float node as f32x8."""
    staged = lanes.staged(node)
    if staged:
        return lanes.bind("f32x8", "v", f"splat({staged})", node.axes)
    match node:
        case E.LetRef(name=name):
            text = real(lanes, lanes.context.let(name))
            shared = not lanes.varies(node) and not lanes.chosen
            return lanes.bind("f32x8", f"v_{name}", text, node.axes) if shared else text
        case E.Literal(value=value):
            return lanes.context.constant("f32x8", f"splat({literal(float(value))})")
        case E.FieldRef():
            return _field(lanes, node)
        case E.CodeRef(name=name):
            return _code(lanes, lanes.code(name), node)
        case E.Half(arg=arg):
            text = f"splat(half_value((uint16_t){scalar(lanes, arg)}))"
            return lanes.bind("f32x8", "v", text, node.axes)
        case E.Convert(arg=arg):
            return _converted(lanes, arg)
        case _:
            return _computed(lanes, node)


def _computed(lanes: Lanes, node: E.Node) -> str:
    match node:
        case E.Negate(arg=arg):
            return f"-{real(lanes, arg)}"
        case E.Binary(op="*", left=other, right=E.Sign(arg=flag)):
            return f"flip({real(lanes, other)}, {_signs(lanes, flag)})"
        case E.Binary(op="*", left=E.Sign(arg=flag), right=other):
            return f"flip({real(lanes, other)}, {_signs(lanes, flag)})"
        case E.Binary(op=op, left=left, right=right):
            return f"({real(lanes, left)} {op} {real(lanes, right)})"
        case E.Sign(arg=flag):
            one = lanes.context.constant("f32x8", "splat(1.0f)")
            return f"flip({one}, {_signs(lanes, flag)})"
        case E.Select(cond=cond, yes=yes, no=no):
            top = integer(lanes, cond, "top")
            return f"blend({real(lanes, no)}, {real(lanes, yes)}, {top})"
    raise S.NoForm(f"{type(node).__name__} in lanes")


def _field(lanes: Lanes, node: E.FieldRef) -> str:
    field, kind = node.field, lanes.context.kind
    names = {f.name: "row" for f in kind.prefix} | {f.name: "tail" for f in kind.suffix}
    pointer = names.get(field.name, "src")
    if field.scalar.name == "f16":
        text = f"splat_half({plus(pointer, Affine(field.offset))})"
    else:
        text = f"splat({S.field_value(field, pointer)})"
    axes = {BLOCK} if pointer == "src" else set()
    return lanes.context.memory.body.bind("f32x8", f"v_{field.name}", text, axes)


def _code(lanes: Lanes, code: Code, node: E.CodeRef) -> str:
    piece = whole_word(code)
    if piece is None:
        raise S.NoForm(f"code {code.name} is no float")
    stored = piece.word.scalar
    if not lanes.varies(node):
        bits = S.load(stored, "src", lanes.at(piece.word.offset))
        text = f"splat({S.as_float(stored, bits)})"
        return lanes.bind("f32x8", f"v_{code.name}", text, node.axes)
    (part,) = slices(code, lanes.view)
    start = part.walk(piece.width)
    forms = {
        "f16": "widen_halves({})",
        "bf16": "(f32x8)left(widen_u16({}), 16)",
        "f32": "(f32x8)load_words({})",
    }
    form = forms.get(stored.name)
    if start is None or form is None:
        raise S.NoForm(f"no vector of {stored.name}")
    return form.format(plus("src", part.base + Affine(start // 8)))


def _converted(lanes: Lanes, arg: E.Node) -> str:
    if not isinstance(arg.type, E.Int):
        raise S.NoForm("64-bit floats")
    if isinstance(arg, E.Lookup) and lanes.varies(arg):
        rows = _rows_of_four(lanes, arg)
        if rows:
            return rows
    text = f"to_float({integer(lanes, arg)})"
    if lanes.varies(arg) or lanes.chosen:
        return text
    return lanes.bind("f32x8", "v", text, arg.axes)


def _rows_of_four(lanes: Lanes, node: E.Lookup) -> str | None:
    """A grid row for each four lanes: rows of floats, so that a lane group is one load."""
    halves = [lanes.view.part(at, 4) for at in (0, 4)]
    together = any(half.varies(node.row.axes) for half in halves) or not lanes.varies(node.row)
    if node.column is None or together:
        return None
    columns = lanes.view.fixed(node.column)
    if columns[:4] != columns[4:] or columns[:4] != (*range(columns[0], columns[0] + 4),):
        return None
    width, name = node.table.shape[1], f"floats_{node.table.name}"
    values = tuple(f"{value}.0f" for value in node.table.data)
    doc = f"{node.table.name} as floats: a row is one load."
    lanes.context.derived.append(CTable(name, "float", values, doc))
    at = f" + {columns[0]}" if columns[0] else ""
    rows = [f"{name} + {width}u * {scalar(lanes, node.row, lane)}{at}" for lane in (0, 4)]
    return f"join({rows[0]}, {rows[1]})"


# ---- signs


def _signs(lanes: Lanes, flag: E.Node) -> str:
    """Bit 31 where the flag is 1, no other bit."""
    match flag:
        case E.Bit(arg=E.Lookup(table=table, row=row, column=None), shift=shift):
            known = not lanes.varies(row) and table.high < 256
            if known and lanes.view.fixed(shift) == (*range(LANES),):
                return _sign_row(lanes, table, row)
    return f"top_bit({integer(lanes, flag, 'top')})"


def _sign_row(lanes: Lanes, table: Table, row: E.Node) -> str:
    """A table's bits, made sign bits beforehand: one load."""
    name = f"signs_{table.name}"
    values = tuple(
        SIGN if value >> lane & 1 else "0" for value in table.data for lane in range(LANES)
    )
    doc = f"{table.name}, each bit as the sign bit of a lane."
    lanes.context.derived.append(CTable(name, "int32_t", values, doc))
    return f"load_words({name} + {LANES}u * {scalar(lanes, row)})"
