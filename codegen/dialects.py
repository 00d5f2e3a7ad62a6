"""Dialects: spec/dialects/*.yaml in, generated/dialects.py out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import SpecError, YamlPath
from .model import BlockType
from .output import Output
from .schema import load_checked
from .source import Source
from .spec import Spec

Sizes = tuple[int, int, int, int]
"""Elements and bytes of a block, bytes in front of a row, bytes behind a tensor."""

BASE = "ggml"
"""The dialect that the others differ from; it comes first."""


@dataclass(frozen=True)
class Meaning:
    """What a dialect means by a type id.

    ``described``: the name is that of a type of the spec, which decodes. Otherwise the sizes
    are all that is known; no elements where not even those are.
    """

    id: int
    name: str
    elements: int
    bytes: int
    row_prefix: int
    tensor_suffix: int
    described: bool
    verified: bool
    source: str
    note: str


@dataclass(frozen=True)
class Dialect:
    """``types`` are those that differ from ggml's; ``folded_by`` starts keys of a rotation."""

    name: str
    doc: str
    folded_by: str
    types: tuple[Meaning, ...]
    file: str


def load_dialects(
    folder: Path, types: Mapping[str, Sizes], *, root: Path, schemas: Path
) -> tuple[Dialect, ...]:
    """The dialects of a folder, ggml's own first; raises SpecError.

    types: those that have a name of their own, without elements where they have no layout.
    root: what file names in errors are relative to. schemas: the folder spec/schema.
    """
    dialects = []
    for path in sorted(folder.glob("*.yaml")):
        source = load_checked(path, root, schemas / "dialect.schema.json")
        source.check_file_name(source.data["name"])
        dialects.append(_dialect(source, types))
    return tuple(sorted(dialects, key=lambda dialect: (dialect.name != BASE, dialect.name)))


def _dialect(source: Source, types: Mapping[str, Sizes]) -> Dialect:
    data = source.data
    meanings: dict[int, Meaning] = {}
    for number, entry in enumerate(data["types"]):
        path = ("types", number)
        meaning = _meaning({**data, **entry}, entry, types, source, path)
        if meaning.id in meanings:
            source.fail((*path, "id"), f"{meanings[meaning.id].name} has this id already")
        meanings[meaning.id] = meaning
    return Dialect(
        name=data["name"],
        doc=data["doc"],
        folded_by=data.get("folded_by", ""),
        types=tuple(meanings[number] for number in sorted(meanings)),
        file=source.file,
    )


def _meaning(
    given: Mapping[str, Any],
    entry: Mapping[str, Any],
    types: Mapping[str, Sizes],
    source: Source,
    path: YamlPath,
) -> Meaning:
    """``given`` is the entry with what the whole file says of all of them."""
    for key in ("verified", "source"):
        if key not in given:
            source.fail(path, f"missing key: {key} (here or for the whole file)")
    if ("type" in entry) == ("name" in entry):
        source.fail(path, "either type, which the spec describes, or name")
    sizes = types.get(entry.get("type", ""))
    if "type" in entry and not (sizes and sizes[0]):
        source.fail((*path, "type"), f"the spec has no layout {entry['type']}")
    if entry.get("name") in types:
        source.fail((*path, "name"), f"{entry['name']} is a type of the spec; say type: instead")
    described = sizes is not None
    elements, size, prefix, suffix = sizes or (
        entry.get("elements", 0), entry.get("bytes", 0),
        entry.get("row_prefix", 0), entry.get("tensor_suffix", 0),
    )  # fmt: skip
    return Meaning(
        id=entry["id"],
        name=entry["type"] if described else entry["name"],
        elements=elements,
        bytes=size,
        row_prefix=prefix,
        tensor_suffix=suffix,
        described=described,
        verified=given["verified"],
        source=given["source"],
        note=entry.get("note", ""),
    )


def sizes_of(kind: BlockType) -> Sizes:
    """The sizes of a type of the spec."""
    return kind.elements, kind.bytes, kind.prefix_bytes, kind.suffix_bytes


_FRAME = '''"""Dialects: what forks of ggml mean by type ids, where it differs from ggml."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """What a dialect means by a type id; sizes in bytes, no elements where nobody knows them.

    `described` types are in the type table and decode; `verified` says that a second source
    agrees with `source`.
    """

    id: int
    name: str
    elements: int
    bytes: int
    row_prefix: int
    tensor_suffix: int
    described: bool
    verified: bool
    source: str
    note: str


class DialectInfo(NamedTuple):
    """A dialect: every id that `types` does not list means what it means in ggml.

    Keys that start with `folded_by` declare that the stored weights are folded by a rotation.
    """

    name: str
    doc: str
    folded_by: str
    types: tuple[Meaning, ...]


'''


def spec_dialects(spec: Spec) -> tuple[Dialect, ...]:
    """The dialects of the spec itself; raises SpecError."""
    return load_dialects(
        spec.root / "dialects",
        {kind.name: sizes_of(kind) for kind in spec.every},
        root=spec.root,
        schemas=spec.root / "schema",
    )


def outputs(spec: Spec) -> list[Output]:
    """generated/dialects.py."""
    dialects = spec_dialects(spec)
    if not dialects or dialects[0].name != BASE:
        message = "missing: the dialect that all others differ from"
        raise SpecError(f"dialects/{BASE}.yaml", 1, (), message)
    described = {m.name for dialect in dialects for m in dialect.types if m.described}
    files = (
        *(dialect.file for dialect in dialects),
        *(kind.file for kind in spec.every if kind.name in described),
    )
    return [Output("dialects.py", emit_python(dialects), files)]


def emit_python(dialects: tuple[Dialect, ...]) -> str:
    """The body of generated/dialects.py."""
    lines = ["DIALECTS: tuple[DialectInfo, ...] = ("]
    for dialect in dialects:
        lines.append(f"    DialectInfo({dialect.name!r}, {dialect.doc!r}, {dialect.folded_by!r}, (")
        lines += [f"        {_call(meaning)}," for meaning in dialect.types]
        lines.append("    )),")
    return _FRAME + "\n".join([*lines, ")"]) + "\n"


def _call(meaning: Meaning) -> str:
    return f"Meaning({', '.join(repr(value) for value in vars(meaning).values())})"
