"""The spec against what a source says: each difference with its place and what to do."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ..model import BlockType
from ..recipes.load import load_recipes
from ..schema import load_checked
from ..spec import Spec
from ..tables import Table
from .facts import Facts, Numbered, Place, StructField, TableFacts, TypeFacts
from .known import Difference, Known, load_known

_STORED = {
    "u8": "uint8_t", "i8": "int8_t", "u16": "uint16_t", "i16": "int16_t", "u32": "uint32_t",
    "i32": "int32_t", "i64": "int64_t", "f16": "ggml_half", "f32": "float", "f64": "double",
}  # fmt: skip
"""How C declares our scalars; other floats are bytes."""

_PLACEHOLDER = re.compile(r"\\\{[a-z]+\\\}")
PROJECTORS = "clip.projector_type"


@dataclass(frozen=True)
class Drift:
    """One difference. ``spec`` or ``theirs`` is empty where there is nothing on that side."""

    kind: str
    name: str
    spec: str
    theirs: str
    place: Place
    remedy: str


@dataclass(frozen=True)
class Comparison:
    """What a source differs in. ``meant`` are differences that spec/upstream.yaml explains."""

    facts: Facts
    drift: tuple[Drift, ...]
    meant: tuple[tuple[Drift, Difference], ...]
    examined: Mapping[str, int]


def compare(spec: Spec, facts: Facts, known: Known | None = None) -> Comparison:
    """Hold a source against the spec. Raises SpecError for a fault of the spec.

    known: spec/upstream.yaml, where the caller has read it.
    """
    known = known or load_known(spec)
    found = [
        *_types(spec, facts, known),
        *_tables(spec, facts, known),
        *_file_types(spec, facts),
        *_value_types(spec, facts),
        *_keys(spec, facts),
        *_architectures(facts, known),
        *_projectors(spec, facts),
        *_constants(facts, known),
        *_faults(facts, known),
    ]
    drift, meant = [], []
    for one in found:
        reason = _meant(one, facts, known)
        if reason is None:
            drift.append(one)
        else:
            meant.append((one, reason))
    return Comparison(facts, tuple(drift), tuple(meant), _examined(facts, known))


def _meant(drift: Drift, facts: Facts, known: Known) -> Difference | None:
    for one in known.differences:
        same = (one.kind, one.name) == (drift.kind, drift.name)
        if same and one.source in {"", facts.kind}:
            return one
    return None


def _examined(facts: Facts, known: Known) -> dict[str, int]:
    """How many things of each kind the source names."""
    types = facts.types or {}
    counts = {
        "types": len(types),
        "structs": sum(kind.fields is not None for kind in types.values()),
        "codebooks": len(facts.tables or {}),
        "file types": len(facts.file_types or {}),
        "value types": len(facts.value_types or {}),
        "keys": len(facts.keys or {}),
        "architectures": len(facts.architectures or {}),
        "projectors": len(facts.projectors or {}),
        "constants": sum(name in known.constants for name in facts.constants),
    }
    return {name: count for name, count in counts.items() if count}


# ---- types


def _types(spec: Spec, facts: Facts, known: Known) -> Iterator[Drift]:
    if facts.types is None:
        return
    ours = {kind.name: kind for kind in spec.every if kind.id is not None}
    by_id = {kind.id: kind for kind in ours.values()}
    told = set()
    for theirs in facts.types.values():
        kind = ours.get(theirs.name)
        if kind is None:
            other = by_id.get(theirs.id)
            if other and other.regions and other.name not in facts.types:
                told.add(other.name)
                yield _renamed(theirs, other)
            else:
                yield _new_type(theirs, other)
            continue
        if not kind.regions:
            yield Drift(
                "type-revived", kind.name, f"{kind.status}, id {kind.id}", f"id {theirs.id}",
                theirs.place, f"describe its layout in spec/{kind.file} and set its status to live",
            )  # fmt: skip
            continue
        if theirs.id != kind.id:
            yield Drift(
                "type-renumbered", kind.name, str(kind.id), str(theirs.id), theirs.place,
                "an id must never change: ask whether that is ggml; a fork's numbers belong "
                "into spec/dialects",
            )  # fmt: skip
        yield from _block(kind, theirs, facts, known)
    if "types" in facts.whole:
        for kind in ours.values():
            if kind.regions and kind.name not in facts.types and kind.name not in told:
                yield _gone_type(kind, facts)


def _new_type(theirs: TypeFacts, other: BlockType | None) -> Drift:
    sizes = f"id {theirs.id}"
    if theirs.elements and theirs.bytes:
        sizes += f", {theirs.elements} weights in {theirs.bytes} bytes"
    if other is not None:
        sizes += f" (ours: {other.name})"
    name = theirs.name
    remedy = f"ggufspec upstream draft {name} --ggml PATH -o spec/types/{name.lower()}.yaml"
    return Drift("type-new", name, "", sizes, theirs.place, remedy)


def _renamed(theirs: TypeFacts, kind: BlockType) -> Drift:
    return Drift(
        "type-renamed", kind.name, f"{kind.name}, id {kind.id}", f"{theirs.name}, id {theirs.id}",
        theirs.place, f"see whether the layout is the same; then rename it in spec/{kind.file}",
    )  # fmt: skip


def _gone_type(kind: BlockType, facts: Facts) -> Drift:
    return Drift(
        "type-gone", kind.name, f"id {kind.id}", "", Place(facts.name),
        f"an older source, or it was removed: then give spec/{kind.file} the status removed",
    )  # fmt: skip


def _block(kind: BlockType, theirs: TypeFacts, facts: Facts, known: Known) -> Iterator[Drift]:
    """Sizes and members; a size that follows from the members is told once."""
    at = theirs.sizes_at or theirs.place
    if theirs.elements is not None and theirs.elements != kind.elements:
        yield Drift(
            "block-elements", kind.name, str(kind.elements), str(theirs.elements), at,
            f"another layout under the same id: ask who is right before spec/{kind.file} changes",
        )  # fmt: skip
    yield from _label(kind, theirs, at)
    members: list[Drift] = []
    doubts = [d for d in facts.doubts if d.struct.lower() == f"block_{kind.name.lower()}"]
    if theirs.fields is not None:
        also = "".join(f"; {doubt.place}: {doubt.why}" for doubt in doubts)
        found = _members(kind, theirs.fields, theirs, known)
        members = [replace(one, remedy=one.remedy + also) for one in found]
        yield from members
    elif "structs" in facts.whole and kind.elements > 1:
        yield from _no_struct(kind, theirs, facts)
    if theirs.bytes is not None and theirs.bytes != kind.bytes and not members:
        yield Drift(
            "block-bytes", kind.name, str(kind.bytes), str(theirs.bytes), at,
            f"compare the struct with the fields of spec/{kind.file}; one of the two is wrong",
        )  # fmt: skip
    elif theirs.bytes == kind.bytes and not members:
        for doubt in doubts:
            yield Drift(
                "struct-doubtful", kind.name, str(kind.bytes), doubt.why, doubt.place,
                "the header contradicts itself, or is read wrongly: look at it",
            )  # fmt: skip


def _label(kind: BlockType, theirs: TypeFacts, at: Place) -> Iterator[Drift]:
    """What ggml prints for a type: the name in small letters, but for the K of the k-quants."""
    ours = kind.name.lower()
    ours = f"{ours[:-1]}K" if ours.endswith("_k") else ours
    if theirs.label is not None and theirs.label != ours:
        yield Drift(
            "type-name", kind.name, ours, theirs.label, at,
            "its id and enumerator did not change: see whether the layout did",
        )  # fmt: skip


def _no_struct(kind: BlockType, theirs: TypeFacts, facts: Facts) -> Iterator[Drift]:
    """A type whose struct is not there; one that was not understood is told by `_faults`."""
    if any((one.kind, one.name) == ("struct-unread", kind.name) for one in facts.faults):
        return
    place, why = _missing(facts, "ggml-common.h")
    struct = f"block_{kind.name.lower()}"
    yield Drift(
        "struct-gone", kind.name, struct, "", theirs.mentioned or place,
        f"no struct of that name{why}; renamed, or its end is missing: nothing of it was compared",
    )  # fmt: skip


def _missing(facts: Facts, file: str) -> tuple[Place, str]:
    """Where to look for what a file lacks: at its first line that is no C, if it has one."""
    place = facts.files.get(file, Place(facts.name))
    return place, f" (line {place.line} is no C that is understood)" if place.line else ""


def _faults(facts: Facts, known: Known) -> Iterator[Drift]:
    """What is expected and could not be read; other constants may be what they like."""
    for fault in facts.faults:
        if fault.kind == "constant-unread" and fault.name not in known.constants:
            continue
        yield Drift(
            fault.kind, fault.name, "", fault.why, fault.place,
            "it was not compared: look at it, or teach codegen/upstream to read it",
        )  # fmt: skip


def _members(
    kind: BlockType, found: tuple[StructField, ...], theirs: TypeFacts, known: Known
) -> Iterator[Drift]:
    expected = expected_members(kind, known)
    if list(expected) == list(found):
        return
    remedy = f"bring the fields of spec/{kind.file} up to date, then order, codes and decode"
    if sorted(map(str, expected)) == sorted(map(str, found)):
        first = next(new for old, new in zip(expected, found, strict=True) if old != new)
        order = ", ".join(member.name for member in found)
        yield Drift(
            "field-order", kind.name, ", ".join(m.name for m in expected), order, first.place,
            remedy,
        )  # fmt: skip
        return
    matcher = SequenceMatcher(None, expected, found, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            continue
        ours, other = list(expected[a:b]), list(found[c:d])
        for place in range(max(len(ours), len(other))):
            old = ours[place] if place < len(ours) else None
            new = other[place] if place < len(other) else None
            what = "changed" if old and new else "gone" if old else "new"
            name = f"{kind.name}.{(old or new or found[0]).name}"
            at = new.place if new else theirs.sizes_at or theirs.place
            yield Drift(
                f"field-{what}", name, str(old or ""), str(new or ""), at, remedy
            )  # fmt: skip


def expected_members(kind: BlockType, known: Known) -> tuple[StructField, ...]:
    """The members that ggml's struct must have by the spec: each field, or what stands for it."""
    otherwise = {one.ours: one for one in known.structs.get(kind.name, ())}
    made: list[StructField] = []
    done: set[str] = set()
    for field in kind.fields:
        if field.name in done:
            continue
        declared = next((one for names, one in otherwise.items() if field.name in names), None)
        if declared is not None:
            made.append(declared.theirs)
            done |= set(declared.ours)
            continue
        ctype = _STORED.get(field.scalar.name, "uint8_t" if field.scalar.bits == 8 else "uint16_t")
        made.append(StructField(field.name, ctype, field.total if field.counts else None))
    return tuple(made)


