"""A user's own specification: types and dialects added to the running program.

The folder is laid out as spec/ is: types/, tables/ and dialects/, each as far as it is needed.
Scalars and the tables of ggml's types are there already. The types decode through the kernels that
the NumPy target makes, in memory; no file of the package changes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import ModuleType

from ggufspec.dialects import dialects
from ggufspec.generated.describe import DESCRIPTIONS, Description
from ggufspec.generated.dialects import DialectInfo, Meaning
from ggufspec.generated.types import TypeInfo
from ggufspec.registry import types

from .blocks import load_type
from .dialects import BASE, Dialect, load_dialects, sizes_of
from .errors import SpecError
from .model import BlockType
from .scalars import Scalar, load_scalars
from .source import Source, load_yaml, read_file
from .spec import OWN
from .tables import Table, load_tables
from .targets.numpy.emit import module, tables_module
from .targets.registry.emit import description, type_info

KERNELS = "ggufspec.generated.numpy"
"""Where the runtime looks for the kernels of a type, in a module of its name."""

_numbers = count(1)


@dataclass(frozen=True)
class Extension:
    """What a folder adds, checked."""

    folder: Path
    tables: Mapping[str, Table]
    scalars: Mapping[str, Scalar]
    types: tuple[BlockType, ...]
    dialects: tuple[Dialect, ...]


def extend(folder: Path) -> Extension:
    """Add the types and dialects of a folder to the program that runs.

    Types without an id of ggml's get one from a dialect. A copy of the whole specification with
    files added does as well: what is the same as in the package is passed over. Raises SpecError
    for the first fault, before anything was added; OSError where the folder cannot be read.
    """
    added = load(folder)
    _add_types(added)
    for dialect in added.dialects:
        meanings = tuple(Meaning(**vars(meaning)) for meaning in dialect.types)
        dialects.add(DialectInfo(dialect.name, dialect.doc, dialect.folded_by, meanings))
    return added


def load(folder: Path) -> Extension:
    """Read and check a folder; nothing is added."""
    if not any((folder / kind).is_dir() for kind in ("types", "tables", "dialects")):
        raise NotADirectoryError(20, "not a folder with types/, tables/ or dialects/", str(folder))
    scalars, tables = load_scalars(OWN), load_tables(OWN)
    for name, table in load_tables(folder, OWN / "schema").items():
        if tables.setdefault(name, table) != table:
            raise SpecError(f"tables/{name}.yaml", 1, ("name",), f"there is a table {name} already")
    sources = [load_yaml(path, folder) for path in _new(folder, "types")]
    kinds = [load_type(source, OWN, scalars, tables) for source in sources]
    for source, kind in zip(sources, kinds, strict=True):
        _check(source, kind, kinds)
    known = {
        name: (t.elements, t.bytes, t.info.row_prefix, t.info.tensor_suffix)
        for name, t in types.items()
    }
    known |= {kind.name: sizes_of(kind) for kind in kinds}
    new = {path.name for path in _new(folder, "dialects")}
    found = load_dialects(folder / "dialects", known, root=folder, schemas=OWN / "schema")
    found = tuple(one for one in found if Path(one.file).name in new)
    for dialect in found:
        if dialect.name in dialects or dialect.name == BASE:
            message = f"there is a dialect {dialect.name} already"
            raise SpecError(dialect.file, 1, ("name",), message)
    return Extension(folder, tables, scalars, tuple(kinds), found)


def _new(folder: Path, kind: str) -> list[Path]:
    """The files of a kind that the package does not have in the same words."""
    return [
        path
        for path in sorted((folder / kind).glob("*.yaml"))
        if not (own := OWN / kind / path.name).is_file()
        or own.read_bytes() != read_file(path, f"{kind}/{path.name}")
    ]


def _check(source: Source, kind: BlockType, others: list[BlockType]) -> None:
    """SpecError where a type takes the name, the file or the number of another."""
    source.check_file_name(kind.name.lower())
    if kind.name in types:
        source.fail(("name",), f"there is a type {types[kind.name].name} already")
    if kind.status == "removed":
        source.fail(("status",), "a removed type adds nothing")
    if kind.id is None:
        return
    holders = [known.name for known in types.values() if known.id == kind.id]
    holders += [other.name for other in others if other is not kind and other.id == kind.id]
    if holders:
        source.fail(("id",), f"{holders[0]} has this id already")


def _add_types(added: Extension) -> None:
    """Register types, their descriptions and their kernels."""
    place = f"ggufspec.extension{next(_numbers)}.tables"
    sys.modules[place] = made_module(place, tables_module(added.tables, added.scalars))
    for kind in added.types:
        types.add(TypeInfo(*type_info(kind)))
        told = {**description(kind), "file": str(added.folder / kind.file)}
        DESCRIPTIONS[kind.name] = Description(**told)
        name = f"{KERNELS}.{kind.name.lower()}"  # `_check` saw that it is free
        sys.modules[name] = made_module(name, module(kind, place))


def made_module(name: str, text: str) -> ModuleType:
    """A module of generated text; who wants it imported by its name registers it."""
    made = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec"), made.__dict__)
    return made
