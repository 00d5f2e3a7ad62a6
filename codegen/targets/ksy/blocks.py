"""Every block layout as a Kaitai tree: the stored fields, and each code as a lazy array.

Storage is plain words, so that every target can read it. A code is an instance of the block:
an array of types without bytes, each of which cuts its number out of the block's words. Codes
are flat, in the order of the axes; those of several regions stand one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...affine import Affine
from ...model import Bits, BlockType, Case, Code, Field, Region, Trit
from ...scalars import Scalar
from .container import ids
from .words import safe
from .yaml import Tree


def blocks_file(types: Sequence[BlockType], version: str) -> Tree:
    """The tree of ggml_blocks.ksy."""
    layouts = [kind for kind in types if kind.regions]
    made: Tree = {}
    for kind in layouts:
        made |= _types(kind)
    return {
        "meta": {
            "id": "ggml_blocks",
            "title": f"Block layouts of ggml's tensor types, little-endian (spec {version})",
            "license": "MIT",
            "ks-version": "0.11",
            "endian": "le",
        },
        "doc": _DOC,
        "types": made,
        "enums": {"ggml_type": ids(types)},
    }


_DOC = """One type for each block layout: use `ggml_blocks::q4_k` as the type of a field.

The stored fields come as they are: halves, bfloats and byte floats as their bits. A code is an
array `NAME[i].value`, cut out when asked for, in the order of the axes that its doc names, the
last one fastest. `decode` in a type's doc is how its elements come from fields and codes."""


def _types(kind: BlockType) -> Tree:
    """The block, its groups of fields, what cuts its codes, and what is stored beside it."""
    name = kind.name.lower()
    made: Tree = {}
    block: Tree = {"doc": _about(kind), "seq": list(_storage(kind, made))}
    instances: Tree = {}
    for code, pieces in _codes(kind):
        if _is_field(kind, code):
            continue
        total = sum(_size(piece) for piece in pieces)
        cutter = f"{name}_{safe(code)}"
        instances[_instance(kind, code)] = {
            "type": f"{cutter}(_index.as<s4>)",
            "repeat": "expr",
            "repeat-expr": total,
            "doc": _axes(pieces),
        }
        made[cutter] = _cutter(pieces)
    if instances:
        block["instances"] = instances
    result: Tree = {name: block, **made}
    if kind.prefix:
        result[f"{name}_row_prefix"] = {"seq": list(_plain(kind.prefix, kind.prefix_bytes))}
    if kind.suffix:
        result[f"{name}_tensor_suffix"] = {"seq": list(_plain(kind.suffix, kind.suffix_bytes))}
    return result


def _about(kind: BlockType) -> str:
    number = "no id in ggml" if kind.id is None else f"id {kind.id}"
    decode = "\n".join(f"  {name} = {text}" for name, text in kind.decode_text.items())
    return (
        f"{kind.name} ({kind.status}, {number}): {kind.doc}.\n"
        f"{kind.elements} elements in {kind.bytes} bytes.\ndecode:\n{decode}"
    )


# ---- storage


def _storage(kind: BlockType, made: Tree) -> Iterator[Tree]:
    """The fields in order; members of a group are a type of their own, put into `made`."""
    done: set[str] = set()
    end = 0
    for field in sorted(kind.fields, key=lambda field: field.offset):
        group, _, member = field.name.partition(".")
        if group in done:
            continue
        done.add(group)
        if field.offset > end:
            yield _pad(end, field.offset)
        if not member:
            yield _field(field, field.name, field.counts)
            end = field.offset + field.total * field.scalar.bytes
            continue
        count, stride = field.counts[0], field.strides[0]
        inner = f"{kind.name.lower()}_{group}"
        members = [f for f in kind.fields if f.name.startswith(f"{group}.")]
        start = min(f.offset for f in members)
        parts = [
            Field(f.name.partition(".")[2], f.scalar, f.offset - start, f.counts[1:], f.strides[1:])
            for f in members
        ]
        made[inner] = {"seq": list(_plain(tuple(parts), stride))}
        yield {"id": safe(group), "type": inner, "repeat": "expr", "repeat-expr": count}
        end = field.offset + count * stride
    if end < kind.bytes:
        yield _pad(end, kind.bytes)


def _plain(fields: tuple[Field, ...], size: int) -> Iterator[Tree]:
    """Fields without groups, and the bytes between and behind them."""
    end = 0
    for field in sorted(fields, key=lambda field: field.offset):
        if field.offset > end:
            yield _pad(end, field.offset)
        yield _field(field, field.name, field.counts)
        end = field.offset + field.total * field.scalar.bytes
    if end < size:
        yield _pad(end, size)


def _pad(start: int, end: int) -> Tree:
    return {"id": f"pad_{start}", "size": end - start}


def _field(field: Field, name: str, counts: tuple[int, ...]) -> Tree:
    made: Tree = {"id": safe(name), "type": _word_type(field.scalar)}
    if counts:
        (count,) = counts
        made |= {"repeat": "expr", "repeat-expr": count}
    if field.scalar.is_float and made["type"][0] != "f":
        made["doc"] = f"The bits of a number in {field.scalar.name}."
    return made