# ---- codebooks


def _tables(spec: Spec, facts: Facts, known: Known) -> Iterator[Drift]:
    if facts.tables is None:
        return
    broken = (one.name for one in facts.faults if one.kind == "table-unread")
    seen = {known.tables.get(name, name) for name in broken}
    for theirs in facts.tables.values():
        table = spec.tables.get(known.tables.get(theirs.name, theirs.name))
        left_out = known.left_out.get(theirs.name)
        if table is not None:
            seen.add(table.name)
            yield from _table(table, theirs)
        elif left_out is None:
            yield Drift(
                "table-new", theirs.name, "", f"{len(theirs.values)} numbers", theirs.place,
                "a new codebook: spec/tables, or left_out in spec/upstream.yaml",
            )  # fmt: skip
        elif hashlib.sha256(theirs.data).hexdigest() != left_out.sha256:
            yield Drift(
                "table-changed", theirs.name, left_out.sha256[:16],
                hashlib.sha256(theirs.data).hexdigest()[:16], theirs.place,
                f"it was: {left_out.why}; see what it is now",
            )  # fmt: skip
    if "tables" in facts.whole:
        used = {name for kind in spec.every if kind.id is not None for name in kind.tables}
        place, why = _missing(facts, "ggml-common.h")
        for name in sorted(used - seen):
            yield Drift(
                "table-gone", name, f"{len(spec.tables[name].data)} numbers", "",
                place, f"renamed{why}? then say so in spec/upstream.yaml, tables",
            )  # fmt: skip


