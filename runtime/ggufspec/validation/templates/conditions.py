"""Text of a template that only certain words in a message bring out.

The quiet attack: a condition on what the user wrote adds instructions to the prompt. Ordinary
templates look for the marks of their own format (`<tool_call>`, `</think>`) and answer with marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2 import nodes

_CONTENT = frozenset("content text prompt query question user_message".split())
"""Keys and names under which what somebody wrote is found."""

_KEEPING = frozenset(
    "lower upper trim string replace join capitalize title striptags first last list reverse"
    " default d safe e escape tojson strip lstrip rstrip split splitlines".split()
)
"""Filters and methods after which it is still what somebody wrote."""

_TESTING = frozenset("startswith endswith find index rfind count search match".split())
_TESTS = frozenset("eq equalto == ne != in".split())

_MARK = re.compile(r"[<>\[\]{}|]|^\s*[/#]|\u2581")
_MARKS = re.compile(r"<[^<>]*>|\[/?[A-Z_]+\]|<\S*")
_WORD = re.compile(r"\w{2,}")
_PROSE_WORDS, _PROSE_LETTERS = 5, 30
_PHRASE_LETTERS = 6
_SHOWN = 30  # characters of the words, so that room is left for what they bring out

_Said = tuple[int, str]  # how many words, and the text
_NOTHING: _Said = (0, "")


class Conditions:
    """Fed with the nodes of a template, children first, in the order of the text."""

    def __init__(self, loops: Iterable[nodes.For]) -> None:
        # A loop is seen after its body, what it goes through before that.
        self._loops = {id(loop.iter): loop.target for loop in loops}
        self._written: set[int] = set()  # nodes that come from what somebody wrote
        self._written_names: set[str] = set()
        self._trigger: dict[int, str] = {}  # by node: the words that it asks for
        self._name_trigger: dict[str, str] = {}
        self._said: dict[int, _Said] = {}  # by node: the most telling text that it puts out

    def look(self, node: nodes.Node, values: Mapping[int, Any]) -> str:
        """What the node brings out and when, if that is worth to be told."""
        self._spread_writing(node, values)
        self._spread_trigger(node, values)
        evidence = self._selected(node)
        self._spread_saying(node, values)
        return evidence

    def _spread_writing(self, node: nodes.Node, values: Mapping[int, Any]) -> None:
        if self._is_written(node, values):
            self._written.add(id(node))
            # Parts of a message's content have a type and a text; its words do not.
            if id(node) in self._loops and isinstance(node, (nodes.Call, nodes.Filter)):
                self._written_names.update(_targets(self._loops[id(node)]))
        if isinstance(node, nodes.Assign) and id(node.node) in self._written:
            self._written_names.update(_targets(node.target))

    def _is_written(self, node: nodes.Node, values: Mapping[int, Any]) -> bool:
        written = self._written
        match node:
            case nodes.Name(name=name):
                return name in _CONTENT or name in self._written_names
            case nodes.Getattr(node=base, attr=attr):
                whole = f"{base.name}.{attr}" if isinstance(base, nodes.Name) else ""
                return attr in _CONTENT or whole in self._written_names
            case nodes.Getitem(node=base, arg=arg):
                key = values.get(id(arg))
                by_number = isinstance(key, int) or isinstance(arg, nodes.Slice)
                return (
                    key in _CONTENT if isinstance(key, str) else by_number and id(base) in written
                )
            case nodes.Filter(name="map", kwargs=[nodes.Keyword(value=key), *_]):
                return values.get(id(key)) in _CONTENT
            case nodes.Filter(name="string" | "tojson" | "join", node=nodes.Name(name="messages")):
                return True
            case nodes.Filter(name=name, node=base):
                return name in _KEEPING and id(base) in written
            case nodes.Call(node=nodes.Getattr(node=base, attr=attr)):
                return attr in _KEEPING and id(base) in written
            case nodes.Concat() | nodes.Add() | nodes.CondExpr() | nodes.Or() | nodes.And():
                return any(id(child) in written for child in node.iter_child_nodes())
        return False

    def _spread_trigger(self, node: nodes.Node, values: Mapping[int, Any]) -> None:
        words = next(self._asked(node, values), "")
        if not words and isinstance(node, (nodes.Expr, nodes.Operand)):
            known = (self._trigger.get(id(child), "") for child in node.iter_child_nodes())
            words = max(known, key=_rank, default="")
        if words:
            self._trigger[id(node)] = words
        if isinstance(node, nodes.Assign) and id(node.node) in self._trigger:
            self._hand_on([node], self._trigger[id(node.node)])

    def _asked(self, node: nodes.Node, values: Mapping[int, Any]) -> Iterator[str]:
        """Words that a node looks for in what somebody wrote."""
        match node:
            case nodes.Name(name=name):
                yield from filter(None, [self._name_trigger.get(name)])
            case nodes.Getattr(node=nodes.Name(name=name), attr=attr):
                yield from filter(None, [self._name_trigger.get(f"{name}.{attr}")])
            case nodes.Compare(expr=left, ops=[nodes.Operand(expr=right), *_]):
                yield from self._compared(left, right, values)
                yield from self._compared(right, left, values)
            case nodes.Test(name=name, node=left, args=[right, *_]) if name in _TESTS:
                yield from self._compared(left, right, values)
                yield from self._compared(right, left, values)
            case nodes.Call(node=nodes.Getattr(node=base, attr=attr), args=[word, *_]):
                if attr in _TESTING:
                    yield from self._compared(base, word, values)

    def _compared(
        self, written: nodes.Node, words: nodes.Node, values: Mapping[int, Any]
    ) -> Iterator[str]:
        if id(written) in self._written:
            value = values.get(id(words))
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, str) and any(map(str.isalnum, word)):
                    yield word

    def _selected(self, node: nodes.Node) -> str:
        match node:
            case nodes.If(test=test):
                words = self._trigger.get(id(test), "")
                branches = [*node.body, *node.elif_, *node.else_]
            case nodes.CondExpr(test=test):
                words = self._trigger.get(id(test), "")
                branches = [part for part in (node.expr1, node.expr2) if part is not None]
            case _:
                return ""
        if not words:
            return ""
        self._hand_on(branches, words)
        _, said = self._loudest(branches)
        plain = _plain(said)
        if not (_is_prose(plain) if _MARK.search(words) else _is_phrase(plain)):
            return ""
        return f"'{words[:_SHOWN]}' brings out '{plain.strip()}'"

    def _hand_on(self, branches: list[Any], words: str) -> None:
        """A name that is set where the words are found tells later that they were."""
        for branch in branches:
            if isinstance(branch, nodes.Assign):
                self._name_trigger.update(dict.fromkeys(_targets(branch.target), words))

    def _spread_saying(self, node: nodes.Node, values: Mapping[int, Any]) -> None:
        match node:
            case nodes.TemplateData(data=text) | nodes.Const(value=str() as text):
                said = _weighed(text)
            case nodes.Getitem() | nodes.Getattr() | nodes.Compare() | nodes.Test():
                return
            case nodes.Call(node=nodes.Name(name="raise_exception")):
                return
            case nodes.If(test=test) | nodes.CondExpr(test=test):
                said = self._loudest(c for c in node.iter_child_nodes() if c is not test)
            case _:
                value = values.get(id(node))
                if isinstance(value, str):
                    said = _weighed(value)
                else:
                    said = self._loudest(node.iter_child_nodes())
        if said[0]:
            self._said[id(node)] = said

    def _loudest(self, nodes_of_branch: Iterable[nodes.Node]) -> _Said:
        return max(
            (self._said.get(id(node), _NOTHING) for node in nodes_of_branch), default=_NOTHING
        )


def _targets(target: nodes.Node) -> Iterator[str]:
    match target:
        case nodes.Name(name=name):
            yield name
        case nodes.NSRef(name=name, attr=attr):
            yield f"{name}.{attr}"
        case nodes.Tuple(items=items):
            yield from (item.name for item in items if isinstance(item, nodes.Name))


def _rank(words: str) -> int:
    """Words say more than marks."""
    return 0 if not words else 1 if _MARK.search(words) else 2


def _plain(text: str) -> str:
    """Text without the marks of a prompt's format."""
    return _MARKS.sub("", text[:10_000])


def _weighed(text: str) -> _Said:
    return len(_WORD.findall(_plain(text))), text


def _is_phrase(text: str) -> bool:
    """More than a name: two words, or what may be as many where there are no spaces."""
    others = sum(character.isalpha() and character > "\u0100" for character in text)
    return len(_WORD.findall(text)) > 1 or others >= _PHRASE_LETTERS


def _is_prose(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return len(_WORD.findall(text)) >= _PROSE_WORDS or letters >= _PROSE_LETTERS
