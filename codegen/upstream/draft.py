"""A skeleton of a type file: what a source says of it, and what its bits were seen to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from ..blocks import load_type
from ..errors import SpecError
from ..source import parse_yaml
from ..spec import Spec
from .axes import Family, Proposal, Slice, propose, regions
from .facts import Facts, StructField, TypeFacts, UnreadError
from .library import Library, LibraryError
from .probe import BitMap, Number, StoredFloat, base_blocks, probe
from .specmap import spec_map

_SCALARS = {
    "uint8_t": "u8", "int8_t": "i8", "uint16_t": "u16", "int16_t": "i16", "uint32_t": "u32",
    "int32_t": "i32", "int64_t": "i64", "float": "f32", "double": "f64", "ggml_half": "f16",
    "ggml_half2": "u32", "char": "i8",
}  # fmt: skip
_BYTES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "f16": 2, "u32": 4, "i32": 4, "f32": 4, "i64": 8,
          "f64": 8}  # fmt: skip
_ONE = {"f16": b"\x00\x3c", "f32": b"\x00\x00\x80\x3f"}
_LONGEST_CODE = 6
"""Bits of a code whose values are all tried."""
_SIGNS = 16
"""Blocks that are looked at for a scale of each sign."""


@dataclass(frozen=True)
class Stored:
    """A field of the draft."""

    name: str
    scalar: str
    count: int | None
    offset: int

    @property
    def width(self) -> int:
        return _BYTES[self.scalar]

    @property
    def size(self) -> int:
        return self.width * (1 if self.count is None else self.count)

    @property
    def text(self) -> str:
        return self.scalar if self.count is None else f"'{self.scalar}[{self.count}]'"


@dataclass(frozen=True)
class Draft:
    """The type file's text; ``map`` is what the probe found, ``lines`` draw it."""

    name: str
    text: str
    map: BitMap | None
    lines: tuple[str, ...]
    proposal: Proposal | None
    proved: bool
    levels: str
    notes: tuple[str, ...]


def draft(spec: Spec, name: str, facts: Facts, library: Library | None = None) -> Draft:
    """The skeleton of a type, with the probe's findings where a library is given.

    Raises UnreadError where the source has no such type, or its sizes are not told.
    """
    types = {known.upper(): kind for known, kind in (facts.types or {}).items()}
    if name.upper() not in types:
        known = ", ".join(types)
        raise UnreadError(f"{facts.name} has no type {name.upper()}; it has {known}")
    kind = types[name.upper()]
    theirs = library.named(kind.name) if library is not None else None
    elements = kind.elements or (theirs.elements if theirs else None)
    size = kind.bytes or (theirs.bytes if theirs else None)
    if not elements or not size:
        raise UnreadError(f"{facts.name} does not say how large a block of {kind.name} is")
    fields = _fields(kind, size)
    notes = []
    found = levels = None
    if library is not None:
        found, levels, reason = _probed(library, kind, elements, size, fields)
        if reason:
            notes.append(reason)
    proposal = _proposal(found, fields) if found else None
    proved = (
        proposal is not None
        and found is not None
        and _proved(spec, kind, elements, size, fields, proposal, found)
    )
    lines = tuple(picture(found, fields)) if found else ()
    text = _text(kind, elements, size, fields, lines, proposal if proved else None, levels or "")
    return Draft(kind.name, text, found, lines, proposal, proved, levels or "", tuple(notes))


def _fields(kind: TypeFacts, size: int) -> tuple[Stored, ...]:
    """The struct's members as fields; a block without a struct is bytes."""
    members = kind.fields or (StructField("data", "uint8_t", size),)
    made, at = [], 0
    for member in members:
        scalar = _SCALARS.get(member.ctype)
        if member.bits is not None:
            raise UnreadError(f"{kind.name}.{member.name} is a bit-field: describe it by hand")
        if scalar is None:
            raise UnreadError(f"{kind.name}.{member.name} is a {member.ctype}: describe it by hand")
        made.append(Stored(member.name, scalar, member.count, at))
        at += made[-1].size
    if at != size:
        raise UnreadError(f"the members of {kind.name} fill {at} of {size} bytes")
    return tuple(made)


def _floats(fields: Sequence[Stored]) -> list[StoredFloat]:
    return [
        StoredFloat(field.offset + number * field.width, field.scalar)
        for field in fields
        if field.scalar in _ONE
        for number in range(field.count or 1)
    ]


