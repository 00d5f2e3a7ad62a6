"""The container's tables for Rust, and what the frames say of value types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...container.model import SECTIONS, Container, Rule, ValueType
from ...container.vocabulary import CHECKS, WALK_CHECKS


@dataclass(frozen=True)
class Kind:
    """A value type as frames need it: the variant of the enums, the Rust type it holds."""

    of: ValueType

    @property
    def id(self) -> int:
        return self.of.id

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def kind(self) -> str:
        return self.of.kind

    @property
    def bytes(self) -> int:
        return self.of.bytes

    @property
    def since(self) -> int:
        return self.of.since

    @property
    def variant(self) -> str:
        return camel(self.of.name)

    @property
    def rust(self) -> str:
        letter = {"uint": "u", "int": "i", "float": "f"}.get(self.of.kind)
        if letter:
            return f"{letter}{8 * self.of.bytes}"
        return {"bool": "bool", "string": "Text", "array": "Array"}[self.of.kind]

    @property
    def borrows(self) -> bool:
        return self.of.kind in ("string", "array")

    @property
    def number(self) -> bool:
        return not self.borrows

    @property
    def integer(self) -> bool:
        return self.of.kind in ("uint", "int")

    @property
    def into_u64(self) -> bool:
        return self.of.kind == "uint" and self.of.bytes < 8

    @property
    def into_i64(self) -> bool:
        return self.integer and self.of.bytes < 8


def numbers(kinds: Sequence[Kind]) -> list[tuple[Kind, list[Kind]]]:
    """The number types of Rust: the first value type of each, and all that hold such numbers."""
    alike: dict[str, list[Kind]] = {}
    for kind in kinds:
        if kind.number:
            alike.setdefault(kind.rust, []).append(kind)
    return [(same[0], same) for same in alike.values()]


def camel(name: str) -> str:
    """`UINT8` as `Uint8`, `alignment_at_most` as `AlignmentAtMost`."""
    return "".join(part.capitalize() for part in name.split("_"))


def text(value: str) -> str:
    """A string literal."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def byte_text(value: bytes) -> str:
    """A byte string literal."""
    return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'


def constants(container: Container) -> Iterator[tuple[str, str, str]]:
    """Name, type and value: sizes, columns, numbers of rules."""
    sections = [container.section(name) for name in SECTIONS]
    yield "CURRENT_VERSION", "u32", str(container.current)
    yield "VERSION_BELOW", "u64", str(container.below)
    yield "DEEPEST", "usize", str(container.deepest)
    yield "ALIGNMENT_KEY", "&str", text(container.alignment_key)
    yield "ALIGNMENT_DEFAULT", "u64", str(container.alignment_default)
    yield "PADDING", "u8", str(container.padding)
    yield "SEPARATOR", "u8", str(ord(container.syntax.separator))
    yield "WORD", "&[u8]", f"b{text(container.syntax.word)}"
    yield "MOST_DIMS", "usize", str(container.section("tensors").field("dims").most)
    yield "MOST_FIELDS", "usize", str(max(len(section.fields) for section in sections))
    for number, section in enumerate(sections):
        yield section.name.upper(), "usize", str(number)
        yield f"{section.name.upper()}_COLUMNS", "usize", str(len(section.columns))
    for section in sections[1:]:
        for column, name in enumerate(section.columns[1:], 1):
            if "_" not in name or not name.rpartition("_")[2].isdigit():
                yield f"COLUMN_{name.upper()}", "usize", str(column)
    yield "COLUMN_DIMS", "usize", str(container.section("tensors").field("dims").column)
    for check in WALK_CHECKS:
        yield f"RULE_{check.upper()}", "usize", str(container.rule_of(check))
    (name_length,) = container.rules_at("tensors.name", frozenset({"at_most"}))
    yield "RULE_TENSORS_NAME_AT_MOST", "usize", str(name_length)
    yield "RULES_DEPTH", "&[usize]", _numbers(container.depth_rules)
    yield "RULES_COUNT", "&[usize]", _numbers(container.count_rules)


def rule(entry: Rule) -> str:
    """A row of `RULES`."""
    check = CHECKS[entry.check]
    severities = ", ".join(f"Severity::{camel(s or 'off')}" for s in entry.severities)
    limits = ", ".join(str(limit or 0) for limit in entry.limits)
    return (
        f"Rule {{ id: {text(entry.id)}, check: Check::{camel(entry.check)}, "
        f"at: {text(entry.at)}, key: {text(entry.key)}, "
        f"unsupported: {str(entry.unsupported).lower()}, "
        f"severities: [{severities}], limits: [{limits}], second: {text(check.second)}, "
        f"message: {text(entry.message)}, hint: {text(entry.hint)} }}"
    )


def checks() -> list[str]:
    """The variants of `Check`."""
    return [camel(check) for check in CHECKS]


def layouts(container: Container) -> list[dict[str, object]]:
    """What the versions have."""
    return [
        {
            "version": version,
            "string_length": container.bytes_of(container.string_length, version),
            "array": [
                (str(name == "count").lower(), container.bytes_of(width, version))
                for name, width in container.array
            ],
            "sections": [list(_fields(container, name, version)) for name in SECTIONS],
            "smallest": [container.smallest(name, version) for name in SECTIONS],
            "types": [_value_type(container, kind, version) for kind in container.types(version)],
        }
        for version in container.versions
    ]


def _fields(container: Container, section: str, version: int) -> Iterable[str]:
    for field in container.fields(section, version):
        column = container.repeat_column(section, field)
        repeat = "None" if column < 0 else f"Some({column})"
        yield (
            f"Field {{ name: {text(field.name)}, at: {text(f'{section}.{field.name}')}, "
            f"kind: Kind::{camel(field.kind)}, bytes: {container.width_of(field, version)}, "
            f"column: {field.column}, columns: {len(field.columns)}, repeat: {repeat}, "
            f"counts: {text(field.counts)}, literal: {byte_text(field.literal)}, "
            f"rules: {_numbers(container.rules_of_field(section, field))} }}"
        )


def _numbers(values: Iterable[int]) -> str:
    return f"&[{', '.join(map(str, values))}]"


def _value_type(container: Container, kind: ValueType, version: int) -> str:
    return (
        f"ValueInfo {{ id: {kind.id}, name: {text(kind.name)}, shape: Shape::{camel(kind.kind)}, "
        f"bytes: {kind.bytes}, smallest: {container.smallest_value(kind, version)}, "
        f"rules: {_numbers(container.rules_of_value(kind))} }}"
    )
