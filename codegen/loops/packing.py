"""unpack and pack: the codes of a block as integers, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from ..affine import Affine
from ..model import BlockType, Case, Code, Field, Region, Trit
from ..scalars import Scalar
from .language import Array, Language, Part
from .text import Body, index, row_major


@dataclass(frozen=True)
class Piece:
    """A code of one region, from number ``start`` of its array."""

    region: Region
    code: Code
    start: int

    @property
    def extents(self) -> dict[str, int]:
        """The extents of the code's axes."""
        return {axis: self.region.extents[axis] for axis in self.code.axes}


def arrays(kind: BlockType) -> tuple[Array, ...]:
    """What ``unpack`` gives: single fields first, then codes, as in the NumPy back end.

    A code of several regions is one flat array, the regions one behind the other.
    """
    made: dict[str, Array] = {}
    for field in kind.claimed:
        scalar = field.scalar
        made[field.name] = Array(field.name, scalar, field.counts, scalar.low, scalar.high, 0)
    for piece in pieces(kind):
        code = piece.code
        shape = tuple(piece.extents.values())
        if len(kind.regions) > 1:
            shape = (piece.start + _product(shape),)
        made[code.name] = Array(code.name, code.scalar, shape, code.low, code.high, 0)
    placed, start = [], 0
    for array in made.values():
        placed.append(replace(array, start=start))
        start += array.count
    return tuple(placed)


def pieces(kind: BlockType) -> list[Piece]:
    """Every code of every region, and where its numbers begin."""
    made: list[Piece] = []
    starts: dict[str, int] = {}
    for region in kind.regions:
        for code in region.codes:
            piece = Piece(region, code, starts.get(code.name, 0))
            starts[code.name] = piece.start + _product(piece.extents.values())
            made.append(piece)
    return made


def unpack(kind: BlockType, language: Language, head: Iterable[str] = ()) -> str:
    """The body of the loop over blocks: ``src`` at a block, into its arrays."""
    body = _started(language, head)
    by_name = {array.name: array for array in arrays(kind)}
    for field in kind.claimed:
        array = by_name[field.name]
        with body.loops(_order(field)):
            word = language.load(field.scalar.bits, "src", index(_offset(field)))
            part = Part(word, 0, field.scalar.bits)
            element = _element(language, array, field)
            body.line(language.keep(element, array, [part], field.scalar))
    for piece in pieces(kind):
        array = by_name[piece.code.name]
        for case in piece.code.cases:
            with _loops(body, piece, case, array) as element:
                parts, scalar = _slices(language, piece.code, case)
                body.line(language.keep(element, array, parts, scalar))
    return body.text()


def pack(kind: BlockType, language: Language, head: Iterable[str] = ()) -> str:
    """The body of the loop over blocks: ``dst`` at a block, from its arrays."""
    body = _started(language, head)
    by_name = {array.name: array for array in arrays(kind)}
    body.line(language.clear(kind))
    for field in kind.claimed:
        element = _element(language, by_name[field.name], field)
        with body.loops(_order(field)):
            body.line(language.store_word(field.scalar.bits, index(_offset(field)), element))
    for piece in pieces(kind):
        for case in piece.code.cases:
            with _loops(body, piece, case, by_name[piece.code.name]) as element:
                _put(body, case, element)
    for field in _trit_fields(kind):
        with body.loops(_order(field)):
            body.line(language.seal_trits(index(_offset(field))))
    return body.text()


def _started(language: Language, head: Iterable[str]) -> Body:
    body = Body(language)
    for line in head:
        body.line(line)
    return body


@contextmanager
def _loops(body: Body, piece: Piece, case: Case, array: Array) -> Iterator[str]:
    """The loops over a case's free axes, and the array element in them."""
    fixed = dict(case.fixed)
    place = Affine(piece.start) + row_major(piece.extents.items()).fix(fixed)
    with body.loops((axis, n) for axis, n in piece.extents.items() if axis not in fixed):
        yield body.language.element(array, index(place))


def _slices(language: Language, code: Code, case: Case) -> tuple[list[Part], Scalar | None]:
    """The slices of a code; and its scalar where that is a signed word."""
    parts, low = [], 0
    for piece in case.slices:
        bits, at = piece.word.scalar.bits, index(piece.word.offset)
        if code.scalar and code.scalar.kind == "int":
            return [Part(language.integer(code.scalar, "src", at), 0, bits)], code.scalar
        text = language.load(bits, "src", at)
        if isinstance(piece, Trit):
            text = language.trit(text, index(piece.digit))
        elif not piece.is_word:
            text = language.cut(text, bits, piece.shift, piece.width)
        parts.append(Part(text, low, piece.width))
        low += piece.width
    return parts, None


def _put(body: Body, case: Case, element: str) -> None:
    say, low = body.language, 0
    for part in case.slices:
        at, bits = index(part.word.offset), part.word.scalar.bits
        if isinstance(part, Trit):
            body.line(say.add_trit(at, element, index(part.digit)))
        elif part.is_word and not low:
            body.line(say.store_word(bits, at, element))
        else:
            body.line(say.or_bits(bits, at, element, low, part.width, part.shift))
        low += part.width


def _order(field: Field) -> list[tuple[str, int]]:
    return [(f"n{level}", count) for level, count in enumerate(field.counts)]


def _offset(field: Field) -> Affine:
    strides = {f"n{level}": stride for level, stride in enumerate(field.strides)}
    return Affine.of(field.offset, strides)


def _element(language: Language, array: Array, field: Field) -> str:
    place = "0" if field.total == 1 else index(row_major(_order(field)))
    return language.element(array, place)


def _trit_fields(kind: BlockType) -> list[Field]:
    found = {
        part.word.field.name: part.word.field
        for piece in pieces(kind)
        for case in piece.code.cases
        for part in case.slices
        if isinstance(part, Trit)
    }
    return list(found.values())


def _product(values: Iterable[int]) -> int:
    result = 1
    for value in values:
        result *= value
    return result
