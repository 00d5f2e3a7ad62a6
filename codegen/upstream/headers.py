"""A source tree of ggml or llama.cpp to facts: headers, the type table, llama.cpp's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from . import gguf_py
from .facts import (
    Constant,
    Facts,
    Numbered,
    Place,
    StructField,
    TableFacts,
    TypeFacts,
    UnreadError,
)
from .syntax import File, Unit, string, text_of, walk
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
        keys |= {_pattern(text): at for text, at in _pairs(llama, "LLM_KV_NAMES").items()}
    architectures = _pairs(llama, "LLM_ARCH_NAMES") if llama else None
    if clip:
        keys |= {_pattern(text): at for text, at in _texts(clip, _KEY)}
    return Facts(
        kind="headers",
        name=tree.root,
        types=_types(unit, files),
        file_types=_file_types(files["llama.h"]) if "llama.h" in files else None,
        value_types=_value_types(files) if "gguf.h" in files else None,
        keys=keys or None,
        architectures=architectures,
        projectors=_pairs(clip, "PROJECTOR_TYPE_NAMES") if clip else None,
        tables=_tables(files["ggml-common.h"]) if "ggml-common.h" in files else None,
        constants=_constants(unit, files),
        whole=frozenset({"types", "file_types", "value_types", "architectures", "tables"}),
        doubts=tuple(_broken_asserts(unit, files["ggml-common.h"]))
        if "ggml-common.h" in files
        else (),
        unread=absent,
    )


_ORDER = (
    *("ggml.h", "ggml-common.h", "gguf.h", "ggml.c", "gguf.cpp"),
    *("llama.h", "llama-arch.cpp", "clip-impl.h"),
)
"""Each file may use what those before it define."""


def _read(unit: Unit, tree: Tree, name: str) -> File:
    return unit.read(tree.texts[name], tree.places[name])


# ---- types


def _types(unit: Unit, files: Mapping[str, File]) -> dict[str, TypeFacts]:
    enum = files["ggml.h"].enums.get("ggml_type")
    if not enum:
        raise UnreadError(f"{files['ggml.h'].name} has no enum ggml_type with known values")
    sizes = dict(_traits(unit, files["ggml.c"])) if "ggml.c" in files else {}
    structs = {name.lower(): struct for name, struct in unit.structs.items()}
    found = {}
    for item in enum:
        name = item.name.removeprefix(_TYPE).upper()
        if name == _COUNT:
            continue
        struct = structs.get(f"block_{name.lower()}")
        elements, size, at = sizes.get(item.value, (None, None, None))
        if size is None and struct is not None:
            size, at = struct.bytes, struct.place
        members = _storage(unit, struct.fields) if struct else None
        found[name] = TypeFacts(name, item.value, item.place, elements, size, members, at)
    return found


def _storage(unit: Unit, members: tuple[StructField, ...]) -> tuple[StructField, ...]:
    """Members in the types that the spec knows; a half keeps its own name."""
    return tuple(
        StructField(
            m.name,
            m.ctype if m.ctype.endswith("half") else unit.resolved(m.ctype),
            m.count,
            m.place,
        )
        for m in members
    )


def _traits(unit: Unit, file: File) -> Iterator[tuple[int, tuple[int | None, int | None, Place]]]:
    """Id to elements and bytes of a block, from the table of the types."""
    found = file.initialized("type_traits")
    if found is None:
        return
    for entry in found[1].named_children:
        if entry.type != "initializer_pair":
            continue
        designator, value = entry.named_children[0], entry.named_children[-1]
        try:
            number = int(unit.value(designator.named_children[0]))
        except UnreadError:
            continue
        members = dict(_members(value))
        elements = _maybe(unit, members.get("blck_size"))
        size = _maybe(unit, members.get("type_size"))
        yield number, (elements, size, file.place(entry))


def _members(value: Node) -> Iterator[tuple[str, Node]]:
    for pair in value.named_children:
        if pair.type == "initializer_pair" and len(pair.named_children) > 1:
            yield text_of(pair.named_children[0]).lstrip("."), pair.named_children[-1]


def _maybe(unit: Unit, node: Node | None) -> int | None:
    try:
        return None if node is None else int(unit.value(node))
    except UnreadError:
        return None


# ---- numbers of files and values


def _file_types(file: File) -> dict[str, Numbered]:
    enum = file.enums.get("llama_ftype")
    if not enum:
        raise UnreadError(f"{file.name} has no enum llama_ftype with known values")
    found = {}
    for item in enum:
        name = gguf_py.file_type_name(item.name.removeprefix(_FILE_TYPE))
        found[name] = Numbered(name, item.value, item.place)
    return found


def _value_types(files: Mapping[str, File]) -> dict[str, Numbered]:
    enum = files["gguf.h"].enums.get("gguf_type")
    if not enum:
        raise UnreadError(f"{files['gguf.h'].name} has no enum gguf_type with known values")
    sizes = dict(_value_sizes(files["gguf.cpp"])) if "gguf.cpp" in files else {}
    found = {}
    for item in enum:
        name = item.name.removeprefix(_VALUE_TYPE)
        if name != _COUNT:
            found[name] = Numbered(name, item.value, item.place, sizes.get(name))
    return found


def _value_sizes(file: File) -> Iterator[tuple[str, int]]:
    """Bytes of a value; none for strings and arrays, which ggml counts as 0."""
    found = file.initialized("GGUF_TYPE_SIZE")
    for entry in found[1].named_children if found else ():
        if entry.type == "initializer_list" and len(entry.named_children) == 2:
            name, value = entry.named_children
            size = _maybe(file.unit, value)
            if size:
                yield text_of(name).removeprefix(_VALUE_TYPE), size


# ---- names


def _pairs(file: File, table: str) -> dict[str, Place]:
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
    return texts


def _texts(file: File, start: str) -> Iterator[tuple[str, Place]]:
    """The texts of macros whose names start so."""
    for name, line in file.macros.items():
        value = file.unit.macro(name) if name.startswith(start) else None
        if isinstance(value, str):
            yield value, Place(file.name, line)


def _pattern(key: str) -> str:
    """llama.cpp's key with what it fills in, as the spec writes it."""
    if key.startswith("%s."):
        key = "{arch}" + key[2:]
    return _FORMAT.sub("{name}", key)


