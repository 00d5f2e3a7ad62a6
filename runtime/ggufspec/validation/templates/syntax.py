"""Chat templates as Jinja's own parser reads them; nothing is compiled, folded or run."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.ext import Extension
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

_LONGEST_NUMBER = 100  # characters: Python takes quadratic time for long ones
_NUMBERS = ("integer", "float")
_ESCAPE = re.compile(
    r"\\(?:(x[2-7][0-9A-Fa-f]|u00[2-7][0-9A-Fa-f]|U000000[2-7][0-9A-Fa-f]|N\{"
    r"|0?[4-7][0-7]|1[0-7][0-7])|.)",
    re.DOTALL,
)
"""An escape in a string; the group holds one that spells a printable ASCII character."""


class Place(int):
    """A line, counted from 1, that knows its column too: Jinja's nodes keep it as their line."""

    column = 1

    @classmethod
    def at(cls, line: int, column: int) -> Place:
        """Both counted from 1, columns in characters."""
        place = cls(line)
        place.column = column
        return place


class Parsed(NamedTuple):
    """What the parser made of a template: a tree, or the rule that says why there is none.

    `escaped` are the strings that spell plain letters as escapes.
    """

    tree: nodes.Template | None
    tokens: int
    escaped: list[tuple[Place, str]]
    rule: str = ""
    place: Place = Place(1)
    why: str = ""


class _TooLongError(Exception):
    """There are more tokens than may be looked at."""


class _Generation(Extension):
    """The tag by which transformers knows what the assistant has said; it prints its body."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """What is inside."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


_ENVIRONMENT = Environment(
    trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
)


def parse(text: str, room: int) -> Parsed:
    r"""Parse a template of at most `room` tokens, with the tags that transformers knows.

    text: with line ends of one kind, `\n`.
    """
    lexer = _Tokens(text, room)
    escaped = lexer.escaped
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes like \d, which templates may have
            parser = Parser(_ENVIRONMENT, "")
            tokens = _ENVIRONMENT.lexer.wrap(lexer)
            parser.stream = TokenStream(tokens, None, None)
            return Parsed(parser.parse(), lexer.count, escaped)
    except RecursionError:
        return Parsed(None, lexer.count, escaped, "GG1404", lexer.place)
    except _TooLongError:
        return Parsed(None, lexer.count, escaped, "GG1403", lexer.place)
    except TemplateSyntaxError as error:
        place = error.lineno if isinstance(error.lineno, Place) else lexer.place
        return Parsed(None, lexer.count, escaped, "GG1406", place, error.message or "")
    except (ValueError, RuntimeError, OverflowError) as error:
        return Parsed(None, lexer.count, escaped, "GG1406", lexer.place, str(error))


class _Tokens:
    """The tokens of a template with exact places; counts them, and stops at long ones."""

    def __init__(self, text: str, room: int) -> None:
        self.count = 0
        self.escaped: list[tuple[Place, str]] = []
        self._source = text
        self._room = room
        self._position = self._line_start = 0
        self._line = 1

    @property
    def place(self) -> Place:
        """Where the last token ends."""
        return Place.at(self._line, self._position - self._line_start + 1)

    def __iter__(self) -> Iterator[tuple[int, str, str]]:
        tokens = _ENVIRONMENT.lexer.tokeniter(self._source, None)
        while True:
            try:
                _, kind, value = next(tokens)
            except StopIteration:
                return
            except TemplateSyntaxError as error:
                error.lineno = self.place
                raise
            self.count += 1
            if self.count > self._room:
                raise _TooLongError
            # Nothing but blanks that the lexer strips lies in between.
            self._advance(self._source.find(value, self._position))
            place = self.place
            if kind in _NUMBERS and len(value) > _LONGEST_NUMBER:
                raise TemplateSyntaxError(f"a number of {len(value)} characters", place)
            if kind == "string" and any(m[1] for m in _ESCAPE.finditer(value)):
                self.escaped.append((place, value))
            yield place, kind, value
            self._advance(self._position + len(value))

    def _advance(self, position: int) -> None:
        lines = self._source.count("\n", self._position, position)
        if lines:
            self._line += lines
            self._line_start = self._source.rfind("\n", self._position, position) + 1
        self._position = position
