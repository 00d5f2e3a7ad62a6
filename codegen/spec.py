"""The whole spec: everything that emitters read, loaded and checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from .blocks import load_type
from .errors import SpecError
from .metadata import Key, load_keys
from .model import BlockType
from .scalars import Scalar, load_scalars
from .source import load_yaml
from .tables import Table, load_tables

PACKAGE = Path(__file__).resolve().parent.parent
"""The installed package (or, in an editable install, the checkout): spec/ and generated/."""

OWN = PACKAGE / "spec"
"""The specification that came with it."""


@dataclass(frozen=True)
class Spec:
    """``types`` in order of id, fork types (no id) behind them by name; ``every`` before `only`."""

    root: Path
    version: str
    scalars: Mapping[str, Scalar]
    tables: Mapping[str, Table]
    types: tuple[BlockType, ...]
    every: tuple[BlockType, ...] = ()

    def type(self, name: str) -> BlockType:
        return next(kind for kind in self.types if kind.name == name)

    def only(self, names: Sequence[str]) -> Spec:
        """The spec with the named types alone; KeyError for a name it does not have."""
        known = {kind.name.upper(): kind for kind in self.types}
        wanted = {known[name.upper()].name for name in names}
        return replace(self, types=tuple(kind for kind in self.types if kind.name in wanted))

    @cached_property
    def keys(self) -> Mapping[str, Key]:
        """The well-known metadata keys, read when first asked for; raises SpecError."""
        return {key.key: key for key in load_keys(self.root)}

    @property
    def table_files(self) -> tuple[str, ...]:
        """The files of all tables, and of the scalars, whose values are tables too."""
        return ("scalars.yaml", *(f"tables/{name}.yaml" for name in self.tables))

    @property
    def layouts(self) -> tuple[BlockType, ...]:
        """The types that have a layout (all but the removed ones)."""
        return tuple(kind for kind in self.types if kind.regions)


def load_spec(root: Path) -> Spec:
    """Load spec/ at ``root``; raises SpecError at the first fault."""
    scalars, tables = load_scalars(root), load_tables(root)
    types: list[BlockType] = []
    ids: dict[int, str] = {}
    for path in sorted((root / "types").glob("*.yaml")):
        source = load_yaml(path, root)
        kind = load_type(source, root, scalars, tables)
        source.check_file_name(kind.name.lower())
        if kind.id is not None and kind.id in ids:
            source.fail(("id",), f"{ids[kind.id]} has this id already")
        if kind.id is not None:
            ids[kind.id] = source.file
        types.append(kind)
    types.sort(key=lambda kind: (kind.id is None, kind.id or 0, kind.name))
    return Spec(root, _version(root), scalars, tables, tuple(types), tuple(types))


def _version(root: Path) -> str:
    text = (root / "VERSION").read_text(encoding="utf-8", errors="replace").strip()
    if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", text):
        raise SpecError("VERSION", 1, (), f"{text[:40]!r} is not major.minor.patch")
    return text
