"""A source tree of ggml or llama.cpp to facts: headers, the type table, llama.cpp's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from . import gguf_py
from .facts import (
    Constant,
    Doubt,
    Facts,
    Fault,
    Numbered,
    Place,
    StructField,
    TableFacts,
    TypeFacts,
    UnreadError,
)
from .syntax import Enumerator, File, Unit, string, text_of, walk
from .tree import Tree

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINED = {
    "GGML_COMMON_DECL_C": "1",
    "GGML_COMMON_IMPL_C": "1",
    "static_assert": "static_assert",
    "__STDC_VERSION__": "201112L",
}
"""What a C file of ggml defines before it includes the headers."""

_TYPE, _FILE_TYPE, _VALUE_TYPE = "GGML_TYPE_", "LLAMA_FTYPE_", "GGUF_TYPE_"
_COUNT = "COUNT"
_KEY = "KEY_"
_FORMAT = re.compile(r"%[sdu]")


def read_tree(tree: Tree) -> Facts:
    """Everything that the files of the tree say; UnreadError where they have another form."""
    try:
        return _facts(tree)
    except RecursionError:
        raise UnreadError(f"{tree.root}: nested too deeply") from None


def _facts(tree: Tree) -> Facts:
    if "ggml.h" not in tree.texts:
        raise UnreadError(f"{tree.root} has no ggml.h")
    faults: list[Fault] = []
    unit = Unit()
    unit.preprocessor.define(_DEFINED)
    files = {name: _read(unit, tree, name) for name in _ORDER if name in tree.texts}
    absent = tuple(name for name in (*_ORDER, "constants.py") if name not in tree.texts)
    python = None
    if "constants.py" in tree.texts:
        python = gguf_py.read(tree.texts["constants.py"], tree.places["constants.py"])
    keys = {**(python.keys or {} if python else {})}
    llama, clip = files.get("llama-arch.cpp"), files.get("clip-impl.h")
    if llama:
        said = _pairs(llama, "LLM_KV_NAMES", "key", faults)
        keys |= {_pattern(text): at for text, at in said.items()}
    architectures = _pairs(llama, "LLM_ARCH_NAMES", "architecture", faults) if llama else None
    if clip:
        keys |= {_pattern(text): at for text, at in _texts(clip, _KEY, faults)}
    whole = {"types", "file_types", "value_types", "architectures", "tables"}
    common = files.get("ggml-common.h")
    return Facts(
        kind="headers",
        name=tree.root,
        types=_types(unit, files, faults),
        file_types=_file_types(files["llama.h"]) if "llama.h" in files else None,
        value_types=_value_types(files, faults) if "gguf.h" in files else None,
        keys=keys or None,
        architectures=architectures,
        projectors=_pairs(clip, "PROJECTOR_TYPE_NAMES", "projector", faults) if clip else None,
        tables=_tables(common, faults) if common else None,
        constants=_constants(unit, files, faults),
        whole=frozenset(whole | {"structs"} if common else whole),
        doubts=tuple(_broken_asserts(unit, common)) if common else (),
        unread=absent,
        faults=tuple(faults),
        files={name: Place(file.name, file.trouble) for name, file in files.items()},
    )


_ORDER = (
    *("ggml.h", "ggml-common.h", "gguf.h", "ggml.c", "gguf.cpp"),
    *("llama.h", "llama-arch.cpp", "clip-impl.h"),
)
"""Each file may use what those before it define."""


def _read(unit: Unit, tree: Tree, name: str) -> File:
    return unit.read(tree.texts[name], tree.places[name])


# ---- types


def _types(unit: Unit, files: Mapping[str, File], faults: list[Fault]) -> dict[str, TypeFacts]:
    enum = _enum(files["ggml.h"], "ggml_type")
    rows = _traits(unit, files, faults)
    common = files.get("ggml-common.h")
    structs = {name.lower(): struct for name, struct in unit.structs.items()}
    broken = {name.lower(): fault for name, fault in unit.unread.items()}
    found = {}
    for item in enum:
        name = item.name.removeprefix(_TYPE).upper()
        if name == _COUNT:
            continue
        struct = structs.get(f"block_{name.lower()}")
        fault = broken.get(f"block_{name.lower()}")
        if struct is None and fault is not None:
            faults.append(Fault("struct-unread", name, fault.why, fault.place))
        row = rows.get(item.value, _Row()) if rows is not None else _Row()
        size, at = row.bytes, row.place
        if size is None and struct is not None:
            size, at = struct.bytes, struct.place
        faults += [Fault("traits-unread", name, why, row.place or item.place) for why in row.faults]
        if rows is not None and item.value not in rows:
            why = f"type_traits has no row [{item.name}] that is understood"
            at = Place(files["ggml.c"].name)
            faults.append(Fault("traits-gone", name, why, at))
        members = _storage(unit, struct.fields) if struct else None
        found[name] = TypeFacts(
            name, item.value, item.place, row.elements, size, members, at, row.label,
            common.mentioned(f"block_{name}") if common and struct is None else None,
        )  # fmt: skip
    return found


def _enum(file: File, name: str) -> tuple[Enumerator, ...]:
    """The members of an enum; UnreadError where it is not there, or not understood."""
    found = file.enums.get(name)
    if found:
        return found
    fault = file.unit.unread.get(name)
    why = f" ({fault.place}: {fault.why})" if fault else ""
    raise UnreadError(f"{file.name} has no enum {name} with known values{why}")


def _storage(unit: Unit, members: tuple[StructField, ...]) -> tuple[StructField, ...]:
    """Members in the types that the spec knows; a half keeps its own name."""
    return tuple(
        m if m.ctype.endswith("half") else replace(m, ctype=unit.resolved(m.ctype)) for m in members
    )


@dataclass(frozen=True)
class _Row:
    """A row of the table of the types; ``faults``: what of it is not understood."""

    elements: int | None = None
    bytes: int | None = None
    label: str | None = None
    place: Place | None = None
    faults: list[str] = field(default_factory=list)


def _traits(unit: Unit, files: Mapping[str, File], faults: list[Fault]) -> dict[int, _Row] | None:
    """Id to row of ggml.c's table of the types; None where there is none."""
    file = files.get("ggml.c")
    if file is None:
        return None
    found = file.initialized("type_traits")
    if found is None or found[1].type != "initializer_list":
        why = "there is no table type_traits that is understood"
        faults.append(Fault("traits-gone", "type_traits", why, Place(file.name, file.trouble)))
        return None
    # Without ggml-common.h nobody can say what a block's size is.
    sized = "ggml-common.h" in files
    rows = {}
    for entry in found[1].named_children:
        name = text_of(entry)[:40].split("=")[0].strip(" []")
        try:
            if entry.type != "initializer_pair" or entry.has_error:
                raise UnreadError("a row that is not understood")
            designator = entry.named_children[0]
            number = int(unit.value(designator.named_children[0]))
        except UnreadError as error:
            name = name.removeprefix(_TYPE).upper()
            faults.append(Fault("traits-unread", name, str(error), file.place(entry)))
            continue
        rows[number] = _row(unit, file, entry, sized)
    return rows


