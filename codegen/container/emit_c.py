"""The container's tables for C: generated/c/container_tables.h.

The types of the tables are runtime/c/scan_tables.h's, which the cursor includes first.
"""

from __future__ import annotations

from collections.abc import Iterable

from .digest import digest
from .model import SECTIONS, Container, Field, Rule, ValueType
from .vocabulary import VALUE_CHECKS, WALK_CHECKS

_SEVERITIES = {"": 0, "error": 1, "warning": 2, "info": 3}


def emit_c(container: Container) -> str:
    """Text of generated/c/container_tables.h."""
    lists = _Lists()
    layouts = _layouts(container, lists)
    depth = lists.place(container.depth_rules)
    count = lists.place(container.count_rules)
    parts = [
        "/* The container as tables: records, value types, rules and profiles of GGUF files. */",
        "#ifndef GGUFSPEC_CONTAINER_TABLES_H",
        "#define GGUFSPEC_CONTAINER_TABLES_H",
        "",
        f'#define GS_DIGEST "{digest(container)}"',
        "",
        _enum(_sizes(container)),
        _enum(_names(f"GS_{name.upper()}" for name in SECTIONS)),
        _enum(_names(f"GS_CHECK_{name.upper()}" for name in (*VALUE_CHECKS, "WALK"))),
        _enum((f"GS_RULE_{check.upper()}", container.rule_of(check)) for check in WALK_CHECKS),
        _enum(_roles(container)),
        "",
        "/* check, is it about something unsupported, severity and limit for each profile */",
        _array("gs_rule gs_rules[]", map(_rule, container.rules)),
        "",
        layouts,
        "",
        f"static const gs_list gs_depth_rules = {depth};",
        f"static const gs_list gs_count_rules = {count};",
        "",
        "/* numbers of rules; each gs_list above is a run of them */",
        _array("uint16_t gs_rule_numbers[]", [", ".join(map(str, [*lists.numbers, 0]))]),
        "",
        "/* 1: a byte of a word, 2: the separator */",
        _array("uint8_t gs_key_class[256]", _key_class(container)),
        "",
        _array(
            "uint32_t gs_forbidden[][2]",
            (f"{{0x{first:x}, 0x{last:x}}}" for first, last in container.syntax.forbidden),
        ),
        "",
        "#endif",
    ]
    return "\n".join(parts) + "\n"


class _Lists:
    """Short lists of rule numbers, laid end to end in one array."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._first: dict[tuple[int, ...], int] = {(): 0}

    def place(self, rules: tuple[int, ...]) -> str:
        """Initializer of a gs_list with these rules."""
        if rules not in self._first:
            self._first[rules] = len(self.numbers)
            self.numbers += rules
        return f"{{{self._first[rules]}, {len(rules)}}}"


def _sizes(container: Container) -> list[tuple[str, int]]:
    sections = [container.section(name) for name in SECTIONS]
    return [
        ("GS_VERSIONS", len(container.versions)),
        ("GS_VERSION_BELOW", container.below),
        ("GS_PROFILES", len(container.profiles)),
        ("GS_DEEPEST", container.deepest),
        ("GS_FORBIDDEN", len(container.syntax.forbidden)),
        ("GS_FIELDS", max(len(section.fields) for section in sections)),
        *((f"GS_{s.name.upper()}_COLUMNS", len(s.columns)) for s in sections),
    ]


def _roles(container: Container) -> list[tuple[str, int]]:
    """Columns of the counts in the header, and those that a tensor's size is computed from."""
    tensors = container.section("tensors")
    header = container.section("header").fields
    return [
        *((f"GS_COLUMN_{f.counts.upper()}_COUNT", f.column) for f in header if f.counts),
        *((f"GS_COLUMN_{n.upper()}", tensors.field(n).column) for n in ("dims", "type", "offset")),
        ("GS_COLUMN_NBYTES", len(tensors.columns) - 1),
        ("GS_MOST_DIMS", tensors.field("dims").most),
    ]


