"""Container description: YAML files of spec/container to the checked model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..schema import load_checked
from ..source import Source
from .model import SECTIONS, Container, Field, Profile, Rule, Section, Syntax, ValueType
from .proof import check_container

_NAMES = ("layout", "values", "profiles", "rules")
FILES = tuple(f"container/{name}.yaml" for name in _NAMES)
_FIXED = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}


@dataclass(frozen=True)
class Sources:
    """The parsed files, for errors that name a line."""

    layout: Source
    values: Source
    profiles: Source
    rules: Source


def load_container(spec: Path) -> Container:
    """Read and check spec/container; raises SpecError with file, line and YAML path."""
    sources = Sources(**{name: _load_file(spec, name) for name in _NAMES})
    profiles = tuple(
        Profile(name, entry["doc"], entry.get("default_of", ""))
        for name, entry in sources.profiles.data.items()
    )
    container = _build(sources, profiles)
    check_container(container, sources.layout, sources.values, sources.profiles, sources.rules)
    return container


def _load_file(spec: Path, name: str) -> Source:
    schema = spec / "schema" / f"container_{name}.schema.json"
    return load_checked(spec / "container" / f"{name}.yaml", spec, schema)


def _build(sources: Sources, profiles: tuple[Profile, ...]) -> Container:
    layout = sources.layout.data
    data, syntax = layout["data"], layout["syntax"]
    return Container(
        doc=layout.get("doc", ""),
        versions=tuple(layout["versions"]),
        current=layout["current"],
        widths=_widths(layout),
        below=layout["byte_order"]["below"],
        sections=tuple(_section(sources.layout, name) for name in SECTIONS),
        string_length=layout["string"]["length"],
        array=tuple(layout["array"].items()),
        alignment_key=data["alignment_key"],
        alignment_default=data["alignment_default"],
        padding=data["padding"],
        syntax=Syntax(
            syntax["word"],
            syntax["separator"],
            tuple((first, last) for first, last in syntax["forbidden"]),
        ),
        value_types=_value_types(sources.values.data, layout["versions"][0]),
        profiles=profiles,
        rules=tuple(_rule(id_, entry, profiles) for id_, entry in sources.rules.data.items()),
    )


def _widths(layout: dict[str, Any]) -> dict[str, dict[int, int]]:
    first = layout["versions"][0]
    widths = {name: {first: size} for name, size in _FIXED.items()}
    for name, steps in layout["widths"].items():
        widths[name] = {int(version[1:]): _FIXED[width] for version, width in steps.items()}
    return widths


def _section(source: Source, name: str) -> Section:
    fields: list[Field] = []
    column = 1  # behind `start`
    for field_name, entry in source.data["sections"][name].items():
        field = _field(source, name, field_name, column)
        fields.append(field)
        column += len(field.columns)
        if entry.get("since", 0) and entry["since"] not in source.data["versions"]:
            source.fail(("sections", name, field_name, "since"), "not one of the versions")
    return Section(name, tuple(fields))


def _field(source: Source, section: str, name: str, column: int) -> Field:
    entry = source.data["sections"][section][name]
    path = ("sections", section, name)
    kinds = [kind for kind in ("bytes", "number", "string", "value") if kind in entry]
    if len(kinds) != 1:
        source.fail(path, "a field is one of bytes, number, string, value")
    told_by = source.data["byte_order"]["told_by"]
    is_version = section == "header" and name == told_by
    return Field(
        name=name,
        kind="version" if is_version and kinds == ["number"] else _KINDS[kinds[0]],
        width=entry.get(kinds[0]) if kinds[0] != "bytes" else "",
        column=column,
        columns=_columns(name, kinds[0], entry),
        since=entry.get("since", source.data["versions"][0]),
        literal=entry["bytes"].encode("latin-1") if kinds[0] == "bytes" else b"",
        lookalikes=tuple(
            (start.encode("latin-1"), what) for start, what in entry.get("lookalikes", {}).items()
        ),
        counts=entry.get("counts", ""),
        repeat=entry.get("repeat", ""),
        most=entry.get("most", 1),
        doc=entry.get("doc", ""),
    )


_KINDS: dict[str, Any] = {
    "bytes": "literal",
    "number": "number",
    "string": "string",
    "value": "value",
}


def _columns(name: str, kind: str, entry: dict[str, Any]) -> tuple[str, ...]:
    match kind:
        case "number" if "repeat" in entry:
            return tuple(f"{name}_{axis}" for axis in range(entry.get("most", 1)))
        case "number":
            return (name,)
        case "string":
            return (f"{name}_offset", f"{name}_length")
        case "value":
            return (f"{name}_type", "element_type", "count", f"{name}_offset", f"{name}_end")
        case _:
            return ()


def _value_types(data: dict[str, Any], first_version: int) -> tuple[ValueType, ...]:
    kinds = (
        ValueType(
            id=entry["id"],
            name=name,
            kind=entry["kind"],
            bytes=entry.get("bytes", 0),
            since=entry.get("since", first_version),
        )
        for name, entry in data.items()
    )
    return tuple(sorted(kinds, key=lambda kind: kind.id))


def _rule(id_: str, entry: dict[str, Any], profiles: tuple[Profile, ...]) -> Rule:
    def by_profile(value: Any, absent: Any) -> tuple[Any, ...]:
        if isinstance(value, dict):
            return tuple(value.get(profile.name, absent) for profile in profiles)
        return tuple(value for _ in profiles)

    return Rule(
        id=id_,
        name=entry["name"],
        at=entry["at"],
        check=entry["check"],
        severities=by_profile(entry["severity"], ""),
        limits=by_profile(entry.get("limit"), None),
        source=tuple(entry["source"]),
        message=entry["message"],
        hint=entry["hint"],
        key=entry.get("key", ""),
        unsupported=entry.get("unsupported", False),
    )
