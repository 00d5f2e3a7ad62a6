"""Growing text: nested blocks, and each value computed once, as far out as its axes allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..affine import Affine

if TYPE_CHECKING:
    from .language import Language


@dataclass
class _Block:
    """One brace level: the loop axis that it runs over, its lines, the values named in it."""

    axis: str | None
    head: str
    lines: list[str] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)


State = tuple[list[_Block], dict[str, int]]


class Body:
    """The body of one function.

    ``bind`` gives a value a name at the outermost open block that runs over one of the
    value's axes; the same text in reach of an earlier name gives that name. This is the
    whole of hoisting and of common subexpressions.
    """

    def __init__(self, language: Language) -> None:
        """Start with the function's own block open."""
        self.language = language
        self._blocks = [_Block(None, "")]
        self._counts: dict[str, int] = {}

    def line(self, text: str) -> None:
        """Append a statement to the innermost block."""
        self._blocks[-1].lines.append(text)

    def open(self, head: str, axis: str | None = None) -> None:
        """Open a block, say ``for (...)``, that runs over ``axis``."""
        self._blocks.append(_Block(axis, head))

    def close(self) -> None:
        """Close the innermost block."""
        block = self._blocks.pop()
        outer = self._blocks[-1].lines
        outer.append(f"{block.head} {{".lstrip())
        outer += map(self._indented, block.lines)
        outer.append("}")

    @contextmanager
    def loops(self, order: Iterable[tuple[str, int]], *, short: bool = False) -> Iterator[None]:
        """A loop for each axis, the last one innermost (``short``: see `Language.loop`)."""
        axes = list(order)
        for axis, extent in axes:
            self.open(self.language.loop(axis, extent, short=short), axis)
        yield
        for _ in axes:
            self.close()

    def level(self, axes: Iterable[str]) -> int:
        """The innermost open block that runs over one of the axes; 0 is the function's own."""
        wanted = set(axes)
        return max((i for i, b in enumerate(self._blocks) if b.axis in wanted), default=0)

    def bind(self, ctype: str, hint: str, text: str, axes: Iterable[str]) -> str:
        """Name a value; the name is good wherever the block it went into is open."""
        for block in self._blocks:
            if text in block.values:
                return block.values[text]
        block = self._blocks[self.level(axes)]
        name = block.values[text] = self.fresh(hint)
        block.lines.append(self.language.declare(ctype, name, text))
        return name

    def first(self, line: str) -> None:
        """Put a line, once, into the function's own block."""
        if line not in self._blocks[0].lines:
            self._blocks[0].lines.append(line)

    def fresh(self, hint: str) -> str:
        """Give a name that this function has not used."""
        count = self._counts[hint] = self._counts.get(hint, 0) + 1
        return hint if count == 1 else f"{hint}_{count}"

    def mark(self) -> State:
        """Remember the body as it is."""
        return deepcopy(self._blocks), dict(self._counts)

    def reset(self, mark: State) -> None:
        """Go back to a mark: what was tried since did not fit."""
        self._blocks, self._counts = mark

    def text(self) -> str:
        """The lines of the function's own block, indented once."""
        (block,) = self._blocks
        return "\n".join(map(self._indented, block.lines))

    def _indented(self, line: str) -> str:
        return line if line.startswith("#") else self.language.indent + line


def index(affine: Affine, names: str = "i_") -> str:
    """An affine map as text, axes as variables ``i_<axis>``."""
    parts = [f"{names}{axis}" if c == 1 else f"{c} * {names}{axis}" for axis, c in affine.terms]
    if affine.const or not parts:
        parts.append(str(affine.const))
    return " + ".join(parts).replace("+ -", "- ")


def row_major(order: Iterable[tuple[str, int]]) -> Affine:
    """The place of an element among all of ``order``, the last axis fastest."""
    stride, terms = 1, {}
    for axis, extent in reversed(tuple(order)):
        terms[axis] = stride
        stride *= extent
    return Affine.of(0, terms)
