"""spec/upstream.yaml: what ggml calls otherwise, and the differences that are meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SpecError
from ..schema import load_checked
from ..source import Source, load_yaml
from ..spec import Spec
from .facts import StructField

FILE = "upstream.yaml"
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*")
_MEMBER = re.compile(r"(\w+) (\w+)(?:\[(\d+)\])?")


@dataclass(frozen=True)
class Difference:
    """A drift that is meant, and why; ``source`` is empty where it holds for all sources."""

    kind: str
    name: str
    source: str
    why: str


@dataclass(frozen=True)
class Declared:
    """A member that ggml declares otherwise than the spec: its form there, our fields."""

    theirs: StructField
    ours: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class LeftOut:
    """A codebook that the spec does without."""

    sha256: str
    why: str


@dataclass(frozen=True)
class Quantizer:
    """A quantizer that wrote other bytes up to a version of ggml."""

    until: str
    why: str

    def covers(self, version: str) -> bool:
        """Whether a library of this version is one of them; one without a version is not."""
        numbers = _VERSION.match(version)
        return numbers is not None and _parts(numbers[0]) <= _parts(self.until)


@dataclass(frozen=True)
class Known:
    """The file's content; ``constants`` maps ggml's names, and gguf-py's, to our values.

    homes: which file of ggml has a constant.
    """

    constants: Mapping[str, int | float | str]
    tables: Mapping[str, str]
    left_out: Mapping[str, LeftOut]
    structs: Mapping[str, tuple[Declared, ...]]
    architectures: tuple[str, ...]
    differences: tuple[Difference, ...]
    quantizers: Mapping[str, Quantizer]
    homes: Mapping[str, str]


def load_known(spec: Spec) -> Known:
    """Read and check the file; raises SpecError."""
    root = spec.root
    source = load_checked(root / FILE, root, root / "schema" / "upstream.schema.json")
    data = source.data
    for name in data["tables"]:
        if name not in spec.tables:
            source.fail(("tables", name), f"the spec has no table {name}")
    types = {kind.name: kind for kind in spec.types}
    for name, members in data["structs"].items():
        if name not in types:
            source.fail(("structs", name), f"the spec has no type {name}")
        fields = {field.name for field in types[name].fields}
        for number, member in enumerate(members):
            for field in member["ours"]:
                if field not in fields:
                    path = ("structs", name, number, "ours")
                    source.fail(path, f"{name} has no field {field}")
    return Known(
        constants=_constants(source, root),
        tables={theirs: ours for ours, e in data["tables"].items() for theirs in e["theirs"]},
        left_out={name: LeftOut(**entry) for name, entry in data["left_out"].items()},
        structs={
            name: tuple(_declared(member) for member in members)
            for name, members in data["structs"].items()
        },
        architectures=tuple(data["architectures"]),
        differences=tuple(
            Difference(e["kind"], e["name"], e.get("source", ""), e["why"])
            for e in data["differences"]
        ),
        quantizers={name: Quantizer(**entry) for name, entry in data["quantizers"].items()},
        homes={name: entry["in"] for name, entry in data["constants"].items()},
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _constants(source: Source, root: Path) -> dict[str, int | float | str]:
    values: dict[str, int | float | str] = {}
    files: dict[str, Any] = {}
    for name, entry in source.data["constants"].items():
        path = ("constants", name)
        value: Any = entry.get("value")
        if "at" in entry:
            value = _at(source, root, entry, path, files)
        if "plus" in entry:
            value += entry["plus"]
        for called in (name, *entry.get("aliases", ())):
            values[called] = value
    return values


def _at(
    source: Source,
    root: Path,
    entry: Mapping[str, Any],
    path: tuple[str, ...],
    files: dict[str, Any],
) -> Any:
    """The value at a place of the spec; ``files`` are those that were read."""
    file = entry["at"]
    try:
        value = files[file] if file in files else load_yaml(root / file, root).data
    except OSError:
        source.fail((*path, "at"), f"the spec has no file {file}")
    files[file] = value
    for step in entry["path"]:
        if not isinstance(value, Mapping) or step not in value:
            source.fail((*path, "path"), f"{entry['at']} has no {'.'.join(entry['path'])}")
        value = value[step]
    if not isinstance(value, int | float | str):
        raise SpecError(source.file, source.line(path), path, "no number and no text stands there")
    return value


def _declared(entry: Mapping[str, Any]) -> Declared:
    match = _MEMBER.fullmatch(entry["theirs"])
    assert match is not None  # the schema says so
    count = int(match[3]) if match[3] else None
    return Declared(StructField(match[2], match[1], count), tuple(entry["ours"]), entry["why"])