def _word_type(scalar: Scalar) -> str:
    """Kaitai has floats of 32 and 64 bits; smaller ones stay bits."""
    if scalar.is_float and scalar.bytes >= 4:
        return f"f{scalar.bytes}"
    return f"{'s' if scalar.kind == 'int' else 'u'}{scalar.bytes}"


# ---- codes


@dataclass(frozen=True)
class _Piece:
    """A code of one region."""

    region: Region
    code: Code

    @property
    def extents(self) -> dict[str, int]:
        return {axis: self.region.extents[axis] for axis in self.code.axes}


def _codes(kind: BlockType) -> list[tuple[str, list[_Piece]]]:
    made: dict[str, list[_Piece]] = {}
    for region in kind.regions:
        for code in region.codes:
            made.setdefault(code.name, []).append(_Piece(region, code))
    return list(made.items())


def _size(piece: _Piece) -> int:
    total = 1
    for extent in piece.extents.values():
        total *= extent
    return total


def _instance(kind: BlockType, code: str) -> str:
    """The name of a code, told apart from a stored field of the same name."""
    stored = {field.name.partition(".")[0] for field in kind.fields}
    return f"{code}_code" if code in stored else safe(code)


def _is_field(kind: BlockType, code: str) -> bool:
    """A code that is a whole stored field under its own name needs no second one."""
    return kind.plain and code in {field.name for field in kind.fields}


def _axes(pieces: Sequence[_Piece]) -> str:
    return "; then ".join(
        " ".join(f"{axis}[{extent}]" for axis, extent in piece.extents.items()) or "one number"
        for piece in pieces
    )


def _cutter(pieces: Sequence[_Piece]) -> Tree:
    text, end = "", sum(_size(piece) for piece in pieces)
    for piece in reversed(pieces):
        start = end - _size(piece)
        here = _one(piece, start)
        text = here if not text else f"(i < {end} ? {here} : {text})"
        end = start
    return {"params": [{"id": "i", "type": "s4"}], "instances": {"value": {"value": text}}}


def _one(piece: _Piece, start: int) -> str:
    """The number at `i` of the code, whose region's first one is at `start`."""
    extents = piece.extents
    axes = _axis_texts(extents, start)
    text = ""
    for case in reversed(piece.code.cases):
        here = _cut(case, axes, piece.code)
        if not text:
            text = here
            continue
        holds = " and ".join(f"{axes[axis]} == {value}" for axis, value in case.fixed)
        text = f"({holds} ? {here} : {text})"
    return text


def _axis_texts(extents: dict[str, int], start: int) -> dict[str, str]:
    """Each axis as a formula of `i`."""
    flat = f"(i - {start})" if start else "i"
    texts, stride = {}, 1
    outermost = next(iter(extents), "")
    for axis, extent in reversed(extents.items()):
        text = flat if stride == 1 else f"({flat} / {stride})"
        texts[axis] = text if axis == outermost else f"({text} % {extent})"
        stride *= extent
    return texts


def _cut(case: Case, axes: dict[str, str], code: Code) -> str:
    fixed = {axis: str(value) for axis, value in case.fixed}
    places = {**axes, **fixed}
    kind = "s4" if code.low < 0 else "u4"
    parts, low = [], 0
    for piece in case.slices:
        text = _slice(piece, places, kind)
        parts.append(f"({text} << {low})" if low else text)
        low += piece.width
    joined = " | ".join(parts)
    return f"({joined}).as<{kind}>" if len(parts) > 1 else joined


def _slice(piece: Bits | Trit, places: dict[str, str], kind: str) -> str:
    word = _word(piece, places)
    if isinstance(piece, Trit):
        power = _power(piece.digit, places)
        return f"(((({word}.as<s4> * {power}) & 255) * 3) >> 8).as<u4>"
    if piece.is_word:
        return f"{word}.as<{kind}>"
    shift = _affine(piece.shift, places)
    shifted = word + ".as<u4>" if shift == "0" else f"({word}.as<u4> >> {shift})"
    return f"({shifted} & {(1 << piece.width) - 1}).as<u4>"


def _word(piece: Bits | Trit, places: dict[str, str]) -> str:
    """The stored word in the block that the cutter belongs to."""
    text = "_parent"
    indices = [_affine(index, places) for index in piece.word.indices]
    parts = piece.word.field.name.split(".")
    for level, part in enumerate(parts):
        text += f".{safe(part)}"
        if len(indices) > level:
            text += f"[{indices[level]}]"
    return text


def _affine(value: Affine, places: dict[str, str]) -> str:
    parts = [
        places[axis] if factor == 1 else f"{places[axis]} * {factor}"
        for axis, factor in sorted(value.terms, key=lambda term: -abs(term[1]))
        if places[axis] != "0"
    ]
    if value.const or not parts:
        parts.append(str(value.const))
    text = " + ".join(parts)
    return text if len(parts) == 1 and "*" not in text else f"({text})"


def _power(digit: Affine, places: dict[str, str]) -> str:
    """3 to the digit; a ternary, since no target has powers of integers in common."""
    if digit.is_const:
        return str(3**digit.const)
    index = _affine(digit, places)
    text = f"{3**4}.as<s4>"
    for exponent in reversed(range(4)):
        text = f"({index} == {exponent} ? {3**exponent}.as<s4> : {text})"
    return text
