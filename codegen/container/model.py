"""The checked model of the container: what every emitter reads, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .vocabulary import NUMBER_CHECKS, TEXT_CHECKS

FieldKind = Literal["literal", "version", "number", "string", "value"]
ValueKind = Literal["uint", "int", "float", "bool", "string", "array"]

#: The sections whose records the cursors walk, in the order of the file.
SECTIONS = ("header", "metadata", "tensors")


@dataclass(frozen=True)
class Field:
    """One field of a record. `columns` name what a scan keeps of it, from `column` on.

    `since` is the first version that has it; `width` the name of its width or a fixed
    number type; `repeat` the name of the field that says how often it stands here, at
    most `most` times; `counts` the section whose records it counts.
    """

    name: str
    kind: FieldKind
    width: str
    column: int
    columns: tuple[str, ...]
    since: int = 1
    literal: bytes = b""
    lookalikes: tuple[tuple[bytes, str], ...] = ()
    counts: str = ""
    repeat: str = ""
    most: int = 1
    doc: str = ""


@dataclass(frozen=True)
class Section:
    """The fields of one kind of record, those of newer versions included."""

    name: str
    fields: tuple[Field, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """What a scan keeps of a record: where it starts, and the columns of its fields."""
        extra = ("nbytes",) if self.name == "tensors" else ()
        return ("start", *(name for field in self.fields for name in field.columns), *extra)

    def field(self, name: str) -> Field:
        """The field of that name."""
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True)
class ValueType:
    """A type of metadata values; `bytes` is 0 for those that have a length."""

    id: int
    name: str
    kind: ValueKind
    bytes: int
    since: int


@dataclass(frozen=True)
class Profile:
    """Whom a file has to please; `default_of` is the function that uses it unless told."""

    name: str
    doc: str
    default_of: str


@dataclass(frozen=True)
class Rule:
    """One thing a file must keep to.

    `severities` and `limits` have one entry a profile, "" and None where it does not ask.
    """

    id: str
    name: str
    at: str
    check: str
    severities: tuple[str, ...]
    limits: tuple[int | None, ...]
    source: tuple[str, ...]
    message: str
    hint: str
    key: str = ""
    unsupported: bool = False


@dataclass(frozen=True)
class Syntax:
    """The bytes of a well-formed key and the code points that names should not contain."""

    word: str
    separator: str
    forbidden: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Container:
    """Everything that the specification says about the container."""

    doc: str
    versions: tuple[int, ...]
    current: int
    widths: dict[str, dict[int, int]]  # name -> version it holds from -> bytes
    below: int  # the version is below this number in the file's byte order
    sections: tuple[Section, ...]
    string_length: str
    array: tuple[tuple[str, str], ...]  # element_type and count with their widths, as stored
    alignment_key: str
    alignment_default: int
    padding: int
    syntax: Syntax
    value_types: tuple[ValueType, ...]
    profiles: tuple[Profile, ...]
    rules: tuple[Rule, ...]

    def section(self, name: str) -> Section:
        """The section of that name."""
        return next(section for section in self.sections if section.name == name)

    def bytes_of(self, width: str, version: int) -> int:
        """How many bytes a width has in a version."""
        steps = self.widths[width]
        return steps[max(since for since in steps if since <= version)]

    def fields(self, section: str, version: int) -> tuple[Field, ...]:
        """The fields that a record has in a version."""
        return tuple(field for field in self.section(section).fields if field.since <= version)

    def types(self, version: int) -> tuple[ValueType, ...]:
        """The value types that a version has, by id."""
        return tuple(kind for kind in self.value_types if kind.since <= version)

    def smallest_value(self, kind: ValueType, version: int) -> int:
        """The fewest bytes that a value of a type takes."""
        if kind.kind == "string":
            return self.bytes_of(self.string_length, version)
        if kind.kind == "array":
            return sum(self.bytes_of(width, version) for _, width in self.array)
        return kind.bytes

    def smallest_field(self, field: Field, version: int) -> int:
        """The fewest bytes that a field takes."""
        if field.repeat:
            return 0
        if field.kind == "literal":
            return len(field.literal)
        size = self.bytes_of(field.width, version)
        if field.kind == "value":
            size += min(self.smallest_value(kind, version) for kind in self.types(version))
        return size

    def smallest(self, section: str, version: int) -> int:
        """The fewest bytes that a record of a section takes."""
        fields = self.fields(section, version)
        return sum(self.smallest_field(field, version) for field in fields)

    def rules_at(self, place: str, checks: frozenset[str]) -> tuple[int, ...]:
        """The numbers of the rules at a place whose check is one of `checks`."""
        return tuple(
            number
            for number, rule in enumerate(self.rules)
            if rule.at == place and rule.check in checks
        )

    def rule_of(self, check: str) -> int:
        """The number of the rule that claims a check with a place of its own."""
        return next(number for number, rule in enumerate(self.rules) if rule.check == check)

    def rules_of_field(self, section: str, field: Field) -> tuple[int, ...]:
        """The rules that look at nothing but this field."""
        return self.rules_at(f"{section}.{field.name}", NUMBER_CHECKS | TEXT_CHECKS)

    def rules_of_value(self, kind: ValueType) -> tuple[int, ...]:
        """The rules that look at each value of a type."""
        return self.rules_at(f"value.{kind.name}", TEXT_CHECKS)

    @property
    def depth_rules(self) -> tuple[int, ...]:
        """The rules about how deep arrays nest."""
        return self.rules_at("array.depth", NUMBER_CHECKS)

    @property
    def count_rules(self) -> tuple[int, ...]:
        """The rules about how many elements an array has."""
        return self.rules_at("array.count", NUMBER_CHECKS)

    def width_of(self, field: Field, version: int) -> int:
        """Bytes of a field's number, length or type id, or of its literal."""
        return self.bytes_of(field.width, version) if field.width else len(field.literal)

    def repeat_column(self, section: str, field: Field) -> int:
        """The column that says how often a number stands in the record; -1 for once."""
        fields = self.section(section).fields
        return next((other.column for other in fields if other.name == field.repeat), -1)

    @property
    def deepest(self) -> int:
        """How deep arrays may nest under the most generous profile."""
        return max(
            limit
            for number in self.rules_at("array.depth", frozenset({"at_most"}))
            for limit in self.rules[number].limits
            if limit is not None
        )
