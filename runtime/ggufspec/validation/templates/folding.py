"""What the constants of a template come to, as far as that is cheap to tell.

A value is text, a whole number, or a flat list of those. Nothing longer than `LONGEST` is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from jinja2 import nodes

LONGEST = 256
"""Characters of a text, items of a list."""

LARGEST = 1 << 63
"""Numbers at least as large are not made."""


class Known(NamedTuple):
    """The values of nodes, by id, and those of names that the template has set."""

    values: dict[int, Any]
    names: dict[str, Any]


_FIELDS = re.compile(r"(?:[^{}]|\{\d{0,2}\})*")
_WIDTH = re.compile(r"\d{4}|\*")  # of a format: makes long texts out of short ones


def fold(node: nodes.Node, known: Known) -> Any:
    """The value of a node whose children have been folded, None if it has none."""
    rule = _FOLDS.get(type(node))
    if rule is None:
        return None
    try:
        value = rule(node, known)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError):
        return None  # what the template does there is an error
    return value if _is_small(value) else None


def _is_small(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < LARGEST
    return isinstance(value, (str, list)) and len(value) <= LONGEST


def _const(node: Any, _: Known) -> Any:
    return node.value


def _name(node: Any, known: Known) -> Any:
    return known.names.get(node.name)


def _getattr(node: Any, known: Known) -> Any:
    return (
        known.names.get(f"{node.node.name}.{node.attr}") if type(node.node) is nodes.Name else None
    )


def _list(node: Any, known: Known) -> Any:
    items = [known.values.get(id(item)) for item in node.items[:LONGEST]]
    flat = all(isinstance(item, (str, int)) for item in items)
    return items if flat and len(node.items) <= LONGEST else None


def _concat(node: Any, known: Known) -> Any:
    parts = [known.values.get(id(part)) for part in node.nodes]
    whole = all(isinstance(part, (str, int)) for part in parts)
    return "".join(map(str, parts)) if whole else None


def _operands(node: Any, known: Known) -> tuple[Any, Any]:
    return known.values.get(id(node.left)), known.values.get(id(node.right))


def _add(node: Any, known: Known) -> Any:
    left, right = _operands(node, known)
    return None if left is None or right is None else left + right


def _sub(node: Any, known: Known) -> Any:
    left, right = _operands(node, known)
    return left - right if isinstance(left, int) and isinstance(right, int) else None


def _mul(node: Any, known: Known) -> Any:
    left, right = _operands(node, known)
    if isinstance(left, int):
        left, right = right, left
    if left is None or not isinstance(right, int):
        return None
    return left * right if isinstance(left, int) or len(left) * right <= LONGEST else None


def _pow(node: Any, known: Known) -> Any:
    base, exponent = _operands(node, known)
    if not (isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent < 64):
        return None
    return base**exponent


def _mod(node: Any, known: Known) -> Any:
    left, right = _operands(node, known)
    if isinstance(left, int):
        return left % right
    return _percent(left, tuple(right) if isinstance(right, list) else right)


def _percent(text: str, arguments: Any) -> str | None:
    if arguments is None or _WIDTH.search(text) or _length(arguments) > LONGEST:
        return None
    return str(text % arguments)


def _braces(text: str, *arguments: Any) -> str | None:
    # Other fields reach into the arguments, or make long texts.
    if not _FIELDS.fullmatch(text) or _length(arguments) * text.count("{") > LONGEST:
        return None
    return text.format(*arguments)


def _length(values: Any) -> int:
    return sum(len(str(v)) for v in values) if isinstance(values, tuple) else len(str(values))


def _getitem(node: Any, known: Known) -> Any:
    value = known.values.get(id(node.node))
    if not isinstance(value, (str, list)):
        return None
    if type(node.arg) is nodes.Slice:
        bounds = (node.arg.start, node.arg.stop, node.arg.step)
        at = [None if bound is None else known.values[id(bound)] for bound in bounds]
        return value[slice(*at)]
    return value[known.values[id(node.arg)]]


def _filter(node: Any, known: Known) -> Any:
    if node.node is None or node.kwargs or node.name not in _FILTERS:
        return None
    arguments = [known.values[id(part)] for part in (node.node, *node.args)]
    return None if None in arguments else _FILTERS[node.name](*arguments)


def _call(node: Any, known: Known) -> Any:
    if type(node.node) is not nodes.Getattr or node.kwargs or node.node.attr not in _METHODS:
        return None
    arguments = [known.values[id(part)] for part in (node.node.node, *node.args)]
    if None in arguments or not isinstance(arguments[0], str):
        return None
    return _METHODS[node.node.attr](*arguments)


def _join(items: Sequence[Any], separator: str = "") -> str | None:
    if sum(len(str(item)) + len(separator) for item in items) > LONGEST:
        return None
    return separator.join(map(str, items))


def _replace(text: str, old: str, new: str) -> str | None:
    return None if len(text) * (len(new) + 1) > LONGEST else text.replace(old, new)


_FOLDS: Mapping[type[nodes.Node], Callable[[Any, Known], Any]] = {
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
    nodes.Neg: lambda node, known: -known.values[id(node.node)],
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
    "string": lambda value: None if isinstance(value, list) else str(value),
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
