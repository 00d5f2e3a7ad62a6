"""generated/recipes.py: the tables that the engine in the runtime evaluates."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Recipes, Rule, Section

_HEAD = '''"""Which type each tensor gets: the tables that ``ggufspec.recipes`` evaluates."""

from typing import Any, NamedTuple

Conditions = tuple[tuple[str, Any], ...]
"""Named conditions, all of which have to hold, each with its argument."""


class FileType(NamedTuple):
    """A value of general.file_type; ``type`` is empty unless ``status`` is "offered".

    The others: "converter" (only converters write it), "retired", and "copy" (no number).
    """

    id: int | None
    name: str
    type: str
    status: str
    alias: str
    display: str


class Guess(NamedTuple):
    """The file type where the key is missing: by the most frequent tensor type."""

    bit: int
    prefix: str
    unknown: str
    otherwise: str
    types: dict[str, str]


class Fact(NamedTuple):
    """A number of the model: its key, and the fact that stands in where the key is missing."""

    name: str
    key: str
    default: str


class LayerCount(NamedTuple):
    """An architecture whose layers are not the file's blocks; ``times`` is a key."""

    arch: str
    plus: int
    times: str


class Role(NamedTuple):
    """What a tensor does; ``n``: what positions are a part of, "tensors" or "layers"."""

    name: str
    when: Conditions
    n: str


class Option(NamedTuple):
    """A type that the user gives for a role; names in ``yields`` follow a pattern instead."""

    name: str
    role: str
    yields: tuple[str, ...]


class Rule(NamedTuple):
    """``type``, because of ``why``, where all conditions hold."""

    when: Conditions
    type: str
    why: str


class Section(NamedTuple):
    """Rules for tensors for which one of ``when`` holds; ``then`` sees what they chose."""

    name: str
    when: tuple[Conditions, ...]
    option: str
    by_layer: bool
    rules: tuple[Rule, ...]
    then: tuple[Rule, ...]


'''


def emit_python(recipes: Recipes) -> str:
    """The body of generated/recipes.py."""
    parts = [
        _table("FILE_TYPES", "FileType", map(_row, recipes.file_types)),
        f"GUESS = {_row(recipes.guess)}\n\n",
        _table("FACTS", "Fact", map(_row, recipes.facts)),
        _table("LAYERS", "LayerCount", map(_row, recipes.layers)),
        _table("ROLES", "Role", map(_row, recipes.roles)),
        _table("KEEP", "Rule", map(_row, recipes.keep)),
        _table("OPTIONS", "Option", map(_row, recipes.options)),
        _table("SECTIONS", "Section", map(_section, recipes.sections)),
        f"SMALL_BLOCK = {recipes.fallback.small_block}\n",
        f"LAST_RESORT = {recipes.fallback.last_resort!r}\n",
        f"FALLBACK = {recipes.fallback.types!r}\n\n",
        _table("MATRIX_REQUIRED", "Rule", map(_row, recipes.required)),
        f"MATRIX_EXEMPT = {recipes.exempt!r}\n",
    ]
    return _HEAD + "".join(parts)


def _table(name: str, kind: str, rows: Iterable[str]) -> str:
    return f"{name}: tuple[{kind}, ...] = (\n" + "".join(f"    {row},\n" for row in rows) + ")\n\n"


def _row(row: object) -> str:
    return f"{type(row).__name__}({', '.join(map(repr, vars(row).values()))})"


def _section(section: Section) -> str:
    head = (section.name, section.when, section.option, section.by_layer)
    return f"Section({', '.join(map(repr, head))}, {_rules(section.rules)}, {_rules(section.then)})"


def _rules(rules: tuple[Rule, ...]) -> str:
    if not rules:
        return "()"
    return "(\n" + "".join(f"        {_row(rule)},\n" for rule in rules) + "    )"
