"""Recipes: the YAML files of spec/recipes to the checked model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..schema import load_checked
from ..source import Source
from ..spec import Spec
from .checks import check_recipes
from .model import (
    Conditions,
    Fact,
    Fallback,
    FileType,
    Guess,
    LayerCount,
    Option,
    Recipes,
    Role,
    Rule,
    Section,
)

_NAMES = ("file_types", "rules", "tensors")
FILES = tuple(f"recipes/{name}.yaml" for name in _NAMES)
_LISTS = ("file_type", "role", "arch", "not_arch", "chosen", "contains", "name")
_RESULTS = ("type", "why", "n")
_EIGHTH = 8  # "middle" and "more" are measured in eighths


@dataclass(frozen=True)
class Sources:
    """The parsed files, for errors that name a line."""

    file_types: Source
    rules: Source
    tensors: Source


def load_recipes(spec: Spec) -> Recipes:
    """Read and check spec/recipes; raises SpecError with file, line and YAML path."""
    sources = Sources(**{name: _load_file(spec, name) for name in _NAMES})
    types, rules, tensors = sources.file_types.data, sources.rules.data, sources.tensors.data
    sets = rules["sets"]
    recipes = Recipes(
        file_types=tuple(_file_type(name, entry) for name, entry in types["file_types"].items()),
        guess=Guess(**types["guess"]),
        facts=tuple(_fact(name, entry) for name, entry in tensors["facts"].items()),
        layers=tuple(
            LayerCount(entry["arch"], entry.get("plus", 0), entry.get("times", ""))
            for entry in tensors["layers"]
        ),
        roles=tuple(
            Role(name, _conditions(entry), entry.get("n", ""))
            for name, entry in tensors["roles"].items()
        ),
        keep=_rules(tensors["keep"]),
        options=tuple(
            Option(name, entry["role"], _list(entry.get("yields", [])))
            for name, entry in tensors["options"].items()
        ),
        sections=tuple(_section(name, entry, sets) for name, entry in rules["sections"].items()),
        fallback=Fallback(**{**rules["fallback"], "none": tuple(rules["fallback"]["none"])}),
        exempt=tuple(rules["imatrix"]["exempt"]),
        required=_rules(rules["imatrix"]["required"], sets),
    )
    check_recipes(recipes, spec, sources.file_types, sources.rules, sources.tensors)
    return recipes


def _load_file(spec: Spec, name: str) -> Source:
    schema = spec.root / "schema" / f"recipe_{name}.schema.json"
    return load_checked(spec.root / "recipes" / f"{name}.yaml", spec.root, schema)


def _file_type(name: str, entry: Mapping[str, Any]) -> FileType:
    return FileType(
        id=entry.get("id"),
        name=name,
        type=entry.get("type", ""),
        status=entry.get("status", "offered"),
        alias=entry.get("alias", ""),
        display=entry.get("display", name),
    )


def _fact(name: str, entry: Mapping[str, str]) -> Fact:
    return Fact(name, entry["key"], entry.get("default", ""))


def _section(name: str, entry: Mapping[str, Any], sets: Mapping[str, list[str]]) -> Section:
    when = entry["when"] if isinstance(entry["when"], list) else [entry["when"]]
    return Section(
        name=name,
        when=tuple(_conditions(one, sets) for one in when),
        option=entry.get("option", ""),
        by_layer=entry.get("by_layer", False),
        rules=_rules(entry["rules"], sets),
        then=_rules(entry.get("then", []), sets),
    )


def _rules(
    entries: Iterable[Mapping[str, Any]], sets: Mapping[str, list[str]] | None = None
) -> tuple[Rule, ...]:
    return tuple(
        Rule(_conditions(entry, sets or {}), entry.get("type", ""), entry["why"])
        for entry in entries
    )


def _conditions(
    entry: Mapping[str, Any], sets: Mapping[str, list[str]] | None = None
) -> Conditions:
    return tuple(
        (name, _argument(name, value, sets or {}))
        for name, value in entry.items()
        if name not in _RESULTS
    )


def _argument(name: str, value: Any, sets: Mapping[str, list[str]]) -> Any:
    if name == "position":
        return _position(value)
    if name not in _LISTS:
        return value
    members = [sets.get(one, [one]) if name == "file_type" else [one] for one in _list(value)]
    return tuple(one for some in members for one in some)


def _position(text: str) -> tuple[str, int]:
    """``first 4`` counts, ``first 1/8`` is a part of n, the others are measured in eighths."""
    word, _, number = text.partition(" ")
    if not number:
        return word, _EIGHTH
    over, _, under = number.partition("/")
    return ("part", int(under)) if under else (word, int(over))


def _list(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