def _table(table: Table, theirs: TableFacts) -> Iterator[Drift]:
    ours = bytes(value & 0xFF for value in table.data)
    if ours == theirs.data:
        return
    remedy = f"bring spec/tables/{table.name}.yaml up to date (from_gguf.py writes it)"
    if len(ours) != len(theirs.data):
        sizes = f"{len(ours)} bytes", f"{len(theirs.data)} bytes"
        yield Drift("table-changed", table.name, *sizes, theirs.place, remedy)
        return
    width = theirs.width
    bad = [n for n in range(len(theirs.values)) if ours[n * width :][:width]
           != theirs.data[n * width :][:width]]  # fmt: skip
    first = bad[0]
    said = f"{len(bad)} of {len(theirs.values)}" if len(bad) > 1 else "one entry"
    entries = [
        f"[{first}] = 0x{int.from_bytes(data[first * width :][:width], 'little'):0{2 * width}x}"
        for data in (ours, theirs.data)
    ]
    yield Drift(
        "table-changed",
        table.name,
        entries[0],
        f"{entries[1]} ({said})",
        Place(theirs.place.file, theirs.lines[first]),
        remedy,
    )


# ---- numbers


def _numbered(
    kind: str,
    theirs: Mapping[str, Numbered],
    ours: Mapping[str, tuple[int, bool]],
    facts: Facts,
    file: str,
) -> Iterator[Drift]:
    """``ours``: name to number, and whether the source may do without."""
    for one in theirs.values():
        if one.name not in ours:
            yield Drift(f"{kind}-new", one.name, "", str(one.id), one.place, f"add it to {file}")
        elif ours[one.name][0] != one.id:
            yield Drift(
                f"{kind}-renumbered", one.name, str(ours[one.name][0]), str(one.id), one.place,
                "a number must never change: ask whether that is ggml",
            )  # fmt: skip
    for name, (number, optional) in ours.items():
        if name not in theirs and not optional:
            yield Drift(
                f"{kind}-gone", name, str(number), "", Place(facts.name),
                f"an older source, or it was removed: then say so in {file}",
            )  # fmt: skip


