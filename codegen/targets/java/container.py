"""The container's tables: Container.java, Profile.java, ValueType.java."""

from __future__ import annotations

from collections.abc import Iterable

from ...container.model import SECTIONS, Container, Field, Rule
from ...container.vocabulary import (
    CHECKS,
    VALUE_CHECKS,
    WALK_CHECKS,
)
from .text import ints, longs, number, string

_CHECKS = frozenset({*VALUE_CHECKS, "present", "present_if_quantized"})
_KINDS = {"uint": "UNSIGNED", "int": "SIGNED"}
_TENSOR_FIELDS = ("name", "n_dims", "dims", "type", "offset")


def tables(container: Container, version: str) -> str:
    """Container.java."""
    constants = [
        _string("SPEC_VERSION", version),
        _int("CURRENT", container.current),
        _long("VERSION_BELOW", container.below),
        _string("ALIGNMENT_KEY", container.alignment_key),
        _long("ALIGNMENT_DEFAULT", container.alignment_default),
        _int("PADDING", container.padding),
        _string("WORD", container.syntax.word),
        f"static final char SEPARATOR = (char) {ord(container.syntax.separator)};",
        _int("DEEPEST", container.deepest),
        _int("MOST_DIMS", container.section("tensors").field("dims").most),
        _int("MOST_FIELDS", max(len(container.section(name).fields) for name in SECTIONS)),
        "",
        "// Sections, and what a walk keeps of their records.",
        *(_int(name.upper(), at) for at, name in enumerate((*SECTIONS, "data"))),
        _strings("SECTIONS", SECTIONS),
        _ints("COLUMNS", (len(container.section(name).columns) for name in SECTIONS)),
        *(_int(name, column) for name, column in _columns(container).items()),
        f"static final Set<String> TENSOR_FIELDS = Set.of({_listed(map(string, _TENSOR_FIELDS))});",
        "",
        "// The numbers of rules with a place of their own in the walk.",
        *(_int(name, rule) for name, rule in _rule_numbers(container).items()),
        _ints("DEPTH_RULES", container.depth_rules),
        _ints("COUNT_RULES", container.count_rules),
    ]
    ranges = ", ".join(f"{{{low}, {high}}}" for low, high in container.syntax.forbidden)
    pairs = [
        f"{{{string(magic.decode('latin-1'))}, {string(what)}}},"
        for field in container.section("header").fields
        for magic, what in field.lookalikes
    ]
    versions = _listed(f"version{version}()" for version in container.versions)
    lines = [
        *constants,
        "",
        f"static final int[][] FORBIDDEN = {{{ranges}}};",
        "static final String[][] LOOKALIKES = {",
        *(f"  {pair}" for pair in pairs),
        "};",
        "",
        "static final Rule[] RULES = {",
        *(f"  {_rule(rule)}," for rule in container.rules),
        "};",
        "",
        f"static final Layout[] LAYOUTS = {{{versions}}};",
        "",
        "private Container() {}",
        "",
        "/** Severities have a letter a profile: e for an error, - for anything else. */",
        "private static Rule rule(String id, int check, String severities, long[] limits,",
        "    String key, String first, String second, String message, String hint) {",
        "  boolean[] errors = new boolean[severities.length()];",
        "  for (int i = 0; i < errors.length; i++) {",
        "    errors[i] = severities.charAt(i) == 'e';",
        "  }",
        "  return new Rule(id, check, errors, limits, key, first, second, message, hint);",
        "}",
    ]
    for v in container.versions:
        lines += ["", *_layout(container, v)]
    body = "\n".join(f"  {line}" if line else "" for line in lines)
    return (
        "package ggufspec;\n\nimport java.util.Set;\n\n"
        "/** The container as tables: records, value types, rules and profiles. */\n"
        f"final class Container {{\n{body}\n}}\n"
    )