def _rule(rule: Rule) -> str:
    check = rule.check.upper() if rule.check in VALUE_CHECKS else "WALK"
    severities = ", ".join(str(_SEVERITIES[severity]) for severity in rule.severities)
    limits = ", ".join(f"UINT64_C({limit or 0})" for limit in rule.limits)
    flag = int(rule.unsupported)
    return (
        f"{{GS_CHECK_{check}, {flag}, {{{severities}}}, {{{limits}}}}}, /* {rule.id} {rule.name} */"
    )


def _layouts(container: Container, lists: _Lists) -> str:
    """Fields and value types of every version, then the versions that refer to them."""
    fields: list[str] = []
    types: list[str] = []
    layouts: list[str] = []
    for version in container.versions:
        sections = []
        for name in SECTIONS:
            rows = [
                _field(container, name, f, version, lists) for f in container.fields(name, version)
            ]
            sections.append(f"{{{len(fields)}, {len(rows)}}}")
            fields += rows
        kinds = [_value_type(container, k, version, lists) for k in container.types(version)]
        array = ", ".join(
            f"{{{int(name == 'count')}, {container.bytes_of(width, version)}}}"
            for name, width in container.array
        )
        length = container.bytes_of(container.string_length, version)
        layouts.append(
            f"{{{version}, {length}, {{{array}}}, {{{', '.join(sections)}}}, "
            f"{{{len(types)}, {len(kinds)}}}}},"
        )
        types += kinds
    return "\n".join(
        [
            "/* kind, bytes, column, columns, column that repeats it + 1, rules, literal */",
            _array("gs_field gs_fields[]", fields),
            "",
            "/* id, kind, bytes, smallest encoded size, rules */",
            _array("gs_value_type gs_value_types[]", types),
            "",
            "/* version, bytes of a string's length, array head {is it the count, bytes},",
            "   runs of gs_fields for each section, run of gs_value_types */",
            _array("gs_layout gs_layouts[GS_VERSIONS]", layouts),
        ]
    )


def _field(container: Container, section: str, field: Field, version: int, lists: _Lists) -> str:
    repeat = container.repeat_column(section, field) + 1
    width = container.width_of(field, version)
    place = f"{section}.{field.name}"
    rules = lists.place(container.rules_of_field(section, field))
    literal = "".join(f"\\x{byte:02x}" for byte in field.literal)
    values = (
        *(f"GS_{field.kind.upper()}", width, field.column, len(field.columns), repeat, rules),
        f'"{literal}"' if literal else "0",
    )
    return f"{{{', '.join(map(str, values))}}}, /* {place}, version {version} */"


def _value_type(container: Container, kind: ValueType, version: int, lists: _Lists) -> str:
    shape = kind.kind if kind.kind in ("string", "array") else "scalar"
    rules = lists.place(container.rules_of_value(kind))
    smallest = container.smallest_value(kind, version)
    values = (kind.id, f"GS_{shape.upper()}_VALUE", kind.bytes, smallest, rules)
    return f"{{{', '.join(map(str, values))}}}, /* {kind.name}, version {version} */"


def _key_class(container: Container) -> list[str]:
    classes = ["0"] * 256
    for character in container.syntax.word:
        classes[ord(character)] = "1"
    classes[ord(container.syntax.separator)] = "2"
    return [", ".join(classes[row : row + 16]) for row in range(0, 256, 16)]


def _names(names: Iterable[str]) -> list[tuple[str, int]]:
    return [(name, number) for number, name in enumerate(names)]


def _enum(items: Iterable[tuple[str, int]]) -> str:
    return "\n".join(["enum {", *(f"    {name} = {value}," for name, value in items), "};"])


def _array(declaration: str, rows: Iterable[str]) -> str:
    lines = (row if row.endswith((",", "*/")) else f"{row}," for row in rows)
    return "\n".join([f"static const {declaration} = {{", *(f"    {line}" for line in lines), "};"])
