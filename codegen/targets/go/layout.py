"""Go expressions laid out as gofmt lays them out: blanks around operators depend on their depth.

The rules are those of go/printer (binaryExpr, cutoff, diffPrec): an operator has blanks where its
precedence is below the cutoff of the whole expression it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s*(0x[0-9a-fA-F]+(?:p[-+]?\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    r"|[A-Za-z_][A-Za-z0-9_.]*|&\^|<<|>>|==|!=|<=|>=|&&|\|\||[-+*/%&|^<>!()\[\]:,])"
)
_PRECEDENCE = {
    **dict.fromkeys(("||",), 1),
    **dict.fromkeys(("&&",), 2),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), 3),
    **dict.fromkeys(("+", "-", "|", "^"), 4),
    **dict.fromkeys(("*", "/", "%", "<<", ">>", "&", "&^"), 5),
}
_UNARY, _HIGHEST = 6, 7
_ASSIGN = re.compile(r"(.*?) (:=|=|\|=|\+=) (.*)", re.DOTALL)


@dataclass(frozen=True)
class _Node:
    """A leaf, or what ``kind`` names: unary, binary, paren, call, index, slice."""

    kind: str
    text: str
    parts: tuple[_Node | None, ...] = ()

    @property
    def precedence(self) -> int:
        return _PRECEDENCE[self.text] if self.kind == "binary" else _HIGHEST


def statement(text: str) -> str:
    """An assignment or a call, laid out."""
    assigned = _ASSIGN.fullmatch(text)
    if assigned:
        left, operator, right = assigned.groups()
        return f"{expression(left)} {operator} {expression(right)}"
    return expression(text)


def expression(text: str) -> str:
    """An expression by itself, laid out."""
    return _print(_Parser(text).whole(), 0, 1)


class _Parser:
    """Precedence climbing over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"no Go expression: {text!r} at {at}")
            self.tokens.append(found[1])
            at = found.end()
        self.at = 0

    def whole(self) -> _Node:
        node = self.binary(1)
        if self.at != len(self.tokens):
            raise ValueError(f"no Go expression: {self.tokens}")
        return node

    def binary(self, least: int) -> _Node:
        left = self.unary()
        while _PRECEDENCE.get(self.peek(), 0) >= least:
            operator = self.take()
            left = _Node("binary", operator, (left, self.binary(_PRECEDENCE[operator] + 1)))
        return left

    def unary(self) -> _Node:
        if self.peek() in ("-", "+", "!", "^", "&", "*"):
            return _Node("unary", self.take(), (self.unary(),))
        return self.postfix()

    def postfix(self) -> _Node:
        if self.peek() == "(":
            self.take()
            node = _Node("paren", "", (self.binary(1),))
            self.take(")")
        else:
            node = _Node("leaf", self.take())
        while self.peek() in ("(", "["):
            node = self.call(node) if self.take() == "(" else self.brackets(node)
        return node

    def call(self, function: _Node) -> _Node:
        arguments: list[_Node] = []
        while self.peek() != ")":
            arguments.append(self.binary(1))
            if self.peek() == ",":
                self.take()
        self.take(")")
        return _Node("call", "", (function, *arguments))

    def brackets(self, base: _Node) -> _Node:
        low = None if self.peek() == ":" else self.binary(1)
        if self.peek() == "]":
            self.take()
            return _Node("index", "", (base, low))
        self.take(":")
        high = None if self.peek() == "]" else self.binary(1)
        self.take("]")
        return _Node("slice", "", (base, low, high))

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise ValueError(f"{wanted or 'more'} expected in {self.tokens}")
        self.at += 1
        return token


def _print(node: _Node | None, least: int, depth: int) -> str:
    if node is None:
        return ""
    if node.kind == "binary":
        return _binary(node, least, depth)
    if node.kind == "unary":
        return node.text + _print(node.parts[0], _UNARY, depth)
    if node.kind == "paren":
        return f"({_print(node.parts[0], 0, max(depth - 1, 1))})"
    if node.kind == "call":
        function, *arguments = node.parts
        inner = depth + (len(arguments) > 1)
        listed = ", ".join(_print(argument, 0, inner) for argument in arguments)
        return f"{_print(function, _HIGHEST, inner)}({listed})"
    if node.kind == "index":
        return f"{_print(node.parts[0], _HIGHEST, 1)}[{_print(node.parts[1], 0, depth + 1)}]"
    if node.kind == "slice":
        return _slice(node.parts, depth)
    return node.text


def _slice(parts: Sequence[_Node | None], depth: int) -> str:
    base, low, high = parts
    binaries = any(part is not None and part.kind == "binary" for part in (low, high))
    blank = " " if depth <= 1 and low is not None and high is not None and binaries else ""
    bounds = f"{_print(low, 0, depth + 1)}{blank}:{blank}{_print(high, 0, depth + 1)}"
    return f"{_print(base, _HIGHEST, 1)}[{bounds}]"


def _binary(node: _Node, least: int, depth: int) -> str:
    own = node.precedence
    if own < least:
        return f"({_print(node, 0, max(depth - 1, 1))})"
    left, right = node.parts
    blank = " " if own < _cutoff(node, depth) else ""
    first = _print(left, own, depth + (left is None or left.precedence != own))
    return f"{first}{blank}{node.text}{blank}{_print(right, own + 1, depth + 1)}"


def _cutoff(node: _Node, depth: int) -> int:
    fours, fives, most = _operators(node)
    if most:
        return most + 1
    if fours and fives:
        return 5 if depth == 1 else 4
    return 6 if depth == 1 else 4


def _operators(node: _Node) -> tuple[bool, bool, int]:
    """Whether operators of precedence 4 and 5 are seen, and where two would read as one."""
    own, (left, right) = node.precedence, node.parts
    fours, fives, most = own == 4, own == 5, 0
    inner = [left] if left is not None and own <= left.precedence < _HIGHEST else []
    inner += [right] if right is not None and own < right.precedence < _HIGHEST else []
    for part in inner:
        more = _operators(part)
        fours, fives, most = fours or more[0], fives or more[1], max(most, more[2])
    if right is not None and right.kind == "unary":
        pair = node.text + right.text
        if pair in ("/*", "&&", "&^"):
            most = 5
        elif pair in ("++", "--"):
            most = max(most, 4)
    return fours, fives, most