def profiles(container: Container) -> str:
    """Profile.java."""
    lines = ["package ggufspec;", "", "/** Whom a file has to please. */", "public enum Profile {"]
    for at, profile in enumerate(container.profiles):
        end = ";" if at + 1 == len(container.profiles) else ","
        lines += [f"  /** {profile.doc} */", f"  {profile.name.upper()}{end}"]
    default = next(p.name.upper() for p in container.profiles if p.default_of == "open")
    lines += [
        "",
        "  /** The profile of {@link Gguf#open} unless told. */",
        f"  public static final Profile DEFAULT = {default};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def value_types(container: Container, frame: str) -> str:
    """ValueType.java."""
    kinds = container.value_types
    rows = [
        f"  /** Since version {kind.since}. */\n"
        f"  {kind.name}({kind.id}, Kind.{_kind(kind.kind)}, {kind.bytes}, {kind.since})"
        for kind in kinds
    ]
    return frame.replace("@ROWS@", ",\n".join(rows))


def _kind(kind: str) -> str:
    return _KINDS.get(kind, kind.upper())


def _int(name: str, value: int) -> str:
    return f"static final int {name} = {value};"


def _long(name: str, value: int) -> str:
    return f"static final long {name} = {number(value)};"


def _string(name: str, value: str) -> str:
    return f"static final String {name} = {string(value)};"


def _ints(name: str, values: Iterable[int]) -> str:
    return f"static final int[] {name} = {{{_listed(values)}}};"


def _strings(name: str, values: Iterable[str]) -> str:
    return f"static final String[] {name} = {{{_listed(map(string, values))}}};"


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _columns(container: Container) -> dict[str, int]:
    metadata, tensors = container.section("metadata"), container.section("tensors")
    return {
        "KEY": metadata.field("key").column,
        "VALUE": metadata.field("value").column,
        "NAME": tensors.field("name").column,
        "RANK": tensors.field("n_dims").column,
        "DIMS": tensors.field("dims").column,
        "TYPE": tensors.field("type").column,
        "OFFSET": tensors.field("offset").column,
        "NBYTES": len(tensors.columns) - 1,
    }


def _rule_numbers(container: Container) -> dict[str, int]:
    def at(place: str, check: str) -> int:
        return next(iter(container.rules_at(place, frozenset({check}))), -1)

    walk = {
        check.upper(): container.rule_of(check) for check in WALK_CHECKS if check not in _CHECKS
    }
    return {
        **walk,
        "KEY_UNIQUE": at("metadata.key", "unique"),
        "NAME_UNIQUE": at("tensors.name", "unique"),
        "NAME_AT_MOST": at("tensors.name", "at_most"),
    }


def _rule(rule: Rule) -> str:
    check = rule.check.upper() if rule.check in _CHECKS else "WALK"
    severities = "".join("e" if severity == "error" else "-" for severity in rule.severities)
    known = CHECKS[rule.check]
    values = (
        *(string(rule.id), f"Rule.{check}", string(severities)),
        longs(limit or 0 for limit in rule.limits),
        *map(string, (rule.key, known.first, known.second, rule.message, rule.hint)),
    )
    return f"rule({', '.join(values)})"


def _layout(container: Container, version: int) -> list[str]:
    """The method that makes one version's layout."""
    kinds = container.types(version)
    widths = {name: container.bytes_of(width, version) for name, width in container.array}
    count_first = str(container.array[0][0] == "count").lower()
    rules = [ints(container.rules_of_value(kind)) for kind in kinds]
    lines = [f"private static Layout version{version}() {{", "  Field[][] sections = {"]
    for name in SECTIONS:
        fields = [_field(container, name, f, version) for f in container.fields(name, version)]
        lines += ["    {", *(f"      {field}," for field in fields), "    },"]
    lines += [
        "  };",
        f"  ValueType[] types = {{{', '.join(f'ValueType.{kind.name}' for kind in kinds)}}};",
        f"  int[] smallest = {{{_listed(container.smallest_value(k, version) for k in kinds)}}};",
        f"  int[][] rules = {{{', '.join(rules)}}};",
        f"  return new Layout({version}, sections, "
        f"{longs(container.smallest(name, version) for name in SECTIONS)}, "
        f"{container.bytes_of(container.string_length, version)}, {widths['element_type']}, "
        f"{widths['count']},",
        f"      {count_first}, types, smallest, rules);",
        "}",
    ]
    return lines


def _field(container: Container, section: str, field: Field, version: int) -> str:
    repeat = container.repeat_column(section, field)
    width = container.width_of(field, version)
    rules = container.rules_of_field(section, field)
    values = (
        *(string(field.name), f"Field.Kind.{field.kind.upper()}", width, field.column),
        *(len(field.columns), string(field.literal.decode("latin-1"))),
        *(SECTIONS.index(field.counts) if field.counts else -1, repeat, ints(rules)),
    )
    return f"new Field({', '.join(map(str, values))})"
