"""Regular expressions over tensor names: those of ECMAScript, which llama-quantize takes.

A match is looked for with sets of places, never by going back: the set of places that are
reached before an element gives the set behind it. Sets are integers, a bit a place. Only whether
there is a match is asked for, so that greedy and lazy are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

_MOST_STEPS = 100_000
"""Rounds of repeats that a name is worth; names of models take some hundreds."""

_DEEPEST = 50
"""Groups within groups."""

_DIGITS = 9
"""Digits of a repeat's bounds."""

_CONTROLS = {"0": "\0", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_HEX = {"x": 2, "u": 4}

Holds = Callable[[str], bool]


@dataclass
class _Name:
    """A name of which every byte is a character, and the places of each."""

    text: str
    places: Mapping[str, int]
    found: dict[object, int] = field(default_factory=dict)
    steps: int = 0

    def where(self, holds: Holds) -> int:
        """The places of characters that are meant."""
        if holds not in self.found:
            some = (places for char, places in self.places.items() if holds(char))
            self.found[holds] = sum(some)
        return self.found[holds]

    def step(self) -> None:
        """Count a round of a repeat; ValueError where they are too many."""
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise ValueError(f"the search in {self.text!r:.60} takes too long")


Element = Callable[[_Name, int], int]
"""From the places before an element to those behind it."""


@dataclass(frozen=True)
class Pattern:
    """A regular expression; ``pattern`` is its text."""

    pattern: str
    element: Element = field(repr=False, compare=False)

    def search(self, name: str) -> bool:
        """Whether it is found anywhere in a name; ValueError where that takes too long."""
        text = _bytes(name)
        try:
            return bool(self.element(_Name(text, _places(text)), (2 << len(text)) - 1))
        except ValueError as error:
            raise ValueError(f"{self.pattern!r:.80}: {error}") from None


@cache
def pattern_of(text: str) -> Pattern:
    """The expression that a text is; ValueError says why it is none."""
    parser = _Parser(_bytes(text))
    element = parser.alternatives()
    if parser.left:
        raise ValueError("a ) without its (")
    return Pattern(text, element)


@lru_cache(maxsize=1)  # recipes look for all patterns in a name before the next one
def _places(text: str) -> Mapping[str, int]:
    places: dict[str, int] = {}
    for place, char in enumerate(text):
        places[char] = places.get(char, 0) | 1 << place
    return places


def _bytes(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _ascii(holds: Holds) -> Holds:
    return lambda char: char.isascii() and holds(char)


_CLASSES: dict[str, Holds] = {
    "alnum": _ascii(str.isalnum),
    "alpha": _ascii(str.isalpha),
    "blank": lambda char: char in " \t",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "d": _ascii(str.isdigit),
    "digit": _ascii(str.isdigit),
    "graph": lambda char: "!" <= char <= "~",
    "lower": _ascii(str.islower),
    "print": lambda char: " " <= char <= "~",
    "punct": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "s": lambda char: char in " \t\n\r\f\v",
    "space": lambda char: char in " \t\n\r\f\v",
    "upper": _ascii(str.isupper),
    "w": lambda char: char == "_" or (char.isascii() and char.isalnum()),
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}


@dataclass
class _Parser:
    """A place in the text of an expression."""

    text: str
    at: int = 0
    depth: int = 0

    @property
    def left(self) -> bool:
        return self.at < len(self.text)

    def take(self, text: str) -> bool:
        """Go on behind a text, if it is next."""
        if not self.text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def next(self) -> str:
        if not self.left:
            raise ValueError("it ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def alternatives(self) -> Element:
        """What stands between | up to a ) or the end."""
        some = [self.sequence()]
        while self.take("|"):
            some.append(self.sequence())
        return some[0] if len(some) == 1 else _any_of(some)

    def sequence(self) -> Element:
        elements = []
        while self.left and self.text[self.at] not in "|)":
            element = self.element()
            while bounds := self.bounds():
                element = _repeated(element, *bounds)
            elements.append(element)
        return elements[0] if len(elements) == 1 else _in_order(elements)

    def element(self) -> Element:
        char = self.next()
        match char:
            case "(":
                return self.group()
            case "[":
                return _one(self.set())
            case "^":
                return lambda _, at: at & 1
            case "$":
                return lambda name, at: at & 1 << len(name.text)
            case ".":
                return _one(lambda char: char not in "\n\r")
            case "\\":
                return self.escape()
            case "*" | "+" | "?" | "{":
                raise ValueError(f"nothing to repeat before {self.text[self.at - 1 :]!r:.20}")
        return _literal(char)

    def group(self) -> Element:
        ahead, unless = self.take("?="), self.take("?!")
        if not (ahead or unless or self.take("?:")) and self.take("?"):
            raise ValueError(f"there is no group (?{self.text[self.at : self.at + 1]}")
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ValueError(f"more than {_DEEPEST} groups within each other")
        inner = self.alternatives()
        self.depth -= 1
        if not self.take(")"):
            raise ValueError("a ( without its )")
        return _ahead(inner, wanted=ahead) if ahead or unless else inner

    def bounds(self) -> tuple[int, int | None] | None:
        """How often the element before may come, if that is told."""
        if self.take("*"):
            bounds: tuple[int, int | None] = (0, None)
        elif self.take("+"):
            bounds = (1, None)
        elif self.take("?"):
            bounds = (0, 1)
        elif self.take("{"):
            bounds = self.counts()
        else:
            return None
        self.take("?")  # lazy: another match, but there is one or there is none
        return bounds

    def counts(self) -> tuple[int, int | None]:
        inside, closed, _ = self.text[self.at :].partition("}")
        self.at += len(inside) + 1
        low, comma, high = inside.partition(",")
        if not closed or not _count(low) or not (_count(high) or not high):
            raise ValueError(f"{{{inside:.30} is no repeat such as {{2}}, {{2,}} or {{2,4}}")
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            raise ValueError(f"{{{inside}}} repeats at least {least} and at most {most} times")
        return least, most

    def escape(self) -> Element:
        char = self.next()
        if char in "bB":
            return _boundary(wanted=char == "b")
        holds = self.class_of(char)
        return _one(holds) if holds else _literal(self.escaped(char))

    def class_of(self, char: str) -> Holds | None:
        """The class that a letter behind a backslash means."""
        if char not in "dDsSwW":
            return None
        holds = _CLASSES[char.lower()]
        return holds if char.islower() else lambda char: not holds(char)

    def escaped(self, char: str) -> str:
        """The character that one behind a backslash means."""
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in _HEX:
            digits = self.text[self.at : self.at + _HEX[char]]
            self.at += _HEX[char]
            if len(digits) < _HEX[char] or not all(map(_CLASSES["xdigit"], digits)):
                raise ValueError(f"\\{char} takes {_HEX[char]} hexadecimal digits")
            return chr(int(digits, 16))
        if char.isdigit():
            raise ValueError("references to groups are not taken")
        if char.isascii() and char.isalpha():
            raise ValueError(f"there is no \\{char}")
        return char

    def set(self) -> Holds:
        """What stands between [ and ]."""
        negative = self.take("^")
        classes: list[Holds] = []
        ranges: list[tuple[str, str]] = []
        while not self.take("]"):
            low = self.member(classes)
            if low is None:
                continue
            high: str | None = low
            if self.text[self.at : self.at + 1] == "-" and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self.member(classes)
            if high is None or high < low:
                raise ValueError(f"a range from {low!r} that does not go up")
            ranges.append((low, high))

        def holds(char: str) -> bool:
            inside = any(low <= char <= high for low, high in ranges)
            return (inside or any(one(char) for one in classes)) != negative

        return holds

    def member(self, classes: list[Holds]) -> str | None:
        """The next character of a set; None where it was a class."""
        if self.take("[:"):
            name, closed, _ = self.text[self.at :].partition(":]")
            if not closed or name not in _CLASSES:
                known = ", ".join(name for name in _CLASSES if len(name) > 1)
                raise ValueError(f"there is no class [:{name:.20}:]; there are {known}")
            self.at += len(name) + 2
            classes.append(_CLASSES[name])
            return None
        if self.take("[.") or self.take("[="):
            raise ValueError("[. .] and [= =] are not taken")
        char = self.next()
        if char != "\\":
            return char
        char = self.next()
        if holds := self.class_of(char):
            classes.append(holds)
            return None
        return "\b" if char == "b" else self.escaped(char)


def _count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _DIGITS


def _literal(char: str) -> Element:
    return lambda name, at: (at & name.places.get(char, 0)) << 1


def _one(holds: Holds) -> Element:
    return lambda name, at: (at & name.where(holds)) << 1


def _in_order(elements: list[Element]) -> Element:
    def step(name: _Name, at: int) -> int:
        for element in elements:
            if not at:
                break
            at = element(name, at)
        return at

    return step


def _any_of(elements: list[Element]) -> Element:
    def step(name: _Name, at: int) -> int:
        behind = 0
        for element in elements:
            behind |= element(name, at)
        return behind

    return step


def _repeated(element: Element, least: int, most: int | None) -> Element:
    def step(name: _Name, at: int) -> int:
        for _ in range(least):
            name.step()
            before, at = at, element(name, at)
            if at == before:  # so it stays, however often
                break
        reached = new = at
        times = least
        while new and (most is None or times < most):
            name.step()
            new = element(name, new) & ~reached
            reached |= new
            times += 1
        return reached

    return step


def _ahead(element: Element, *, wanted: bool) -> Element:
    """Places from which something follows, or does not."""

    def follows(name: _Name, place: int) -> bool:
        key = element, place
        if key not in name.found:
            name.step()
            name.found[key] = element(name, 1 << place)
        return bool(name.found[key])

    def step(name: _Name, at: int) -> int:
        places = (place for place in range(at.bit_length()) if at >> place & 1)
        return sum(1 << place for place in places if follows(name, place) == wanted)

    return step


def _boundary(*, wanted: bool) -> Element:
    word = _CLASSES["w"]

    def step(name: _Name, at: int) -> int:
        words = name.where(word)
        edges = words ^ words << 1
        return at & (edges if wanted else ~edges)

    return step
