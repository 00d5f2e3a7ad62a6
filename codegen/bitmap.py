"""The bit map of a block, and the proof: every stored bit is claimed exactly once.

This is what makes ``pack`` the exact inverse of ``unpack``, and a layout mistake a line
number instead of a wrong model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .affine import points
from .expr import FieldRef, Node, children
from .model import Bits, BlockType, Code, Field, Region, Trit
from .source import Source


@dataclass(frozen=True)
class Claim:
    """One stored bit: bit ``bit`` of ``code`` at axis values ``at`` (a trit claims a digit)."""

    code: str
    bit: int
    at: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        values = ",".join(f"{axis}={value}" for axis, value in self.at)
        return f"{self.code}[{values}].{self.bit}" if values else f"{self.code}.{self.bit}"


BitMap = dict[tuple[str, int, int], Claim]
"""(field name, byte offset of the word, bit or trit digit) -> what it is."""


def claims(region: Region, code: Code) -> Iterator[tuple[tuple[str, int, int], Claim]]:
    """Every stored bit of a code, with what it is."""
    extents = region.extents
    for case in code.cases:
        fixed = dict(case.fixed)
        free = [axis for axis in code.axes if axis not in fixed]
        for point in points(free, extents):
            values = {**fixed, **point}
            at = tuple((axis, values[axis]) for axis in code.axes)
            low = 0
            for piece in case.slices:
                where = piece.word.offset.at(values)
                if isinstance(piece, Trit):
                    yield (
                        (piece.word.field.name, where, piece.digit.at(values)),
                        Claim(code.name, 0, at),
                    )
                    continue
                shift = piece.shift.at(values)
                for bit in range(piece.width):
                    key = piece.word.field.name, where, shift + bit
                    yield key, Claim(code.name, low + bit, at)
                low += piece.width


def bit_map(kind: BlockType) -> BitMap:
    """All claims of a proved type."""
    return dict(
        item for region in kind.regions for code in region.codes for item in claims(region, code)
    )


def prove(kind: BlockType, source: Source) -> None:
    """Raise SpecError unless every stored bit is claimed exactly once."""
    seen: BitMap = {}
    owner: dict[str, set[type]] = {}
    for number, region in enumerate(kind.regions):
        for code in region.codes:
            path: tuple[str | int, ...] = ("codes", code.name)
            if len(kind.regions) > 1:
                path = ("codes", number, code.name)
            forms = {type(piece) for case in code.cases for piece in case.slices}
            for case in code.cases:
                for piece in case.slices:
                    owner.setdefault(piece.word.field.name, set()).update(forms)
                    if any(piece.word.field.name == f.name for f in (*kind.prefix, *kind.suffix)):
                        source.fail(
                            path, f"{piece.word.field.name} is stored once a row, not a block"
                        )
            for key, claim in claims(region, code):
                if key in seen:
                    source.fail(path, f"{_place(key)} is claimed twice: {seen[key]} and {claim}")
                seen[key] = claim
    for stored in kind.fields:
        _covered(kind, stored, owner.get(stored.name), seen, source)


def _covered(
    kind: BlockType, stored: Field, forms: set[type] | None, seen: BitMap, source: Source
) -> None:
    path = ("fields", *stored.name.split(".")[:1])
    if forms is None:
        derived = any(item.field.name == stored.name for item in kind.derived)
        if stored.counts and not derived:
            source.fail(path, f"no code claims {stored.name}; bytes that mean nothing are pad")
        if not derived and not _used(kind, stored):
            source.fail(path, f"no formula uses {stored.name}; bytes that mean nothing are pad")
        return
    if forms == {Trit, Bits}:
        source.fail(path, f"{stored.name} is claimed by bits and by trits")
    axes = [(str(level), count) for level, count in enumerate(stored.counts)]
    for point in points([name for name, _ in axes], dict(axes)):
        at = stored.offset + sum(
            point[str(level)] * stride for level, stride in enumerate(stored.strides)
        )
        if forms == {Trit}:
            digits = sorted(
                digit for name, where, digit in seen if (name, where) == (stored.name, at)
            )
            if digits != list(range(len(digits))) or not digits:
                source.fail(
                    path, f"byte {at} of {stored.name} holds the digits {digits}, not 0, 1, ..."
                )
            continue
        for bit in range(stored.scalar.bits):
            if (stored.name, at, bit) not in seen:
                source.fail(path, f"{_place((stored.name, at, bit))} is claimed by no code")


def _used(kind: BlockType, stored: Field) -> bool:
    def uses(node: Node) -> bool:
        if isinstance(node, FieldRef) and node.field.name == stored.name:
            return True
        return any(uses(child) for child in children(node))

    return any(uses(let.expr) for region in kind.regions for let in region.decode)


def _place(key: tuple[str, int, int]) -> str:
    name, where, bit = key
    return f"bit {bit} of {name} at byte {where}"
