"""Conditions and numbers as Kaitai text that stays in 64 bits without a sign everywhere.

A target computes in 32 bits whatever has no cast (Rust in comparisons too), and some refuse
mixed widths, so every number, every result and both sides of a comparison get one.
"""

from __future__ import annotations

import ast

_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "/", ast.Mod: "%"
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.LtE: "<=", ast.Lt: "<", ast.Eq: "==", ast.NotEq: "!=", ast.GtE: ">=", ast.Gt: ">"
}  # fmt: skip


def number(text: str) -> str:
    """A formula in Python's words as a number of 64 bits."""
    return _number(ast.parse(text, mode="eval").body)


def truth(text: str) -> str:
    """A condition in Python's words."""
    return _truth(ast.parse(text, mode="eval").body)


def _number(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return f"({_number(left)} {_ARITHMETIC[type(op)]} {_number(right)}).as<u8>"
        case ast.IfExp(test=test, body=yes, orelse=no):
            return f"({_truth(test)} ? {_number(yes)} : {_number(no)})"
        case _:
            return f"{_place(node)}.as<u8>"


def _place(node: ast.expr) -> str:
    """A value by name; indices are small."""
    match node:
        case ast.Attribute(value=value, attr=name):
            return f"{_place(value)}.{name}"
        case ast.Subscript(value=value, slice=index):
            return f"{_place(value)}[{_index(index)}]"
        case ast.Name(id=name):
            return name
        case ast.Constant(value=int(value)):
            return str(value)
    raise ValueError(f"{ast.unparse(node)!r} cannot stand in a Kaitai expression")


def _index(node: ast.expr) -> str:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return f"{_index(left)} {_ARITHMETIC[type(op)]} {_index(right)}"
        case ast.Constant() | ast.Name(id="_index"):
            return _place(node)
        case _:
            return f"{_place(node)}.as<s4>"


def _truth(node: ast.expr) -> str:
    match node:
        case ast.BoolOp(op=op, values=values):
            joint = " and " if isinstance(op, ast.And) else " or "
            return f"({joint.join(map(_truth, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"not ({_truth(operand)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return f"{_number(left)} {_COMPARE[type(op)]} {_number(right)}"
        case _:
            return _place(node)
