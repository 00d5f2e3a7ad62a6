"""Formulas of the spec: text to typed expressions, through a white list.

Python's own parser reads the text; what is not on the list below is refused with a
sentence. No text of any target language passes through the spec.
"""

from __future__ import annotations

import ast
import math
import re
import struct
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from . import expr as E
from .affine import Affine
from .tables import Table

EXACT = 1 << 24
"""Integers of at most this magnitude become float32 without rounding."""


_TEXT = re.compile(r"[\w .,+*/%@&|^~<>=!()\[\]-]*", re.ASCII)
_LONGEST = 1000
_DEEPEST = 50
"""Characters and levels of a formula; the host's parser has limits too, but less clear ones."""


class FormulaError(ValueError):
    """What is wrong in a formula; the caller knows file and line."""


@dataclass(frozen=True)
class Scope:
    """What names mean: values by name, axes with extents, tables."""

    values: Mapping[str, E.Node]
    extents: Mapping[str, int]
    tables: Mapping[str, Table]
    where: str = "decode"
    """``decode``, ``derived`` (may sum) or ``valid`` (a condition)."""


def parse(text: str) -> ast.expr:
    """The syntax tree of one formula (``sum(v over a)`` becomes ``sum(v, a)``)."""
    source = str(text).strip()
    if len(source) > _LONGEST:
        raise FormulaError(f"a formula of {len(source)} characters; {_LONGEST} is the limit")
    if not _TEXT.fullmatch(source):
        stray = next(letter for letter in source if not _TEXT.fullmatch(letter))
        raise FormulaError(f"{stray!r} has no place in a formula: {source!r}")
    replaced = 1
    while replaced:
        source, replaced = re.subn(r"\bsum\((.+?)\s+over\s+(\w+)\)", r"sum(\1, \2)", source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise FormulaError(f"not a formula: {text!r}") from None
    if _depth(tree) > _DEEPEST:
        raise FormulaError(f"a formula nested deeper than {_DEEPEST} levels")
    return tree


def _depth(tree: ast.AST) -> int:
    level, depth = [tree], 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def affine(node: ast.expr, extents: Mapping[str, int]) -> Affine:
    """An index, shift or digit; anything that is not integer-affine in axes is refused."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Affine(value)
        case ast.Name(id=name):
            if name not in extents:
                known = ", ".join(extents) or "none"
                raise FormulaError(f"{name!r} is no axis (axes here: {known})")
            return Affine.of(0, {name: 1})
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return affine(operand, extents).scaled(-1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return affine(left, extents) + affine(right, extents)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return affine(left, extents) + affine(right, extents).scaled(-1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            a, b = affine(left, extents), affine(right, extents)
            if a.is_const:
                return b.scaled(a.const)
            if b.is_const:
                return a.scaled(b.const)
    raise FormulaError(
        f"{ast.unparse(node)!r} is not affine: only sums of integer * axis + integer "
        "(split an axis instead of dividing)"
    )


def typed(text: str, scope: Scope) -> E.Node:
    """The typed expression of a formula in a scope."""
    return _Builder(scope).build(parse(text))


_ARITY = {"bit": 2, "sign": 1, "select": 3, "f16": 1, "sum": 2, "finite": 1}
_OPS: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.LtE: "<=", ast.Lt: "<", ast.Eq: "==", ast.NotEq: "!=", ast.GtE: ">=", ast.Gt: ">"
}  # fmt: skip


def to_float(node: E.Node) -> E.Node:
    """``node`` as float32; integers must be exact there."""
    match node.type:
        case E.Float(bits=32):
            return node
        case E.Int(low=low, high=high):
            if max(-low, high) > EXACT:
                raise FormulaError(
                    f"an integer up to {max(-low, high)} is not exact in float32 (2^24 is)"
                )
            return E.Convert(E.F32, node.axes, node)
        case E.Bool():
            raise FormulaError("a condition is no number")
    raise FormulaError("a 64-bit float can only be an element as it is (x: name)")


class _Builder:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def build(self, node: ast.expr) -> E.Node:
        match node:
            case ast.Constant(value=value):
                return _literal(value)
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _negate(self.build(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPS:
                return _binary(_OPS[type(op)], self.build(left), self.build(right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return self._compare(_COMPARE[type(op)], left, right)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                return self._lookup(name, index)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args)
        raise FormulaError(
            f"{ast.unparse(node)!r} is not part of the formula language "
            f"(+ - *, table[code], {', '.join(_ARITY)})"
        )

    def _name(self, name: str) -> E.Node:
        if name in self.scope.values:
            return self.scope.values[name]
        if name in self.scope.extents:
            raise FormulaError(f"axis {name!r} can stand only in a table index or bit number")
        known = ", ".join(self.scope.values)
        raise FormulaError(f"unknown name {name!r} (known: {known})")

    def _compare(self, op: str, left: ast.expr, right: ast.expr) -> E.Node:
        if self.scope.where != "valid":
            raise FormulaError("a comparison can stand only in valid")
        a, b = self.build(left), self.build(right)
        stored = isinstance(b, E.Literal) and isinstance(b.type, E.Int)
        if not stored or not isinstance(a, E.CodeRef | E.FieldRef):
            raise FormulaError("a comparison takes a code or field and an integer")
        return E.Compare(E.Bool(), a.axes, op, a, b)

    def _lookup(self, name: str, index: ast.expr) -> E.Node:
        table = self.scope.tables.get(name)
        if table is None:
            known = ", ".join(self.scope.tables) or "none"
            raise FormulaError(f"unknown table {name!r} (tables: {known})")
        parts = list(index.elts) if isinstance(index, ast.Tuple) else [index]
        if len(parts) != len(table.shape):
            raise FormulaError(
                f"table {name} takes {counted(len(table.shape), 'index', 'indices')}, "
                f"not {len(parts)}"
            )
        row = self.build(parts[0])
        if not isinstance(row.type, E.Int):
            raise FormulaError(f"the index of table {name} must be an integer")
        if row.type.low < 0 or row.type.high >= table.shape[0]:
            raise FormulaError(
                f"index {row.type.low}..{row.type.high} leaves table {name} "
                f"of {table.shape[0]} entries"
            )
        column, axes = None, row.axes
        if len(parts) == 2:
            column = affine(parts[1], self.scope.extents)
            low, high = column.bounds(self.scope.extents)
            if low < 0 or high >= table.shape[1]:
                raise FormulaError(
                    f"column {low}..{high} leaves the {table.shape[1]} columns of table {name}"
                )
            axes |= column.axes
        return E.Lookup(E.Int(table.low, table.high), axes, table, row, column)

    def _call(self, name: str, args: list[ast.expr]) -> E.Node:
        if name not in _ARITY:
            raise FormulaError(f"unknown function {name!r} (known: {', '.join(_ARITY)})")
        if len(args) != _ARITY[name]:
            raise FormulaError(f"{name} takes {counted(_ARITY[name], 'argument')}, not {len(args)}")
        match name:
            case "bit":
                return self._bit(*args)
            case "sign":
                cond = self._flag(args[0])
                if isinstance(cond, E.Literal):
                    return _literal(-1.0 if cond.value else 1.0)
                return E.Sign(E.F32, cond.axes, cond)
            case "select":
                return self._select(*args)
            case "f16":
                arg = self.build(args[0])
                if not isinstance(arg.type, E.Int) or (arg.type.low, arg.type.high) != (0, 65535):
                    raise FormulaError("f16 takes a 16-bit code")
                return E.Half(E.F32, arg.axes, arg)
            case "sum":
                return self._sum(*args)
            case _:
                arg = self.build(args[0])
                if self.scope.where != "valid" or not isinstance(arg.type, E.Float):
                    raise FormulaError("finite takes a float, in valid")
                return E.Finite(E.Bool(), arg.axes, arg)

    def _bit(self, value: ast.expr, number: ast.expr) -> E.Node:
        arg, shift = self.build(value), affine(number, self.scope.extents)
        if not isinstance(arg.type, E.Int) or arg.type.low < 0:
            raise FormulaError("bit takes an integer that is not negative")
        low, high = shift.bounds(self.scope.extents)
        if low < 0 or high >= max(arg.type.high.bit_length(), 1):
            raise FormulaError(
                f"bit {low}..{high} leaves a number of {counted(arg.type.high.bit_length(), 'bit')}"
            )
        if isinstance(arg, E.Literal) and shift.is_const:
            return _literal(int(arg.value) >> shift.const & 1)
        return E.Bit(E.Int(0, 1), arg.axes | shift.axes, arg, shift)

    def _flag(self, value: ast.expr) -> E.Node:
        arg = self.build(value)
        if not isinstance(arg.type, E.Int) or arg.type.low < 0 or arg.type.high > 1:
            raise FormulaError(f"{ast.unparse(value)!r} must be a single bit (0 or 1)")
        return arg

    def _select(self, flag: ast.expr, yes: ast.expr, no: ast.expr) -> E.Node:
        cond, p, q = self._flag(flag), self.build(yes), self.build(no)
        axes = cond.axes | p.axes | q.axes
        if isinstance(cond, E.Literal):
            raise FormulaError(f"{ast.unparse(flag)!r} is the same for every element")
        if isinstance(p.type, E.Int) and isinstance(q.type, E.Int):
            kind = E.Int(min(p.type.low, q.type.low), max(p.type.high, q.type.high))
            return E.Select(kind, axes, cond, p, q)
        return E.Select(E.F32, axes, cond, to_float(p), to_float(q))

    def _sum(self, value: ast.expr, axis: ast.expr) -> E.Node:
        if self.scope.where != "derived":
            raise FormulaError("sum can stand only in derived")
        arg = self.build(value)
        if not isinstance(axis, ast.Name) or axis.id not in self.scope.extents:
            raise FormulaError("sum(value over axis) needs an axis")
        if not isinstance(arg.type, E.Int):
            raise FormulaError("sum takes integers")
        count = self.scope.extents[axis.id]
        kind = E.Int(arg.type.low * count, arg.type.high * count)
        return E.Sum(kind, arg.axes - {axis.id}, arg, axis.id)


def _literal(value: object) -> E.Node:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FormulaError(f"{value!r} is not a number")
    if isinstance(value, int):
        if not -(1 << 31) <= value < 1 << 32:
            raise FormulaError(f"{value} does not fit 32 bits")
        return E.Literal(E.Int(value, value), frozenset(), value)
    try:
        nearest = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        nearest = math.inf
    if math.isinf(nearest):
        raise FormulaError(f"{value!r} is too large for a float32")
    if nearest != value:
        raise FormulaError(f"{value!r} is not exactly a float32; the nearest is {nearest!r}")
    return E.Literal(E.F32, frozenset(), value)


def _negate(arg: E.Node) -> E.Node:
    match arg:
        case E.Literal(value=value):
            return _literal(-value)
        case E.Node(type=E.Int(low=low, high=high)):
            return E.Negate(_int32(-high, -low), arg.axes, arg)
        case E.Node(type=E.Float(bits=32)):
            return E.Negate(E.F32, arg.axes, arg)
    return _negate(to_float(arg))


def _binary(op: str, left: E.Node, right: E.Node) -> E.Node:
    axes = left.axes | right.axes
    if isinstance(left.type, E.Int) and isinstance(right.type, E.Int):
        kind = _int_range(op, left.type, right.type)
        if isinstance(left, E.Literal) and isinstance(right, E.Literal):
            return _literal(kind.low)
        return E.Binary(kind, axes, op, left, right)
    return E.Binary(E.F32, axes, op, to_float(left), to_float(right))


def _int_range(op: str, a: E.Int, b: E.Int) -> E.Int:
    match op:
        case "+":
            ends = [a.low + b.low, a.high + b.high]
        case "-":
            ends = [a.low - b.high, a.high - b.low]
        case _:
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return _int32(min(ends), max(ends))


def _int32(low: int, high: int) -> E.Int:
    """The range of a result: every target computes in 32 bits with a sign."""
    if low < -(1 << 31) or high >= 1 << 31:
        raise FormulaError(f"integers {low}..{high} do not fit 32 bits with a sign")
    return E.Int(low, high)


def counted(number: int, one: str, many: str = "") -> str:
    """``1 index``, ``2 indices``."""
    return f"{number} {one if number == 1 else many or one + 's'}"