# ---- codebooks and constants


def _tables(file: File) -> dict[str, TableFacts]:
    found = {}
    for name, kind, node, values in file.tables():
        numbers, lines = [], []
        for child in values.named_children:
            if child.type == "comment":
                continue
            value = file.unit.value(child)
            if not isinstance(value, int):
                raise UnreadError(f"{file.name}: {name} holds {value}, which is no integer")
            numbers.append(value)
            lines.append(child.start_point[0] + 1)
        width = file.unit.size_of(kind)
        found[name] = TableFacts(name, width, tuple(numbers), tuple(lines), file.place(node))
    return found


def _constants(unit: Unit, files: Mapping[str, File]) -> dict[str, Constant]:
    """Every macro that is a number or a text."""
    places = _macro_places(files)
    found = {}
    for name in unit.preprocessor.macros:
        value = unit.macro(name) if name in places else None
        if value is not None:
            found[name] = Constant(name, value, places[name])
    return found


def _macro_places(files: Mapping[str, File]) -> dict[str, Place]:
    return {
        name: Place(file.name, line)
        for file in files.values()
        for name, line in file.macros.items()
    }


def _broken_asserts(unit: Unit, file: File) -> Iterator[tuple[str, Place]]:
    """Assertions on the size of structs that do not hold for what was read."""
    for node, condition in file.asserts():
        try:
            holds = unit.value(condition)
        except UnreadError:
            continue
        if not holds:
            names = [text_of(node) for node in walk(condition) if node.type == "identifier"]
            yield next((n for n in names if n.startswith("block_")), ""), file.place(node)
