"""What the constants of a template come to, as far as that is cheap to tell.

A value is text, a number, or a list of those. Nothing longer than `LONGEST` is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import nodes

LONGEST = 1024
"""Characters of a text, items of a list."""

LARGEST = 1 << 63
"""Numbers at least as large are not made."""

Values = Mapping[int, Any]

_WIDTH = re.compile(r"\d{4}|\*")  # of a format: makes long texts out of short ones


def fold(node: nodes.Node, values: Values, names: Mapping[str, Any]) -> Any:
    """The value of a node, None if it has none; `values` are those of its children, by id."""
    rule = _FOLDS.get(type(node))
    if rule is None:
        return None
    try:
        value = rule(node, values, names)
    except (ValueError, TypeError, IndexError, KeyError, AttributeError, ZeroDivisionError):
        return None  # what the template does there is an error
    return value if _is_small(value) else None


def _is_small(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < LARGEST
    return isinstance(value, (str, list)) and len(value) <= LONGEST


def _const(node: Any, values: Values, names: Any) -> Any:
    return node.value


def _name(node: Any, values: Values, names: Mapping[str, Any]) -> Any:
    return names.get(node.name)


def _getattr(node: Any, values: Values, names: Mapping[str, Any]) -> Any:
    return names.get(f"{node.node.name}.{node.attr}") if type(node.node) is nodes.Name else None


def _list(node: Any, values: Values, names: Any) -> Any:
    items = [values.get(id(item)) for item in node.items[:LONGEST]]
    return None if None in items or len(node.items) > LONGEST else items


def _concat(node: Any, values: Values, names: Any) -> Any:
    parts = [values.get(id(part)) for part in node.nodes]
    known = all(isinstance(part, (str, int)) for part in parts)
    return "".join(map(str, parts)) if known else None


def _operands(node: Any, values: Values) -> tuple[Any, Any]:
    return values.get(id(node.left)), values.get(id(node.right))


def _add(node: Any, values: Values, names: Any) -> Any:
    left, right = _operands(node, values)
    return None if left is None or right is None else left + right


def _sub(node: Any, values: Values, names: Any) -> Any:
    left, right = _operands(node, values)
    return left - right if isinstance(left, int) and isinstance(right, int) else None


def _mul(node: Any, values: Values, names: Any) -> Any:
    left, right = _operands(node, values)
    if isinstance(left, int):
        left, right = right, left
    if left is None or not isinstance(right, int):
        return None
    return left * right if isinstance(left, int) or len(left) * right <= LONGEST else None


def _pow(node: Any, values: Values, names: Any) -> Any:
    base, exponent = _operands(node, values)
    if not (isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent < 64):
        return None
    return base**exponent


def _mod(node: Any, values: Values, names: Any) -> Any:
    left, right = _operands(node, values)
    if isinstance(left, int):
        return left % right
    return _percent(left, tuple(right) if isinstance(right, list) else right)


def _percent(text: str, arguments: Any) -> str | None:
    if arguments is None or _WIDTH.search(text):
        return None
    return text % arguments


def _braces(text: str, *arguments: Any) -> str | None:
    # Only plain fields: others would reach into the arguments.
    if re.sub(r"\{\d{0,2}\}", "", text).strip("{}") == text or not re.search(r"\{[^}\d]", text):
        return text.format(*arguments)
    return None


def _getitem(node: Any, values: Values, names: Any) -> Any:
    value = values.get(id(node.node))
    if not isinstance(value, (str, list)):
        return None
    if type(node.arg) is nodes.Slice:
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        known = [None if bound is None else values[id(bound)] for bound in bounds]
        return value[slice(*known)]
    return value[values[id(node.arg)]]


def _filter(node: Any, values: Values, names: Any) -> Any:
    if node.node is None or node.kwargs or node.name not in _FILTERS:
        return None
    arguments = [values[id(part)] for part in (node.node, *node.args)]
    return None if None in arguments else _FILTERS[node.name](*arguments)


def _call(node: Any, values: Values, names: Any) -> Any:
    if type(node.node) is not nodes.Getattr or node.kwargs or node.node.attr not in _METHODS:
        return None
    arguments = [values[id(part)] for part in (node.node.node, *node.args)]
    if None in arguments or not isinstance(arguments[0], str):
        return None
    return _METHODS[node.node.attr](*arguments)


def _join(items: Sequence[Any], separator: str = "") -> str | None:
    if sum(len(str(item)) + len(separator) for item in items) > LONGEST:
        return None
    return separator.join(map(str, items))


def _replace(text: str, old: str, new: str) -> str | None:
    return None if len(text) * (len(new) + 1) > LONGEST else text.replace(old, new)


_FOLDS: Mapping[type[nodes.Node], Callable[[Any, Values, Any], Any]] = {
    nodes.Const: _const,
    nodes.Name: _name,
    nodes.Getattr: _getattr,
    nodes.List: _list,
    nodes.Tuple: _list,
    nodes.Concat: _concat,
    nodes.Add: _add,
    nodes.Sub: _sub,
    nodes.Mul: _mul,
    nodes.Pow: _pow,
    nodes.Mod: _mod,
    nodes.Neg: lambda node, values, names: -values[id(node.node)],
    nodes.Getitem: _getitem,
    nodes.Filter: _filter,
    nodes.Call: _call,
}

_FILTERS: Mapping[str, Callable[..., Any]] = {
    "format": lambda text, *arguments: _percent(text, arguments),
    "join": _join,
    "lower": str.lower,
    "upper": str.upper,
    "reverse": lambda value: value[::-1],
    "replace": _replace,
    "trim": str.strip,
    "string": str,
    "list": list,
    "first": lambda value: value[0],
    "last": lambda value: value[-1],
    "safe": lambda value: value,
}

_METHODS: Mapping[str, Callable[..., Any]] = {
    "format": _braces,
    "join": lambda separator, items: _join(items, separator),
    "lower": str.lower,
    "upper": str.upper,
    "replace": _replace,
    "strip": str.strip,
}
