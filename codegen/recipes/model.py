"""The recipes as data: what spec/recipes says, with every set spelled out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Conditions = tuple[tuple[str, Any], ...]
"""Named conditions that all have to hold: ``(("role", ("attn_v",)), ("min_gqa", 4))``."""


@dataclass(frozen=True)
class FileType:
    """A value of general.file_type. ``type`` is empty for those that nobody can ask for."""

    id: int | None
    name: str
    type: str
    status: str
    alias: str
    display: str


@dataclass(frozen=True)
class Guess:
    """The file type where the key is missing, by the most frequent tensor type."""

    bit: int
    prefix: str
    unknown: str
    otherwise: str
    types: Mapping[str, str]


@dataclass(frozen=True)
class Fact:
    """A number of the model: the key it stands in, and the fact that replaces a missing key."""

    name: str
    key: str
    default: str


@dataclass(frozen=True)
class LayerCount:
    """An architecture whose layers are not the file's blocks; ``times`` is a key."""

    arch: str
    plus: int
    times: str


@dataclass(frozen=True)
class Role:
    """What a tensor does; ``n``: its position is counted among "tensors" or "layers", or not."""

    name: str
    when: Conditions
    n: str


@dataclass(frozen=True)
class Rule:
    """``type`` where all conditions hold, because of ``why``."""

    when: Conditions
    type: str
    why: str


@dataclass(frozen=True)
class Option:
    """A type given by option for a role; tensors of ``yields`` follow a pattern instead."""

    name: str
    role: str
    yields: tuple[str, ...]


@dataclass(frozen=True)
class Section:
    """Rules for the tensors for which one of ``when`` holds."""

    name: str
    when: tuple[Conditions, ...]
    option: str
    by_layer: bool
    rules: tuple[Rule, ...]
    then: tuple[Rule, ...]


@dataclass(frozen=True)
class Fallback:
    """What to take where a row is not whole blocks; ``none`` has no replacement."""

    small_block: int
    last_resort: str
    types: Mapping[str, str]
    none: tuple[str, ...]


@dataclass(frozen=True)
class Recipes:
    file_types: tuple[FileType, ...]
    guess: Guess
    facts: tuple[Fact, ...]
    layers: tuple[LayerCount, ...]
    roles: tuple[Role, ...]
    keep: tuple[Rule, ...]
    options: tuple[Option, ...]
    sections: tuple[Section, ...]
    fallback: Fallback
    exempt: tuple[str, ...]
    required: tuple[Rule, ...]
