"""The bit map that a type's spec implies, in the form that the probe finds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import expr as E
from ..affine import points
from ..bitmap import claims
from ..model import BlockType, Code, Region
from ..scalars import Scalar
from .probe import BitMap, Number


def spec_map(kind: BlockType) -> BitMap:
    """Numbers and the elements that depend on them; what no element depends on is dead."""
    numbers = [*_fields(kind)]
    for region in kind.regions:
        used = _used(region)
        for code in region.codes:
            if code.name in used:
                numbers += _digits(region, code) if code.has_digits else _codes(region, code)
    numbers.sort(key=lambda number: min(number.bits))
    alive = {bit for number in numbers for bit in number.bits}
    dead = tuple(bit for bit in range(8 * kind.bytes) if bit not in alive)
    return BitMap(kind.elements, kind.bytes, tuple(numbers), dead)


def _used(region: Region) -> set[str]:
    """Names of the fields and codes that the elements depend on."""
    lets = {let.name: let.expr for let in region.decode}
    names: set[str] = set()
    pending = [region.x]
    while pending:
        for node in E.walk(pending.pop()):
            if isinstance(node, E.CodeRef):
                names.add(node.name)
            elif isinstance(node, E.FieldRef):
                names.add(node.field.name)
            elif isinstance(node, E.LetRef):
                pending.append(lets[node.name])
    return names


def _elements(region: Region, axes: Iterable[str]) -> dict[tuple[int, ...], tuple[int, ...]]:
    """The elements at each combination of the values of some axes."""
    found: dict[tuple[int, ...], list[int]] = {}
    for number, point in enumerate(points(region.axes, region.extents)):
        found.setdefault(tuple(point[axis] for axis in axes), []).append(region.start + number)
    return {at: tuple(elements) for at, elements in found.items()}


def _fields(kind: BlockType) -> Iterator[Number]:
    for field in kind.claimed:
        touched = [
            element
            for region in kind.regions
            if field.name in _used(region)
            for element in range(region.start, region.start + region.size)
        ]
        if touched:
            bits = _meaningful(field.scalar, range(8 * field.offset, 8 * field.offset + 64))
            wide = field.scalar.bits > 8
            yield Number("float" if wide else "scale", bits, tuple(touched))


def _meaningful(scalar: Scalar, bits: Iterable[int]) -> tuple[int, ...]:
    """The bits of a word that mean something: small floats may leave some out."""
    places = tuple(bits)[: scalar.bits]
    if not scalar.is_float or scalar.bits > 8:
        return places
    values = scalar.values()
    return tuple(
        place
        for bit, place in enumerate(places)
        if any(values[v] != values[v ^ 1 << bit] for v in range(len(values)))
    )


def _codes(region: Region, code: Code) -> Iterator[Number]:
    bits: dict[tuple[tuple[str, int], ...], dict[int, int]] = {}
    for (_, word, bit), claim in claims(region, code):
        bits.setdefault(claim.at, {})[claim.bit] = 8 * word + bit
    elements = _elements(region, code.axes)
    for at, stored in bits.items():
        ordered = [stored[bit] for bit in sorted(stored)]
        places = tuple(ordered) if code.scalar is None else _meaningful(code.scalar, ordered)
        touched = elements[tuple(value for _, value in at)]
        yield Number("code" if len(touched) == 1 else "scale", places, touched)


def _digits(region: Region, code: Code) -> Iterator[Number]:
    found: dict[int, dict[int, int]] = {}
    elements = _elements(region, code.axes)
    for (_, word, digit), claim in claims(region, code):
        (element,) = elements[tuple(value for _, value in claim.at)]
        found.setdefault(word, {})[digit] = element
    for word, places in found.items():
        bits = tuple(range(8 * word, 8 * word + 8))
        yield Number("digits", bits, tuple(places[digit] for digit in sorted(places)))
