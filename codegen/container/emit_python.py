"""The container's tables for Python: generated/container.py."""

from __future__ import annotations

from collections.abc import Iterable

from .digest import digest
from .model import SECTIONS, Container, Field, Profile, Rule, ValueType
from .vocabulary import CHECKS, WALK_CHECKS

_FRAME = '''"""The container as tables: records, value types, rules and profiles of GGUF files."""

from __future__ import annotations

from typing import NamedTuple


class Field(NamedTuple):
    """One field of a record, as one version has it.

    `width` is the bytes of a number, of a string's length or of a value's type id; a scan
    keeps it in `columns` columns from `column` on. `repeat` is the column that says how
    often the number stands here (at most `most` times), -1 for once. `rules` are numbers
    of rules that look at nothing but this field.
    """

    name: str
    kind: str  # literal, version, number, string, value
    width: int
    column: int
    columns: int
    literal: bytes
    counts: str  # the section whose records the field counts
    repeat: int
    most: int
    rules: tuple[int, ...]


class ValueType(NamedTuple):
    """A type of metadata values: `bytes` of one scalar (0 if it has a length)."""

    id: int
    name: str
    kind: str  # uint, int, float, bool, string, array
    bytes: int
    since: int
    rules: tuple[int, ...]


class Layout(NamedTuple):
    """What one version of the container looks like."""

    version: int
    sections: tuple[tuple[Field, ...], ...]  # one tuple of fields for each of SECTIONS
    smallest: tuple[int, ...]  # the fewest bytes of a record of each section
    string_length: int  # bytes of the length in front of a string
    array: tuple[tuple[str, int], ...]  # the numbers in front of an array's elements: name, bytes
    value_types: tuple[ValueType, ...]
    smallest_values: tuple[int, ...]  # the fewest bytes of a value of each of them


class Rule(NamedTuple):
    """One thing a file must keep to; severities and limits have one entry a profile."""

    id: str
    name: str
    at: str
    check: str
    severities: tuple[str, ...]  # error, warning, info; "" where the profile does not ask
    limits: tuple[int, ...]  # -1 where there is none
    key: str
    unsupported: bool
    source: tuple[str, ...]
    message: str
    hint: str


class Profile(NamedTuple):
    """Whom a file has to please."""

    name: str
    doc: str


'''


def emit_python(container: Container) -> str:
    """Text of generated/container.py."""
    parts = [
        _FRAME.rstrip("\n"),
        "",
        "",
        _constant("DIGEST", digest(container)),
        _constant("VERSIONS", container.versions),
        _constant("CURRENT_VERSION", container.current),
        _constant("VERSION_BELOW", container.below),
        _constant("ALIGNMENT_KEY", container.alignment_key),
        _constant("ALIGNMENT_DEFAULT", container.alignment_default),
        _constant("PADDING", bytes([container.padding])),
        _constant("WORD", container.syntax.word),
        _constant("SEPARATOR", container.syntax.separator),
        _table("FORBIDDEN", map(repr, container.syntax.forbidden), "tuple[tuple[int, int], ...]"),
        _table("LOOKALIKES", map(repr, _lookalikes(container)), "tuple[tuple[bytes, str], ...]"),
        _constant("SECTIONS", SECTIONS),
        _table("COLUMNS", (repr(container.section(name).columns) for name in SECTIONS), None),
        _constant("MOST_DIMS", container.section("tensors").field("dims").most),
        _constant("DEEPEST", container.deepest),
        _constant("RULES_DEPTH", container.depth_rules),
        _constant("RULES_COUNT", container.count_rules),
        "",
        _table("RULES", map(_rule, container.rules), "tuple[Rule, ...]"),
        "# The number of the rule that claims a check with a place of its own.",
        _mapping("RULE_OF", ((c, container.rule_of(c)) for c in WALK_CHECKS), "dict[str, int]"),
        "# What the two numbers of a finding are called in the messages of a check.",
        _mapping("ARGUMENTS", ((c, (k.first, k.second)) for c, k in CHECKS.items()), None),
        "",
        _table("PROFILES", map(_profile, container.profiles), "tuple[Profile, ...]"),
        _mapping(
            "DEFAULT_PROFILE",
            ((p.default_of, p.name) for p in container.profiles if p.default_of),
            "dict[str, str]",
        ),
        "",
        _table("_TYPES", (_value_type(container, k) for k in container.value_types), None),
        "",
        "LAYOUTS: dict[int, Layout] = {",
        *(_layout(container, version) for version in container.versions),
        "}",
    ]
    return "\n".join(parts) + "\n"


def _constant(name: str, value: object) -> str:
    return f"{name} = {value!r}"


def _table(name: str, rows: Iterable[str], annotation: str | None) -> str:
    head = f"{name}: {annotation} = (" if annotation else f"{name} = ("
    return "\n".join([head, *(f"    {row}," for row in rows), ")"])


def _mapping(name: str, items: Iterable[tuple[str, object]], annotation: str | None) -> str:
    head = f"{name}: {annotation} = {{" if annotation else f"{name} = {{"
    return "\n".join([head, *(f"    {key!r}: {value!r}," for key, value in items), "}"])


def _lookalikes(container: Container) -> tuple[tuple[bytes, str], ...]:
    return tuple(pair for field in container.section("header").fields for pair in field.lookalikes)


def _rule(rule: Rule) -> str:
    limits = tuple(-1 if limit is None else limit for limit in rule.limits)
    values = (
        *(rule.id, rule.name, rule.at, rule.check, rule.severities, limits, rule.key),
        *(rule.unsupported, rule.source, rule.message, rule.hint),
    )
    return f"Rule({', '.join(map(repr, values))})"


def _profile(profile: Profile) -> str:
    return f"Profile({profile.name!r}, {profile.doc!r})"


def _value_type(container: Container, kind: ValueType) -> str:
    rules = container.rules_of_value(kind)
    values = (kind.id, kind.name, kind.kind, kind.bytes, kind.since, rules)
    return f"ValueType({', '.join(map(repr, values))})"


def _layout(container: Container, version: int) -> str:
    """One version: its fields in full, its value types by reference."""
    lines = [f"    {version}: Layout(", f"        {version},", "        ("]
    for name in SECTIONS:
        fields = [_field(container, name, f, version) for f in container.fields(name, version)]
        lines += ["            (", *(f"{' ' * 16}{field}," for field in fields), "            ),"]
    kinds = container.types(version)
    numbers = [container.value_types.index(kind) for kind in kinds]
    array = tuple((name, container.bytes_of(width, version)) for name, width in container.array)
    lines += [
        "        ),",
        f"        {tuple(container.smallest(name, version) for name in SECTIONS)!r},",
        f"        {container.bytes_of(container.string_length, version)},",
        f"        {array!r},",
        f"        ({', '.join(f'_TYPES[{number}]' for number in numbers)},),",
        f"        {tuple(container.smallest_value(kind, version) for kind in kinds)!r},",
        "    ),",
    ]
    return "\n".join(lines)


def _field(container: Container, section: str, field: Field, version: int) -> str:
    repeat = container.repeat_column(section, field)
    width = container.width_of(field, version)
    rules = container.rules_of_field(section, field)
    values = (
        *(field.name, field.kind, width, field.column, len(field.columns), field.literal),
        *(field.counts, repeat, field.most, rules),
    )
    return f"Field({', '.join(map(repr, values))})"