def _file_types(spec: Spec, facts: Facts) -> Iterator[Drift]:
    if facts.file_types is None:
        return
    recipes = load_recipes(spec)
    ours = {
        one.name: (one.id, one.status == "retired")
        for one in recipes.file_types
        if one.id is not None
    }
    ours["GUESSED"] = recipes.guess.bit, True
    yield from _numbered("file-type", facts.file_types, ours, facts, "spec/recipes/file_types.yaml")


def _value_types(spec: Spec, facts: Facts) -> Iterator[Drift]:
    if facts.value_types is None:
        return
    file = "spec/container/values.yaml"
    schema = spec.root / "schema" / "container_values.schema.json"
    known = load_checked(spec.root / "container/values.yaml", spec.root, schema).data
    ours = {name: (entry["id"], False) for name, entry in known.items()}
    yield from _numbered("value-type", facts.value_types, ours, facts, file)
    for one in facts.value_types.values():
        size = known.get(one.name, {}).get("bytes")
        if one.bytes is not None and size is not None and size != one.bytes:
            yield Drift(
                "value-type-bytes", one.name, str(size), str(one.bytes), one.place,
                f"files of both kinds cannot be told apart: see what changed before {file} does",
            )  # fmt: skip


# ---- names


def _keys(spec: Spec, facts: Facts) -> Iterator[Drift]:
    ours = spec.keys
    for key, place in (facts.keys or {}).items():
        if key not in ours and not _has(ours, key):
            yield Drift("key-new", key, "", key, place, "add it to spec/metadata, with its type")


def _has(ours: Mapping[str, object], key: str) -> bool:
    """Whether some key of ours is one that a pattern of theirs stands for."""
    pattern = _PLACEHOLDER.sub(".+", re.escape(key))
    if pattern == re.escape(key):
        return False
    form = re.compile(rf"{pattern}\Z")
    return any(form.match(name) for name in ours)


def _architectures(facts: Facts, known: Known) -> Iterator[Drift]:
    if facts.architectures is None:
        return
    remedy = "add it to architectures in spec/upstream.yaml; its tensors may go to "
    for name, place in facts.architectures.items():
        if name not in known.architectures:
            where = f"{remedy}spec/architectures"
            yield Drift("architecture-new", name, "", name, place, where)
    if "architectures" in facts.whole:
        for name in known.architectures:
            if name not in facts.architectures:
                yield Drift(
                    "architecture-gone", name, name, "", Place(facts.name),
                    "an older source, or it was renamed or removed: see spec/upstream.yaml",
                )  # fmt: skip


def _projectors(spec: Spec, facts: Facts) -> Iterator[Drift]:
    if facts.projectors is None or PROJECTORS not in spec.keys:
        return
    ours = {value for value, _ in spec.keys[PROJECTORS].values}
    for name, place in facts.projectors.items():
        if name not in ours:
            yield Drift(
                "projector-new", name, "", name, place, "add it to spec/metadata/clip.yaml"
            )  # fmt: skip


def _constants(facts: Facts, known: Known) -> Iterator[Drift]:
    for name, ours in known.constants.items():
        theirs = facts.constants.get(name)
        if theirs is None:
            yield from _gone_constant(name, ours, facts, known)
            continue
        value = theirs.value
        if isinstance(ours, str) and isinstance(value, int):
            value = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "little").decode("latin1")
        if value != ours:
            yield Drift(
                "constant-changed", name, str(ours), str(theirs.value), theirs.place,
                "see what it changes, then change it in the spec (spec/upstream.yaml says where)",
            )  # fmt: skip


def _gone_constant(name: str, ours: float | str, facts: Facts, known: Known) -> Iterator[Drift]:
    """A constant that its header does not have."""
    home = known.homes.get(name)
    told = any((one.kind, one.name) == ("constant-unread", name) for one in facts.faults)
    if home is None or home not in facts.files or told:
        return
    yield Drift(
        "constant-gone", name, str(ours), "", Place(facts.files[home].file),
        "renamed, moved or removed: see spec/upstream.yaml, constants",
    )  # fmt: skip
