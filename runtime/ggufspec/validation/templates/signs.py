"""Signs in the tree of a chat template: what ordinary ones do not do.

The tree is walked without recursion, each node after its children and the nodes in front of it,
so that what they come to is known.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from jinja2 import nodes

from .conditions import Conditions
from .folding import LARGEST, Known, fold
from .syntax import Place
from .text import DUNDER, PATTERNS, Sign, evidence_of

_BLOCKS = (nodes.If, nodes.For, nodes.Macro, nodes.CallBlock, nodes.FilterBlock, nodes.With)
_IMPORTS = (nodes.Import, nodes.FromImport, nodes.Include, nodes.Extends)

_INTERNAL = re.compile(
    r"(?:func_(?:globals|code|closure)|[fg]i_(?:frame|code)|(?:gi|cr|ag)_(?:frame|code|await)"
    r"|tb_frame|tb_next|f_(?:globals|builtins|locals|back|code)|im_(?:func|class|self)"
    r"|mro|popen|import_module)"
)
"""Attributes by which templates have left their sandbox; the last two are where they went."""

_GLOBALS = frozenset(
    "cycler joiner lipsum self open eval exec compile getattr setattr globals locals builtins os"
    " sys subprocess importlib import_module".split()
)
"""Jinja's own helpers that lead to Python's modules, and names of what is wanted there."""

_LENGTHENING = frozenset("center indent batch slice ljust rjust zfill expandtabs lipsum".split())
"""Filters, methods and functions that make as much text as a number asks for."""

_WIDTH = re.compile(r"%[-+ #0]*\d*\.?(\d{5,})[a-zA-Z]|\{[^{}:]{0,60}:[^{}]{0,60}?(\d{5,})[^{}]*\}")


class Limits(NamedTuple):
    """What is still ordinary: levels of tags, of loops, and rounds of constant length."""

    depth: int
    loops: int
    rounds: int


class _Scope(NamedTuple):
    """What a node is inside of."""

    depth: int = 0
    loops: int = 0
    macro: str = ""
    ranges: tuple[nodes.For, ...] = ()  # the loops, from the outermost


def tree_signs(tree: nodes.Template, limits: Limits, seen: Collection[str]) -> Iterator[Sign]:
    """All signs of a template but those that its text shows as it stands, which are `seen`."""
    order = _ordered(tree)
    own = _own_names(order)
    known = Known({}, {})
    values = known.values
    rounds: dict[int, int] = {}
    conditions = Conditions(node for node, _ in order if isinstance(node, nodes.For))
    for node, scope in order:
        value = fold(node, known)
        if value is not None:
            values[id(node)] = value
        for rule, evidence in _of_node(node, values, own, limits.rounds):
            yield _sign(rule, node, evidence)
        whole = node.value if isinstance(node, nodes.Const) else value
        if isinstance(whole, str):
            for rule, evidence in _assembled(node, whole, values, seen):
                yield _sign(rule, node, evidence)
        if isinstance(node, nodes.Call):
            rounds[id(node)] = _rounds(node, values)
        if isinstance(node, nodes.For):
            yield from _of_loop(node, scope, rounds, limits)
        if isinstance(node, _BLOCKS) and scope.depth == limits.depth + 1:
            yield _sign("GG1405", node, str(scope.depth))
        if isinstance(node, nodes.Assign):
            _assign(node, known)
        if evidence := conditions.look(node, values):
            yield _sign("GG1422", node, evidence)
    for macro in _recursive(order):
        yield _sign("GG1416", macro, f"macro {macro.name}")


def _sign(rule: str, node: nodes.Node, evidence: str) -> Sign:
    place = node.lineno
    return Sign(rule, int(place), place.column if isinstance(place, Place) else 1, evidence)


def _ordered(tree: nodes.Template) -> list[tuple[nodes.Node, _Scope]]:
    """All nodes, children first, in the order of the text."""
    order: list[tuple[nodes.Node, _Scope]] = []
    waiting: list[tuple[nodes.Node, _Scope]] = [(tree, _Scope())]
    while waiting:
        node, scope = waiting.pop()
        if isinstance(node, _BLOCKS):
            scope = scope._replace(depth=scope.depth + 1)
            if isinstance(node, nodes.For):
                scope = scope._replace(loops=scope.loops + 1, ranges=(*scope.ranges[-8:], node))
            elif isinstance(node, nodes.Macro):
                scope = scope._replace(macro=node.name)
        order.append((node, scope))
        waiting += [(child, scope) for child in node.iter_child_nodes()]
    order.reverse()
    return order


def _own_names(order: list[tuple[nodes.Node, _Scope]]) -> set[str]:
    """Names that the template itself gives a meaning."""
    own = {n.name for n, _ in order if isinstance(n, nodes.Name) and n.ctx != "load"}
    return own | {n.name for n, _ in order if isinstance(n, nodes.Macro)}


def _of_node(
    node: nodes.Node, values: Mapping[int, Any], own: set[str], most: int
) -> Iterator[tuple[str, str]]:
    """Rules that a node breaks by itself, with evidence."""
    match node:
        case nodes.Getattr(attr=name):
            if DUNDER.search(name) or _INTERNAL.fullmatch(name):
                yield "GG1410", f".{name}"
        case nodes.Getitem(arg=arg):
            key = values.get(id(arg))
            if isinstance(key, str) and _INTERNAL.fullmatch(key):
                yield "GG1410", f"[{key}]"
        case nodes.Name(name=name, ctx="load"):
            if DUNDER.search(name):
                yield "GG1410", name
            elif name in _GLOBALS and name not in own:
                yield "GG1413", name
        case nodes.Filter(name="attr", args=args):
            yield "GG1411", f"|attr({', '.join(_shown(arg, values) for arg in args)})"
        case nodes.Filter(name="map", args=[first, *_]) if values.get(id(first)) == "attr":
            yield "GG1411", "|map(attr)"
        case nodes.Import() | nodes.FromImport() | nodes.Include() | nodes.Extends():
            word = {"FromImport": "from"}.get(type(node).__name__, type(node).__name__.lower())
            yield "GG1412", f"{word} {_shown(node.template, values)}"
    yield from _long(node, values, most)


def _shown(node: nodes.Node, values: Mapping[int, Any]) -> str:
    value = values.get(id(node))
    return "..." if value is None else repr(value)


def _long(node: nodes.Node, values: Mapping[int, Any], most: int) -> Iterator[tuple[str, str]]:
    """Few characters that make many."""
    match node:
        case nodes.Mul() | nodes.Pow():
            left, right = values.get(id(node.left)), values.get(id(node.right))
            numbers = [abs(v) for v in (left, right) if isinstance(v, int)]
            if len(numbers) == 2:
                if id(node) not in values:
                    yield "GG1414", f"{left} {node.operator} {right}"
            elif numbers and numbers[0] > most:
                yield "GG1414", f"{node.operator} {numbers[0]}"
        case nodes.Call(node=nodes.Name(name="range")):
            rounds = _rounds(node, values)
            if rounds > most:
                yield "GG1414", f"range({', '.join(_shown(arg, values) for arg in node.args)})"
        case (
            nodes.Filter(name=name)
            | nodes.Call(node=nodes.Getattr(attr=name) | nodes.Name(name=name))
        ) if name in _LENGTHENING:
            given = [*node.args, *(word.value for word in node.kwargs)]
            for number in (values.get(id(part)) for part in given):
                if isinstance(number, int) and abs(number) > most:
                    yield "GG1414", f"{name}({number})"
        case nodes.Const(value=str() as text):
            for found in _WIDTH.finditer(text):
                if len(width := found[1] or found[2]) > 18 or int(width) > most:
                    yield "GG1414", found[0]


def _rounds(node: nodes.Call, values: Mapping[int, Any]) -> int:
    """How often a loop over range(...) runs, as far as constants tell; 1 for other calls."""
    if not (isinstance(node.node, nodes.Name) and node.node.name == "range"):
        return 1
    given = [values.get(id(arg)) for arg in node.args[:3]]
    numbers = [number for number in given if isinstance(number, int)]
    if numbers and len(numbers) == len(given):
        try:
            steps = range(*numbers)
        except ValueError:
            return 1
        return max(1, (steps[-1] - steps[0]) // steps.step + 1) if steps else 1
    return max((abs(number) for number in numbers), default=1)


def _of_loop(
    node: nodes.For, scope: _Scope, rounds: Mapping[int, int], limits: Limits
) -> Iterator[Sign]:
    if scope.loops == limits.loops + 1:
        yield _sign("GG1415", node, str(scope.loops))
    if node.recursive:
        yield _sign("GG1416", node, "for ... recursive")
    product = 1
    for loop in scope.ranges:
        product = min(product * rounds.get(id(loop.iter), 1), LARGEST)
    own = rounds.get(id(node.iter), 1)
    if own > 1 and product > limits.rounds >= max(own, product // own):
        yield _sign("GG1414", node, f"loops inside of loops, {product} rounds")


def _assembled(
    node: nodes.Node, value: str, values: Mapping[int, Any], seen: Collection[str]
) -> Iterator[tuple[str, str]]:
    """What the template's text does not show, but its constants come to."""
    if isinstance(node, (nodes.Name, nodes.Getattr)):
        return
    pieces = [v for v in (values.get(id(c)) for c in node.iter_child_nodes()) if v is not None]
    if (match := DUNDER.search(value)) and not any(match[0] in piece for piece in _texts(pieces)):
        yield "GG1410", match[0]
    for rule, pattern in PATTERNS.items():
        match = pattern.search(value)
        evidence = evidence_of(rule, match[0]) if match else ""
        if evidence and evidence not in seen:
            yield rule, evidence