def _row(unit: Unit, file: File, entry: Node, sized: bool) -> _Row:
    members = dict(_members(entry.named_children[-1]))
    faults: list[str] = []
    numbers: dict[str, int | None] = {}
    for name in ("blck_size", "type_size"):
        numbers[name] = None
        try:
            numbers[name] = int(unit.value(members.get(name)))
        except UnreadError as error:
            if sized:
                faults.append(f".{name}: {error}")
    label = string(members["type_name"]) if "type_name" in members else None
    if label is None:
        faults.append(".type_name is no text")
    place = file.place(entry)
    return _Row(numbers["blck_size"], numbers["type_size"], label, place, faults)


def _members(value: Node) -> Iterator[tuple[str, Node]]:
    for pair in value.named_children:
        if pair.type == "initializer_pair" and len(pair.named_children) > 1:
            yield text_of(pair.named_children[0]).lstrip("."), pair.named_children[-1]


# ---- numbers of files and values


def _file_types(file: File) -> dict[str, Numbered]:
    found = {}
    for item in _enum(file, "llama_ftype"):
        name = gguf_py.file_type_name(item.name.removeprefix(_FILE_TYPE))
        found[name] = Numbered(name, item.value, item.place)
    return found


def _value_types(files: Mapping[str, File], faults: list[Fault]) -> dict[str, Numbered]:
    sizes = _value_sizes(files["gguf.cpp"], faults) if "gguf.cpp" in files else None
    found = {}
    for item in _enum(files["gguf.h"], "gguf_type"):
        name = item.name.removeprefix(_VALUE_TYPE)
        if name == _COUNT:
            continue
        if sizes is not None and name not in sizes:
            why = "GGUF_TYPE_SIZE has no row for it that is understood"
            faults.append(Fault("value-type-unread", name, why, Place(files["gguf.cpp"].name)))
        found[name] = Numbered(name, item.value, item.place, (sizes or {}).get(name) or None)
    return found


