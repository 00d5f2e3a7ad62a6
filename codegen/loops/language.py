"""How a language spells the loops, words and numbers of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .. import expr as E
from ..affine import Affine
from ..model import BlockType
from ..scalars import Scalar
from ..tables import Table


class Part(NamedTuple):
    """A slice of a code: its text, and where its lowest bit stands in the code."""

    text: str
    low: int
    width: int


class Language(ABC):
    """Spelling alone: every method takes texts and gives a text.

    Integers stand in the type that ``type`` names for their range, and words in the one that
    ``word_type`` names; ``load`` gives a word. A method whose result may be part of a larger
    expression puts its own parentheses around it.
    """

    indent = "    "

    # ---- structure

    @abstractmethod
    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        """The head of a loop ``i_<axis>`` from 0 to below ``extent``, without its brace.

        ``short`` says that it is the innermost one and has at most 16 turns.
        """

    @abstractmethod
    def declare(self, ctype: str, name: str, text: str) -> str:
        """The statement that names a value which never changes."""

    @abstractmethod
    def type(self, of: E.Type) -> str:
        """The type of a formula's value."""

    @abstractmethod
    def word_type(self, bits: int) -> str:
        """The type of a stored word."""

    @abstractmethod
    def store(self, place: str, value: str) -> str:
        """The statement that stores element ``place`` of the block."""

    # ---- storage; ``base`` is src (the block), row (a row's prefix) or tail (a tensor's suffix)

    @abstractmethod
    def load(self, bits: int, base: str, offset: str) -> str:
        """The unsigned word of ``bits`` bits at a byte offset."""

    @abstractmethod
    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        """The stored integer at a byte offset, in the type of its range."""

    @abstractmethod
    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        """The float that a stored word means; ``many``: one of a loop's, not one for a block."""

    @abstractmethod
    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        """``width`` bits from ``shift`` up of a word of ``bits`` bits; perhaps all of it."""

    @abstractmethod
    def trit(self, word: str, digit: str) -> str:
        """Base-3 digit ``digit`` (0 the most significant) of a byte."""

    @abstractmethod
    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        """A code of its slices, lowest first."""

    @abstractmethod
    def equal(self, axis: str, value: int) -> str:
        """The condition that a loop is at ``value``."""

    @abstractmethod
    def both(self, conditions: Sequence[str]) -> str:
        """All of the conditions."""

    @abstractmethod
    def choose(self, condition: str, yes: str, no: str) -> str:
        """One of two values; the condition is one of axes."""

    # ---- formulas

    @abstractmethod
    def literal(self, value: float, of: E.Type) -> str:
        """A number; floats are exact float32."""

    @abstractmethod
    def to_float(self, value: str, of: E.Type) -> str:
        """A value of type ``of`` rounded to float32."""

    @abstractmethod
    def negate(self, value: str, of: E.Type) -> str:
        """Minus a value."""

    @abstractmethod
    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        """``+ - *`` of two values of the result's kind; a float32 result is rounded at once."""

    @abstractmethod
    def lookup(self, table: Table, row: str, column: str | None) -> str:
        """An entry of a table; ``column`` for one of two dimensions."""

    @abstractmethod
    def bit(self, value: str, shift: str) -> str:
        """Bit ``shift`` of an integer."""

    @abstractmethod
    def sign(self, bit: str) -> str:
        """-1.0 for 1 and 1.0 for 0."""

    @abstractmethod
    def select(self, condition: str, yes: str, no: str) -> str:
        """``yes`` where an integer is not 0."""

    @abstractmethod
    def half(self, value: str) -> str:
        """The float32 of 16 bits that stand in an integer."""

    # ---- codes of a block in arrays

    @abstractmethod
    def element(self, array: Array, place: str) -> str:
        """Number ``place`` of an array of this block, to be read or assigned."""

    @abstractmethod
    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        """The statement that keeps a code of these slices.

        ``scalar``: the only slice is a whole stored word, as ``load`` or (signed) ``integer``
        gives it.
        """

    @abstractmethod
    def clear(self, kind: BlockType) -> str:
        """The statement that makes all bytes of the block 0."""

    @abstractmethod
    def store_word(self, bits: int, offset: str, element: str) -> str:
        """The statement that stores the low bits of a number as a whole word."""

    @abstractmethod
    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        """The statement that adds bits ``low`` and up of a number to a word, at ``shift``."""

    @abstractmethod
    def add_trit(self, offset: str, element: str, digit: str) -> str:
        """The statement that adds a digit to the number 0..242 that stands in a byte."""

    @abstractmethod
    def seal_trits(self, offset: str) -> str:
        """The statement that turns that number into the byte: (v * 256 + 242) div 243."""


@dataclass(frozen=True)
class Array:
    """A field or code of a block: ``count`` numbers from ``low`` to ``high``.

    ``start`` is where its numbers stand when all arrays of a block lie one behind the other;
    ``scalar`` is set for whole stored scalars, of whose floats the bits are meant.
    """

    name: str
    scalar: Scalar | None
    shape: tuple[int, ...]
    low: int
    high: int
    start: int

    @property
    def count(self) -> int:
        """Numbers for a block."""
        result = 1
        for extent in self.shape:
            result *= extent
        return result

    @property
    def is_float(self) -> bool:
        """Whether the numbers are the bits of stored floats."""
        return self.scalar is not None and self.scalar.is_float
