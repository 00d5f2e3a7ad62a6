"""C's preprocessor as far as headers need it: conditions and macros, line for line.

The text that comes out has as many lines as the one that went in, so that what a parser finds in
it stands at the line that people see. Includes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .facts import UnreadError

_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<splice>\\\r?\n)
      | (?P<newline>\n)
      | (?P<space>[ \t\r\f\v]+)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)
      | (?P<other>.)""",
    re.DOTALL | re.VERBOSE,
)
_SPACE = frozenset({"space", "splice", "comment", "newline"})
"""Kinds of tokens that people do not read as words; a space may stand for a comment's lines."""
_DEEPEST = 60
"""Macros within macros."""
_MOST = 500_000
"""Words that all macros of all files may become; ggml's headers make a hundred thousand."""


class Token(NamedTuple):
    """A piece of the text, and which group of the pattern it is."""

    kind: str
    text: str


@dataclass(frozen=True)
class Macro:
    """``parameters`` is None for a macro that stands for a value."""

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    line: int

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.body).strip()


@dataclass
class Preprocessor:
    """Macros so far; ``evaluate`` gives the number of a C expression, or None."""

    evaluate: Callable[[str], int | float | None]
    macros: dict[str, Macro] = field(default_factory=dict)
    made: int = 0

    def define(self, values: Mapping[str, str]) -> None:
        """Define macros as a compiler's command line does."""
        for name, value in values.items():
            self.macros[name] = Macro(name, None, tuple(_tokens(value)), 0)

    def run(self, text: str) -> str:
        """The text without directives and comments, macros replaced."""
        made: list[str] = []
        chunk: list[Token] = []
        active: list[tuple[bool, bool]] = []  # taken now, and whether a branch was taken before
        line = 1
        for tokens in _lines(text):
            ends = _ends(tokens)
            first = next((t for t in tokens if t.kind not in _SPACE), None)
            taken = all(now for now, _ in active)
            if first and first.text == "#":
                words = [t for t in tokens if t.kind not in _SPACE]
                made += self._expanded(chunk)
                chunk = []
                self._directive(tokens, words, active, line)
                made.append("\n" * ends)
            elif taken:
                chunk += tokens
            else:
                chunk.append(Token("newline", "\n" * ends))
            line += ends
        return "".join(made + self._expanded(chunk))

    # ---- directives

    def _directive(
        self, tokens: list[Token], words: list[Token], active: list[tuple[bool, bool]], line: int
    ) -> None:
        name = words[1].text if len(words) > 1 else ""
        rest = words[2:]
        taken = all(now for now, _ in active)
        match name:
            case "if" | "ifdef" | "ifndef":
                holds = taken and self._condition(name, rest)
                active.append((holds, holds))
            case "elif" if active:
                _, before = active.pop()
                outer = all(now for now, _ in active)
                holds = outer and not before and self._condition("if", rest)
                active.append((holds, before or holds))
            case "else" if active:
                _, before = active.pop()
                active.append((not before, True))
            case "endif" if active:
                active.pop()
            case "define" if taken and rest:
                self._define(tokens, rest[0].text, line)
            case "undef" if taken and rest:
                self.macros.pop(rest[0].text, None)

    def _condition(self, name: str, rest: list[Token]) -> bool:
        if name != "if":
            return bool(rest) and (rest[0].text in self.macros) == (name == "ifdef")
        words, place = [], 0
        while place < len(rest):
            token = rest[place]
            if token.text == "defined":
                inside = [t for t in rest[place + 1 : place + 4] if t.text not in "()"]
                place += 4 if rest[place + 1 : place + 2] == [Token("other", "(")] else 2
                known = bool(inside) and inside[0].text in self.macros
                words.append(Token("number", "1" if known else "0"))
                continue
            words.append(token)
            place += 1
        plain = [Token("number", "0") if t.kind == "name" else t for t in self._expand(words, 0)]
        return bool(self.evaluate("".join(token.text for token in plain)))

    def _define(self, tokens: list[Token], name: str, line: int) -> None:
        at = next(
            place
            for place, token in enumerate(tokens)
            if token.text == name and any(t.text == "define" for t in tokens[:place])
        )
        rest = [
            token if token.kind not in _SPACE else Token("space", " ")
            for token in tokens[at + 1 :]
            if token.kind != "newline"
        ]
        parameters = None
        if rest and rest[0].text == "(":
            close = next((n for n, token in enumerate(rest) if token.text == ")"), len(rest))
            inside = "".join(token.text for token in rest[1:close])
            names = [word.strip() for word in inside.split(",") if word.strip()]
            parameters = tuple("__VA_ARGS__" if word == "..." else word for word in names)
            rest = rest[close + 1 :]
        self.macros[name] = Macro(name, parameters, tuple(rest), line)

    # ---- macros

    def _expanded(self, tokens: list[Token]) -> list[str]:
        return [token.text for token in self._expand([_blank(t) for t in tokens], 0)]

    def _expand(
        self, tokens: list[Token], depth: int, hidden: frozenset[str] = frozenset()
    ) -> list[Token]:
        if depth > _DEEPEST:
            return tokens
        if self.made > _MOST:
            raise UnreadError(f"macros expand to more than {_MOST} words")
        made: list[Token] = []
        place = 0
        while place < len(tokens):
            token = tokens[place]
            place += 1
            macro = self.macros.get(token.text) if token.kind == "name" else None
            if macro is None or macro.name in hidden:
                made.append(token)
                continue
            body = list(macro.body)
            ends = 0
            if macro.parameters is not None:
                found = _arguments(tokens, place)
                if found is None:
                    made.append(token)
                    continue
                arguments, stop = found
                ends = _ends(tokens[place:stop])
                place = stop
                body = _filled(macro, [self._expand(a, depth + 1, hidden) for a in arguments])
            made += self._expand(body, depth + 1, hidden | {macro.name})
            if ends:
                made.append(Token("newline", "\n" * ends))
        self.made += len(made) if depth else 0
        return made