def _value_sizes(file: File, faults: list[Fault]) -> dict[str, int] | None:
    """Bytes of a value; 0 for strings and arrays, as ggml counts. None where there is no table."""
    found = file.initialized("GGUF_TYPE_SIZE")
    if found is None:
        why = "there is no table GGUF_TYPE_SIZE that is understood"
        faults.append(Fault("value-type-unread", "GGUF_TYPE_SIZE", why, Place(file.name)))
        return None
    sizes = {}
    for entry in found[1].named_children:
        name = text_of(entry.named_children[0] if entry.named_children else entry)
        try:
            if entry.type != "initializer_list" or len(entry.named_children) != 2:
                raise UnreadError("a row that is not understood")
            value = int(file.unit.value(entry.named_children[1]))
            sizes[name.removeprefix(_VALUE_TYPE)] = value
        except UnreadError as error:
            faults.append(Fault("value-type-unread", name, str(error), file.place(entry)))
    return sizes


# ---- names


def _pairs(file: File, table: str, kind: str, faults: list[Fault]) -> dict[str, Place]:
    """The texts of a table of ``{ NAME, "text" }``."""
    found = file.initialized(table)
    if found is None:
        raise UnreadError(f"{file.name} has no table {table}")
    texts = {}
    for entry in found[1].named_children:
        words = [string(child) for child in entry.named_children]
        said = next((word for word in words if word is not None), None)
        if said is not None:
            texts[said] = file.place(entry)
        else:
            name = text_of(entry).strip("{} ")[:60].split(",")[0]
            why = f"a row of {table} without a text"
            faults.append(Fault(f"{kind}-unread", name, why, file.place(entry)))
    return texts


def _texts(file: File, start: str, faults: list[Fault]) -> Iterator[tuple[str, Place]]:
    """The texts of macros whose names start so."""
    for name, line in file.macros.items():
        if not name.startswith(start):
            continue
        value, at = file.unit.macro(name), Place(file.name, line)
        if isinstance(value, str):
            yield value, at
        else:
            faults.append(Fault("key-unread", name, "no text that is understood", at))


def _pattern(key: str) -> str:
    """llama.cpp's key with what it fills in, as the spec writes it."""
    if key.startswith("%s."):
        key = "{arch}" + key[2:]
    return _FORMAT.sub("{name}", key)


# ---- codebooks and constants


def _tables(file: File, faults: list[Fault]) -> dict[str, TableFacts]:
    found = {}
    for name, kind, node, values in file.tables():
        numbers, lines = [], []
        at = node
        try:
            width = file.unit.size_of(kind)
            for at in values.named_children:
                if at.type == "comment":
                    continue
                value = file.unit.value(at)
                if not isinstance(value, int):
                    raise UnreadError(f"{value} is no integer")
                numbers.append(value)
                lines.append(at.start_point[0] + 1)
        except UnreadError as error:
            faults.append(Fault("table-unread", name, str(error), file.place(at)))
            continue
        found[name] = TableFacts(name, width, tuple(numbers), tuple(lines), file.place(node))
    return found


def _constants(unit: Unit, files: Mapping[str, File], faults: list[Fault]) -> dict[str, Constant]:
    """Every macro, constant and enumerator that is a number or a text."""
    places = _macro_places(files)
    found = {name: Constant(name, unit.numbers[name], place) for name, place in unit.places.items()}
    for name, fault in unit.unread.items():
        faults.append(Fault("constant-unread", name, fault.why, fault.place))
    for name, macro in unit.preprocessor.macros.items():
        if name not in places:
            continue
        value = unit.macro(name)
        if value is not None:
            found[name] = Constant(name, value, places[name])
        elif name not in found:
            why = f"{macro.text[:60]!r} has no value that is known"
            faults.append(Fault("constant-unread", name, why, places[name]))
    return found


def _macro_places(files: Mapping[str, File]) -> dict[str, Place]:
    return {
        name: Place(file.name, line)
        for file in files.values()
        for name, line in file.macros.items()
    }


def _broken_asserts(unit: Unit, file: File) -> Iterator[Doubt]:
    """Assertions on the size of structs that do not hold for what was read, or say nothing."""
    for node, condition in file.asserts():
        names = [text_of(n) for n in walk(condition) if n.type.endswith("identifier")]
        struct = next((n for n in names if n.startswith("block_")), "")
        if struct in unit.unread:
            continue
        try:
            if unit.value(condition):
                continue
            why = "its own assertion fails"
        except UnreadError as error:
            why = f"its own assertion cannot be evaluated: {error}"
        yield Doubt(struct, why, file.place(node))