def _probed(
    library: Library, kind: TypeFacts, elements: int, size: int, fields: Sequence[Stored]
) -> tuple[BitMap | None, str, str]:
    """The bit map, what the levels of a code are, and why there is none."""
    theirs = library.named(kind.name)
    if theirs is None:
        return None, "", f"the library has no type {kind.name}: nothing was probed"
    if not theirs.decodes:
        return None, "", f"the library does not decode {kind.name}: nothing was probed"
    if (theirs.elements, theirs.bytes) != (elements, size):
        return None, "", (
            f"the library's {kind.name} has {theirs.elements} weights in {theirs.bytes} bytes, the "
            f"source's {elements} in {size}: nothing was probed"
        )  # fmt: skip

    def decode(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
        return library.dequantize(theirs.id, blocks)

    try:
        found = probe(decode, elements, size, _floats(fields))
        return found, _levels(decode, found, fields), ""
    except LibraryError as error:
        return None, "", f"the library could not be probed: {error}"


def _levels(
    decode: Callable[[NDArray[np.uint8]], NDArray[np.float32]],
    found: BitMap,
    fields: Sequence[Stored],
) -> str:
    """What the values of the first element's code are, with stored floats of one."""
    code = next((n for n in found.numbers if n.kind in {"code", "digits"}), None)
    if code is None or len(code.bits) > _LONGEST_CODE + 2:
        return ""
    bases = base_blocks(found.bytes, _floats(fields), _SIGNS, 1)
    values = _every_code(decode, bases[0], code, fields)
    if code.kind == "digits":
        shown = [float(v) for v in np.unique(values)]
        return f"an element takes {', '.join(f'{v:g}' for v in shown)}"
    if not np.isfinite(values).all():
        return ""
    scaled = any(number.kind in {"scale", "index"} for number in found.numbers)
    for word, steps in (("code", np.diff(values)), ("signed code", np.diff(_signed(values)))):
        if len(steps) and np.allclose(steps, steps[0], rtol=1e-6, atol=0) and steps[0]:
            zero = values[0] / steps[0]
            shift = f"({word} {'+' if zero > 0 else '-'} {abs(zero):g})" if zero else word
            return f"x is affine in the {word}" if scaled else f"x = {steps[0]:g} * {shift}"
    if scaled:
        others = [_every_code(decode, base, code, fields) for base in bases]
        values = _upright([one for one in others if np.isfinite(one).all()])
    if len(values) > 1 << _LONGEST_CODE:
        return "neither affine nor a short codebook"
    least = min((abs(v) for v in values if v), default=1.0) if scaled else 1.0
    return "a codebook: " + ", ".join(f"{v / least:g}" for v in values)


def _every_code(
    decode: Callable[[NDArray[np.uint8]], NDArray[np.float32]],
    block: NDArray[np.uint8],
    code: Number,
    fields: Sequence[Stored],
) -> NDArray[np.float64]:
    """The first element that the code governs, for each value of the code."""
    block = block.copy()
    for one in _floats(fields):
        stored = np.frombuffer(_ONE[one.scalar], np.uint8)
        block[one.offset : one.offset + len(stored)] = stored
    blocks = np.repeat(block[None], 1 << len(code.bits), axis=0)
    for value, line in enumerate(blocks):
        for place, bit in enumerate(code.bits):
            line[bit // 8] &= 0xFF ^ 1 << bit % 8
            line[bit // 8] |= (value >> place & 1) << bit % 8
    return decode(blocks)[:, code.elements[0]].astype(np.float64)


def _upright(found: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """The values at a scale that is not zero, and positive.

    Where scales turn the sign, nothing tells which of the two is meant: codebooks rise.
    """
    seen = [values for values in found if values.any()] or list(found)
    largest = [values[np.argmax(np.abs(seen[0]))] for values in seen]
    if min(largest) < 0 < max(largest):
        return next((one for one in seen if one[-1] > one[0]), seen[0])
    return seen[0]


def _signed(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values in the order of two's complement, the most negative first."""
    return np.roll(values, len(values) // 2)


# ---- proposals


def _slices(number: Number, fields: Sequence[Stored]) -> tuple[Slice, ...]:
    """The runs of a number's bits in words of the fields, low bits first."""
    made: list[Slice] = []
    for bit in number.bits:
        field = next(f for f in fields if f.offset <= bit // 8 < f.offset + f.size)
        inside = bit - 8 * field.offset
        index, shift = divmod(inside, 8 * field.width)
        last = made[-1] if made else None
        if last and (last.field, last.index, last.shift + last.width) == (field.name, index, shift):
            made[-1] = Slice(last.field, index, last.shift, last.width + 1)
        else:
            made.append(Slice(field.name, index, shift, 1))
    return tuple(made)


def families(found: BitMap, fields: Sequence[Stored]) -> list[Family] | None:
    """Numbers of one kind together: the elements' codes, then what governs sub-blocks."""
    codes = {n.elements[0]: n for n in found.numbers if n.kind == "code"}
    if any(number.kind in {"index", "digits"} for number in found.numbers):
        return None
    made = []
    if codes:
        if sorted(codes) != list(range(found.elements)):
            return None
        items = tuple(_slices(codes[element], fields) for element in range(found.elements))
        made.append(Family("q", 1, items))
    scales = [number for number in found.numbers if number.kind == "scale"]
    groups: dict[tuple[int, ...], list[Number]] = {}
    for number in scales:
        groups.setdefault(number.elements, []).append(number)
    ordered = sorted(groups.items())
    depth = {len(members) for members in groups.values()}
    sizes = {len(elements) for elements in groups}
    if scales and (len(depth) != 1 or len(sizes) != 1):
        return None
    size = sizes.pop() if sizes else 0
    for place, (elements, _) in enumerate(ordered):
        if elements != tuple(range(place * size, (place + 1) * size)):
            return None
    names = _scale_names(depth.pop() if depth else 0)
    for place, name in enumerate(names):
        items = tuple(
            _slices(sorted(members, key=lambda n: min(n.bits))[place], fields)
            for _, members in ordered
        )
        made.insert(place, Family(name, size, items))
    return made


def _scale_names(count: int) -> list[str]:
    return [["sc"], ["sc", "mn"]][count - 1] if 0 < count < 3 else [f"s{n}" for n in range(count)]


def _proposal(found: BitMap, fields: Sequence[Stored]) -> Proposal | None:
    taken = {field.name for field in fields}
    widths = {field.name: 8 * field.width for field in fields}
    widths |= {f"{field.name}[]": int(field.count is not None) for field in fields}
    digits = [number for number in found.numbers if number.kind == "digits"]
    rest = [number for number in found.numbers if number.kind not in {"digits", "float"}]
    if digits and not rest:
        places = {}
        for number in digits:
            (piece,) = _slices(number, fields)
            for digit, element in enumerate(number.elements):
                places[element] = Slice(piece.field, piece.index, digit, 2, digit=True)
        if sorted(places) != list(range(found.elements)):
            return None
        return regions([places[n] for n in range(found.elements)], "q", taken, widths)
    made = families(found, fields)
    # A scale of the whole block that is a field of its own stands in formulas by its name.
    whole = [f for f in made or () if len(f.items) == 1 and _is_field(f.items[0], fields)]
    kept = [family for family in made or () if family not in whole]
    return propose(kept, found.elements, taken, widths) if kept else None


def _is_field(slices: Sequence[Slice], fields: Sequence[Stored]) -> bool:
    field = next(field for field in fields if field.name == slices[0].field)
    return len(slices) == 1 and field.count is None and slices[0].width == 8 * field.width


def _proved(
    spec: Spec,
    kind: TypeFacts,
    elements: int,
    size: int,
    fields: Sequence[Stored],
    proposal: Proposal,
    found: BitMap,
) -> bool:
    """Whether the proposal claims every bit once and says what the probe saw.

    It is loaded as a type whose formula only adds everything up.
    """
    dead = set(found.dead)
    silent = {
        field.name
        for field in fields
        if dead.issuperset(range(8 * field.offset, 8 * (field.offset + field.size)))
    }
    cut = " ".join(map(str, proposal.codes))
    alone = {f.name for f in fields if f.count is None and f.name not in silent | _words(cut)}
    total = [*sorted(alone), *proposal.codes[0]]
    text = _yaml(kind, elements, size, fields, [], "fork", silent)
    text += _order_text(proposal) + f"decode:\n  x: {' + '.join(total)}\n"
    try:
        made = load_type(parse_yaml(text, "draft.yaml"), spec.root, spec.scalars, {})
    except SpecError:
        return False
    implied = {(n.bits, n.elements) for n in spec_map(made).numbers}
    seen = {(n.bits, n.elements) for n in found.numbers}
    return implied == seen


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]\w*", text))


# ---- text


def _order_text(proposal: Proposal, mark: str = "") -> str:
    lines = []
    if len(proposal.orders) == 1:
        lines.append(f"order:  {_flow(proposal.orders[0])}")
        lines.append("codes:")
        for name, code in proposal.codes[0].items():
            lines += _code_lines(name, code)
    else:
        lines += ["order:", *(f"  - {_flow(order)}" for order in proposal.orders)]
        lines.append("codes:")
        for codes in proposal.codes:
            (name, code), *_ = codes.items()
            lines.append(f"  - {{{name}: '{code}'}}")
    return "".join(f"{mark}{line}\n" for line in lines)


def _code_lines(name: str, code: object) -> Iterator[str]:
    if isinstance(code, dict):
        yield f"  {name}:"
        for case, slices in code.items():
            yield f"    {case}: {_slices_text(slices)}"
    else:
        yield f"  {name}: {_slices_text(code)}"


def _slices_text(code: object) -> str:
    if isinstance(code, list):
        return "[" + ", ".join(f"'{piece}'" for piece in code) + "]"
    return str(code)


def _flow(order: dict[str, int]) -> str:
    return "{" + ", ".join(f"{axis}: {extent}" for axis, extent in order.items()) + "}"


def _yaml(
    kind: TypeFacts,
    elements: int,
    size: int,
    fields: Sequence[Stored],
    comments: Sequence[str],
    status: str = "live",
    silent: Collection[str] = (),
) -> str:
    """What the file says before ``order``; fields that are ``silent`` as bytes without meaning."""
    said = "TODO" if status == "live" else "a draft"
    lines = [*(f"# {comment}".rstrip() for comment in comments)]
    if status == "live":
        lines.append(f"id: {kind.id}")
    lines += [f"name: {kind.name}", f"status: {status}", f"since: {said}", f"doc: {said}"]
    lines += [f"elements: {elements}", f"bytes: {size}"]
    shown = [
        f"pad{place}: {field.size}" if field.name in silent else f"{field.name}: {field.text}"
        for place, field in enumerate(fields)
    ]
    lines.append(f"fields: {{{', '.join(shown)}}}")
    return "\n".join(lines) + "\n"


def _text(
    kind: TypeFacts,
    elements: int,
    size: int,
    fields: Sequence[Stored],
    lines: Sequence[str],
    proposal: Proposal | None,
    levels: str,
) -> str:
    """The whole file: what is TODO is refused by the generator until someone has done it."""
    comments = [
        f"A draft of `ggufspec upstream draft`, from {kind.place}; every TODO wants you.",
    ]
    if lines:
        comments += ["", "What the bits of a block were seen to do:", *lines]
    if levels:
        comments += ["", f"The first element's code, stored floats being 1: {levels}"]
    text = _yaml(kind, elements, size, fields, comments)
    if proposal is not None:
        text += (
            "# Proposed: it claims every bit once and says what was seen. Confirm it, rename its\n"
        )
        text += "# axes and codes, and put it in the place of the two TODO below.\n"
        text += _order_text(proposal, "# ")
    text += "order: TODO\ncodes: TODO\ndecode:\n  x: TODO\n"
    floats = [field.name for field in fields if field.scalar in _ONE and field.count is None]
    if floats:
        text += "valid:\n" + "".join(f"  - finite({name})\n" for name in floats)
    return text


# ---- the picture


@dataclass(frozen=True)
class _Cell:
    """Bits ``high`` to ``low`` of a byte: part of a number, from its bit ``first`` on."""

    high: int
    low: int
    kind: str
    first: int
    elements: tuple[int, ...]

    def like(self, other: _Cell, step: int) -> bool:
        same = (self.high, self.low, self.kind, self.first) == (
            other.high, other.low, other.kind, other.first,
        )  # fmt: skip
        moved = tuple(element + step for element in self.elements)
        return same and moved == other.elements


def picture(found: BitMap, fields: Sequence[Stored]) -> Iterator[str]:
    """A line for each run of bytes that are cut alike: which bits are of which elements."""
    owners = found.governed()
    floats = {min(n.bits) // 8: n for n in found.numbers if n.kind == "float"}
    for field in fields:
        places = range(field.offset, field.offset + field.size)
        if field.count is None and field.offset in floats:
            at = f"{places[0]}..{places[-1]}"
            shown = _ranges(floats[field.offset].elements)
            yield f"byte {at:<9}{field.name:<8} {field.scalar} of {shown}"
            continue
        cut = [tuple(_cells(byte, owners)) for byte in places]
        start = 0
        while start < len(cut):
            stop, step = _alike(cut, start)
            first, last = field.offset + start, field.offset + stop - 1
            at = f"{first}" if first == last else f"{first}..{last}"
            shown = " ".join(_cuts(cut[start], step, stop - start))
            yield f"byte {at:<9}{field.name:<8} {shown}"
            start = stop


def _cells(byte: int, owners: dict[int, tuple[Number, int]]) -> Iterator[_Cell]:
    """The cuts of a byte, highest bits first."""
    made: list[_Cell] = []
    for bit in range(8):
        owner = owners.get(8 * byte + bit)
        last = made[-1] if made else None
        if owner is None:
            if last and last.kind == "no effect":
                made[-1] = _Cell(bit, last.low, last.kind, 0, ())
            else:
                made.append(_Cell(bit, bit, "no effect", 0, ()))
            continue
        number, place = owner
        goes_on = (
            last is not None
            and (last.kind, last.elements) == (number.kind, number.elements)
            and last.first + bit - last.low == place
        )
        if goes_on and last is not None:
            made[-1] = _Cell(bit, last.low, last.kind, last.first, last.elements)
        else:
            made.append(_Cell(bit, bit, number.kind, place, number.elements))
    return reversed(made)


def _alike(cut: Sequence[tuple[_Cell, ...]], start: int) -> tuple[int, int]:
    """Where the run of bytes cut alike ends, and how far the elements move from byte to byte."""
    stop = start + 1
    if stop == len(cut):
        return stop, 0
    step = _step(cut[start], cut[stop])
    while stop < len(cut) and _moved(cut[stop - 1], cut[stop], step):
        stop += 1
    return (stop, step) if stop > start + 1 else (start + 1, 0)


def _step(a: tuple[_Cell, ...], b: tuple[_Cell, ...]) -> int:
    for one, other in zip(a, b, strict=False):
        if one.elements and other.elements:
            return other.elements[0] - one.elements[0]
    return 0


def _moved(a: tuple[_Cell, ...], b: tuple[_Cell, ...], step: int) -> bool:
    same = len(a) == len(b)
    return same and all(one.like(other, step) for one, other in zip(a, b, strict=True))


def _cuts(cells: Sequence[_Cell], step: int, count: int) -> Iterator[str]:
    """The cuts of a byte; single bits of elements in a row together."""
    place = 0
    while place < len(cells):
        stop = place + 1
        while stop < len(cells) and _goes_on(cells[stop - 1], cells[stop]):
            stop += 1
        if stop - place < 3:
            yield _shown(cells[place], step, count)
            place += 1
            continue
        high, low = cells[place], cells[stop - 1]
        first, last = low.elements[0], high.elements[0]
        more = "" if count == 1 else f", +{step} a byte" if step else ""
        width = high.high - high.low + 1
        what = f"bit {low.first}" if width == 1 else f"{width} bits from bit {low.first}"
        yield f"[{high.high}:{low.low}] {what} of the codes of {first}..{last}{more}"
        place = stop


def _goes_on(a: _Cell, b: _Cell) -> bool:
    """Whether the lower cell b is to one element what a is to the next."""
    same = (a.kind, a.first, a.high - a.low) == (b.kind, b.first, b.high - b.low)
    single = len(a.elements) == len(b.elements) == 1
    return same and single and a.kind == "code" and a.elements[0] == b.elements[0] + 1


def _shown(cell: _Cell, step: int, count: int) -> str:
    where = f"[{cell.high}]" if cell.high == cell.low else f"[{cell.high}:{cell.low}]"
    if not cell.elements:
        return f"{where} no effect"
    part = f" from bit {cell.first}" if cell.first else ""
    if len(cell.elements) == 1:
        first, last = cell.elements[0], cell.elements[0] + step * (count - 1)
        return f"{where} code of {first}" + (f"..{last}" if last != first else "") + part
    shown = _ranges(cell.elements)
    by = f", +{step} a byte" if step else ""
    kind = "base-3 digits" if cell.kind == "digits" else cell.kind
    return f"{where} {kind} of {shown}{by}{part}"


def _ranges(numbers: Sequence[int]) -> str:
    """0, 1, 2, 5 as 0..2, 5; long lists are cut."""
    runs = []
    for _, group in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        members = [number for _, number in group]
        first, last = members[0], members[-1]
        runs.append(f"{first}" if first == last else f"{first}..{last}")
    return ", ".join(runs if len(runs) <= 6 else [*runs[:5], "..."])