def _ends(tokens: list[Token]) -> int:
    return sum(token.text.count("\n") for token in tokens if token.kind in _SPACE)


def _tokens(text: str) -> list[Token]:
    return [Token(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(text)]


def _lines(text: str) -> list[list[Token]]:
    """The tokens of each line; a line that ends in a backslash goes on."""
    lines: list[list[Token]] = [[]]
    for token in _tokens(text):
        lines[-1].append(token)
        if token.kind == "newline":
            lines.append([])
    return lines


def _blank(token: Token) -> Token:
    """Comments and line ends that are none as the space that they count for."""
    if token.kind == "comment":
        return Token("space", "\n" * token.text.count("\n") or " ")
    return Token("space", "\n") if token.kind == "splice" else token


def _arguments(tokens: list[Token], place: int) -> tuple[list[list[Token]], int] | None:
    """The arguments of a call that starts at ``place``, and where it ends; None if none does."""
    while place < len(tokens) and tokens[place].kind in {"space", "newline"}:
        place += 1
    if place == len(tokens) or tokens[place].text != "(":
        return None
    depth = 0
    arguments: list[list[Token]] = [[]]
    for stop in range(place, len(tokens)):
        token = tokens[stop]
        if token.text == "(":
            depth += 1
            if depth == 1:
                continue
        elif token.text == ")":
            depth -= 1
            if not depth:
                return arguments, stop + 1
        elif token.text == "," and depth == 1:
            arguments.append([])
            continue
        arguments[-1].append(token)
    return None


def _filled(macro: Macro, arguments: list[list[Token]]) -> list[Token]:
    """The body with the arguments in the parameters' places, without their line ends."""
    names = macro.parameters or ()
    if names and names[-1] == "__VA_ARGS__" and len(arguments) > len(names):
        rest = arguments[len(names) - 1]
        for more in arguments[len(names) :]:
            rest = [*rest, Token("other", ","), *more]
        arguments = [*arguments[: len(names) - 1], rest]
    given = dict(zip(names, arguments, strict=False))
    made: list[Token] = []
    for token in macro.body:
        if token.kind == "name" and token.text in names:
            made += [t for t in given.get(token.text, []) if "\n" not in t.text]
        elif "\n" not in token.text:
            made.append(token)
    return made
