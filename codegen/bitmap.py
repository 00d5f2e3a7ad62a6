"""The bit map of a block, and the proof: every stored bit is claimed exactly once.

This is what makes ``pack`` the exact inverse of ``unpack``, and a layout mistake a line
number instead of a wrong model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .affine import points
from .errors import YamlPath
from .expr import FieldRef, Node, children
from .model import Bits, BlockType, Code, Field, Region, Trit
from .source import Source


@dataclass(frozen=True)
class Claim:
    """One stored bit: bit ``bit`` of ``code`` at axis values ``at`` (a trit claims a digit)."""

    code: str
    bit: int
    at: tuple[tuple[str, int], ...]

    @property
    def number(self) -> str:
        """The number it is part of: ``q[h=0,l=3]``."""
        values = ",".join(f"{axis}={value}" for axis, value in self.at)
        return f"{self.code}[{values}]" if values else self.code

    def __str__(self) -> str:
        return f"bit {self.bit} of {self.number}"


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
    cut = _cut_fields(kind, source)
    seen: BitMap = {}
    for path, region, code in _codes(kind):
        for key, claim in claims(region, code):
            if key in seen:
                twice = [seen[key], claim]
                trits = cut[key[0]].form is Trit
                both = " and ".join(item.number if trits else str(item) for item in twice)
                source.fail(path, f"{_place(cut, key)} is claimed twice: by {both}")
            seen[key] = claim
    for stored in kind.fields:
        if stored.name in cut:
            _check_claimed(stored, cut[stored.name].form, seen, source)
        else:
            _check_used(kind, stored, ("fields", *stored.name.split(".")[:1]), source)
    for part, fields in (("row_prefix", kind.prefix), ("tensor_suffix", kind.suffix)):
        for stored in fields:
            _check_used(kind, stored, (part, stored.name), source)


@dataclass(frozen=True)
class _Cut:
    """A field that codes cut up, all by the same form (Bits or Trit)."""

    field: Field
    form: type[Bits | Trit]


def _codes(kind: BlockType) -> Iterator[tuple[YamlPath, Region, Code]]:
    for number, region in enumerate(kind.regions):
        for code in region.codes:
            path = ("codes", code.name) if len(kind.regions) == 1 else ("codes", number, code.name)
            yield path, region, code


def _cut_fields(kind: BlockType, source: Source) -> dict[str, _Cut]:
    """The fields that codes cut up, by name: of the block, not derived, not in two forms."""
    outside = {field.name for field in (*kind.prefix, *kind.suffix)}
    derived = {item.field.name for item in kind.derived}
    found: dict[str, _Cut] = {}
    for path, _, code in _codes(kind):
        for piece in (piece for case in code.cases for piece in case.slices):
            field, form = piece.word.field, type(piece)
            if field.name in outside:
                source.fail(path, f"{field.name} is stored once a row or tensor, not in a block")
            if field.name in derived:
                source.fail(path, f"{field.name} is derived; no code can be cut out of it")
            if found.setdefault(field.name, _Cut(field, form)).form is not form:
                source.fail(path, f"{field.name} is cut both by bits and by trits")
    return found


def _check_claimed(stored: Field, form: type[Bits | Trit], seen: BitMap, source: Source) -> None:
    path = ("fields", *stored.name.split(".")[:1])
    for at in stored.places:
        if form is Trit:
            digits = [digit for digit in range(5) if (stored.name, at, digit) in seen]
            if digits != list(range(len(digits))) or not digits:
                shown = f"the digits {', '.join(map(str, digits))}" if digits else "no digit"
                source.fail(
                    path,
                    f"{stored.word_at(at)} (byte {at}) holds {shown}; "
                    "it must hold 0, 1, ... without a gap",
                )
            continue
        for bit in range(stored.scalar.bits):
            if (stored.name, at, bit) not in seen:
                source.fail(
                    path, f"bit {bit} of {stored.word_at(at)} (byte {at}) is claimed by no code"
                )


def _check_used(kind: BlockType, stored: Field, path: YamlPath, source: Source) -> None:
    """A field that no code cuts up must be derived or stand in a formula."""
    if any(item.field.name == stored.name for item in kind.derived):
        return
    if stored.counts:
        source.fail(path, f"no code claims {stored.name}; bytes that mean nothing are pad")
    if not _used(kind, stored):
        source.fail(path, f"no formula uses {stored.name}; bytes that mean nothing are pad")


def _used(kind: BlockType, stored: Field) -> bool:
    def uses(node: Node) -> bool:
        if isinstance(node, FieldRef) and node.field.name == stored.name:
            return True
        return any(uses(child) for child in children(node))

    return any(uses(let.expr) for region in kind.regions for let in region.decode)


def _place(cut: Mapping[str, _Cut], key: tuple[str, int, int]) -> str:
    name, where, bit = key
    what = "digit" if cut[name].form is Trit else "bit"
    return f"{what} {bit} of {cut[name].field.word_at(where)} (byte {where})"