def _texts(pieces: list[Any]) -> Iterator[str]:
    for piece in pieces:
        if isinstance(piece, list):
            yield from (item for item in piece if isinstance(item, str))
        elif isinstance(piece, str):
            yield piece


def _assign(node: nodes.Assign, known: Known) -> None:
    """Remember what a name is now, and the fields that a namespace is made with."""
    values, names = known
    match node:
        case nodes.Assign(
            target=nodes.Name(name=name),
            node=nodes.Call(node=nodes.Name(name="namespace"), kwargs=fields),
        ):
            for field in fields:
                names[f"{name}.{field.key}"] = values.get(id(field.value))
        case nodes.Assign(target=nodes.Name(name=name)):
            names[name] = values.get(id(node.node))
        case nodes.Assign(target=nodes.NSRef(name=name, attr=attr)):
            names[f"{name}.{attr}"] = values.get(id(node.node))


def _recursive(order: list[tuple[nodes.Node, _Scope]]) -> list[nodes.Macro]:
    """Macros that call themselves, maybe by way of others."""
    macros = {n.name: n for n, _ in order if isinstance(n, nodes.Macro)}
    calls: dict[str, set[str]] = {name: set() for name in macros}
    callers: dict[str, set[str]] = {name: set() for name in macros}
    for node, scope in order:
        if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and scope.macro:
            called = node.node.name
            if called in macros:
                calls[scope.macro].add(called)
                callers[called].add(scope.macro)
    for there, back in ((calls, callers), (callers, calls)):
        _strip(there, back)
    return [macro for name, macro in macros.items() if calls[name]]


def _strip(there: dict[str, set[str]], back: dict[str, set[str]]) -> None:
    """Take out, again and again, those from which no way leads on."""
    ends = [name for name, onward in there.items() if not onward]
    while ends:
        end = ends.pop()
        for name in back[end]:
            there[name].discard(end)
            if not there[name]:
                ends.append(name)
        back[end] = set()
