"""The container, the codebooks and the registry as Go tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...container.model import SECTIONS, Container, Field, Rule, ValueType
from ...container.vocabulary import (
    CHECKS,
    VALUE_CHECKS,
    WALK_CHECKS,
)
from ...loops.packing import arrays
from ...model import BlockType, wide_words
from ...scalars import Scalar
from ...spec import Spec
from ...tables import Table
from .names import camel, value_name

_WIDTH = 96
_MOST_DIGITS = 40  # no character behind them is special in a string
_SEVERITIES = {"": "off", "error": "grave", "warning": "warning", "info": "info"}


def container_tables(spec: Spec, container: Container) -> str:
    """Text of tables.go."""
    parts = [
        "package ggufspec",
        _const("SpecVersion is the version of the specification that this package follows.",
               [f"const SpecVersion = {_quoted(spec.version)}"]),
        _profiles(container),
        _value_types(container),
        _codes(container),
        _plain_constants(container),
        _group("The columns of a record, as a walk keeps them.", _columns(container)),
        _group("The checks that look at one number or text.", _checks()),
        _group("Rules with a place of their own in the walk.", _walk_rules(container)),
        _uniques(container),
        _table("What a file must keep to: one severity and limit for each profile.",
               "rules", "rule", map(_rule, container.rules)),
        _table("The value types of all versions.", "valueTypes", "valueKind",
               (_value_type(container, kind) for kind in container.value_types)),
        _layouts(container),
        f"var depthRules = []uint8{{{_numbers(container.depth_rules)}}}",
        f"var countRules = []uint8{{{_numbers(container.count_rules)}}}",
        _table("Code points that names should not contain.", "forbidden", "[2]rune",
               (f"{{{low:#x}, {high:#x}}}" for low, high in container.syntax.forbidden)),
        _table("What a file that starts otherwise may be.", "lookalikes", "[2]string",
               (f"{{{_quoted_bytes(magic)}, {_quoted(what)}}}"
                for field in container.section("header").fields
                for magic, what in field.lookalikes)),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


def _const(doc: str, lines: Iterable[str]) -> str:
    return "\n".join([f"// {doc}", *lines])


def _group(doc: str, items: Sequence[tuple[str, int | str]]) -> str:
    width = max(len(name) for name, _ in items)
    lines = (f"\t{name.ljust(width)} = {value}" for name, value in items)
    return "\n".join([f"// {doc}", "const (", *lines, ")"])


def _table(doc: str, name: str, kind: str, rows: Iterable[str]) -> str:
    return "\n".join(
        [f"// {doc}", f"var {name} = [...]{kind}{{", *(f"\t{row}," for row in rows), "}"]
    )


def _typed(doc: str, kind: str, items: Sequence[tuple[str, int, str]]) -> str:
    """Constants of a type, each with a comment above it."""
    width = max(len(name) for name, _, _ in items)
    lines = [f"// {doc}", "const ("]
    for number, (name, value, about) in enumerate(items):
        if about:
            lines += [""] * (number > 0) + [f"\t// {about}"]
            lines.append(f"\t{name} {kind} = {value}")
        else:
            lines.append(f"\t{name.ljust(width)} {kind} = {value}")
    return "\n".join([*lines, ")"])


def _profiles(container: Container) -> str:
    items = [
        (f"Profile{camel(profile.name)}", number, profile.doc)
        for number, profile in enumerate(container.profiles)
    ]
    default = next(p for p in container.profiles if p.default_of == "open")
    names = ", ".join(_quoted(profile.name) for profile in container.profiles)
    return "\n".join(
        [
            "// A Profile says whom a file has to please.",
            "type Profile uint8",
            "",
            _typed("The profiles.", "Profile", items),
            "",
            f"const defaultProfile = Profile{camel(default.name)}",
            "",
            f"var profileNames = [...]string{{{names}}}",
        ]
    )


def _value_types(container: Container) -> str:
    items = [(value_name(kind.name), kind.id, "") for kind in container.value_types]
    return "\n".join(
        [
            "// A ValueType is the number that a file gives to a type of metadata values.",
            "type ValueType uint32",
            "",
            _typed("The value types.", "ValueType", items),
        ]
    )


def _codes(container: Container) -> str:
    items = [(f"Code{camel(rule.name)}", _quoted(rule.id)) for rule in container.rules]
    return _group("The codes of errors, by the names of the rules.", items)


def _plain_constants(container: Container) -> str:
    tensors = container.section("tensors")
    items: list[tuple[str, int | str]] = [
        ("currentVersion", container.current),
        ("versionBelow", container.below),
        ("alignmentKey", _quoted(container.alignment_key)),
        ("alignmentDefault", container.alignment_default),
        ("padding", container.padding),
        ("mostDims", tensors.field("dims").most),
        ("deepest", container.deepest),
        ("mostFields", max(len(container.section(name).fields) for name in SECTIONS)),
        ("mostColumns", max(len(container.section(name).columns) for name in SECTIONS)),
        ("wordCharacters", _quoted(container.syntax.word)),
        ("separator", f"'{container.syntax.separator}'"),
        ("knownVersions", _quoted(f"{container.versions[0]} to {container.versions[-1]}")),
    ]
    return _group("Numbers and texts of the container.", items)


def _columns(container: Container) -> list[tuple[str, int | str]]:
    made: list[tuple[str, int | str]] = [
        (f"header{camel(field.counts)}Count", field.column)
        for field in container.section("header").fields
        if field.counts
    ]
    version = next(f for f in container.section("header").fields if f.kind == "version")
    made.append(("headerVersion", version.column))
    for name in ("metadata", "tensors"):
        section = container.section(name)
        made += [
            (f"{name}{camel(column)}", number) for number, column in enumerate(section.columns)
        ]
    return made


def _checks() -> list[tuple[str, int | str]]:
    return [(f"check{camel(name)}", n) for n, name in enumerate((*VALUE_CHECKS, "walk"))]


def _walk_rules(container: Container) -> list[tuple[str, int | str]]:
    return [(f"rule{camel(check)}", container.rule_of(check)) for check in WALK_CHECKS]


def _uniques(container: Container) -> str:
    """For each section the rule that no two records have the same name, or -1."""
    found = []
    for name in SECTIONS:
        at = {f"{name}.{field.name}" for field in container.section(name).fields}
        rules = (n for n, r in enumerate(container.rules) if r.check == "unique" and r.at in at)
        found.append(str(next(rules, -1)))
    names = ", ".join(_quoted(name) for name in SECTIONS)
    return "\n".join(
        [
            f"var uniqueRules = [...]int{{{', '.join(found)}}}",
            "",
            f"var sectionNames = [...]string{{{names}}}",
        ]
    )


def _rule(rule: Rule) -> str:
    check = rule.check if rule.check in VALUE_CHECKS else "walk"
    names = CHECKS[rule.check]
    severities = ", ".join(_SEVERITIES[severity] for severity in rule.severities)
    limits = ", ".join(str(limit or 0) for limit in rule.limits)
    arrays_of = (f"[...]severity{{{severities}}}", f"[...]uint64{{{limits}}}")
    values = (
        *(_quoted(rule.id), f"check{camel(check)}", *arrays_of),
        *(_quoted(names.first), _quoted(names.second), _quoted(rule.key)),
        *(_quoted(rule.message), _quoted(rule.hint)),
    )
    return f"{{{', '.join(values)}}}"


def _value_type(container: Container, kind: ValueType) -> str:
    rules = container.rules_of_value(kind)
    values = (
        *(str(kind.id), _quoted(kind.name), f"kind{camel(kind.kind)}", str(kind.bytes)),
        f"[]uint8{{{_numbers(rules)}}}",
    )
    return f"{{{', '.join(values)}}}"


def _layouts(container: Container) -> str:
    lines = ["// The versions, oldest first.", "var layouts = [...]layout{"]
    for version in container.versions:
        kinds = container.types(version)
        numbers = _numbers(container.value_types.index(kind) for kind in kinds)
        smallest_of = _numbers(container.smallest_value(kind, version) for kind in kinds)
        smallest = _numbers(container.smallest(name, version) for name in SECTIONS)
        heads = ", ".join(
            f"{{{str(name == 'count').lower()}, {container.bytes_of(width, version)}}}"
            for name, width in container.array
        )
        lines += [
            "\t{",
            f"\t\t{version}, {container.bytes_of(container.string_length, version)},",
            f"\t\t[...]arrayHead{{{heads}}},",
            f"\t\t[...]uint64{{{smallest}}},",
            f"\t\t[]uint8{{{numbers}}},",
            f"\t\t[]uint64{{{smallest_of}}},",
            "\t\t[...][]field{",
        ]
        for name in SECTIONS:
            lines.append("\t\t\t{")
            lines += (
                f"\t\t\t\t{_field(container, name, field, version)},"
                for field in container.fields(name, version)
            )
            lines.append("\t\t\t},")
        lines += ["\t\t},", "\t},"]
    return "\n".join([*lines, "}"])


def _field(container: Container, section: str, field: Field, version: int) -> str:
    repeat = container.repeat_column(section, field)
    width = container.width_of(field, version)
    rules = container.rules_of_field(section, field)
    counts = SECTIONS.index(field.counts) if field.counts else 0
    values = (
        *(_quoted(field.name), f"field{camel(field.kind)}", str(width), str(field.column)),
        *(str(len(field.columns)), str(repeat), str(counts), _quoted_bytes(field.literal)),
        f"[]uint8{{{_numbers(rules)}}}",
    )
    return f"{{{', '.join(values)}}}"


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(map(str, values))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _quoted_bytes(text: bytes) -> str:
    plain = set(range(32, 127)) - set(b'"\\')
    return '"' + "".join(chr(b) if b in plain else f"\\x{b:02x}" for b in text) + '"'


# ---- registry


def registry(spec: Spec) -> str:
    """Text of registry.go: every type, and the ids."""
    lines = [
        "package ggufspec",
        "",
        "// Every type that has or had a layout: ggml's by id, then those of forks.",
        "var typeTable = [...]Type{",
        *(f"\t{_type(kind)}," for kind in spec.types),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _type(kind: BlockType) -> str:
    values = [
        *("ID: " + str(-1 if kind.id is None else kind.id), f"Name: {_quoted(kind.name)}"),
        f"Status: {_quoted(kind.status)}",
    ]
    if kind.regions:
        values += [f"Elements: {kind.elements}", f"Bytes: {kind.bytes}"]
        sizes = {"RowPrefix": kind.prefix_bytes, "TensorSuffix": kind.suffix_bytes}
        values += [f"{name}: {size}" for name, size in sizes.items() if size]
        swaps = {"swaps": kind.fields, "prefixSwaps": kind.prefix, "suffixSwaps": kind.suffix}
        for name, fields in swaps.items():
            words = [f"{{{', '.join(map(str, run))}}}" for run in wide_words(fields)]
            if words:
                values.append(f"{name}: []words{{{', '.join(words)}}}")
        values.append(f"dequantize: dequantize{kind.name}")
        if not kind.plain:
            codes = ", ".join(
                f"{{{_quoted(a.name)}, {a.count}, {a.low}, {a.high}, {str(a.is_float).lower()}}}"
                for a in arrays(kind)
            )
            values += [f"codes: []Code{{{codes}}}"]
            values += [f"unpack: unpack{kind.name}", f"pack: pack{kind.name}"]
    return f"{{{', '.join(values)}}}"


# ---- codebooks and small floats


def kernel_tables(spec: Spec) -> str:
    """Text of codebooks.go."""
    parts = ["package ggufspec"]
    parts += [_codebook(table) for table in spec.tables.values()]
    small = [s for s in spec.scalars.values() if s.is_float and s.bits == 8]
    parts += map(_small_float, small)
    return "\n\n".join(parts) + "\n"


def _codebook(table: Table) -> str:
    name, kind = f"table{camel(table.name)}", "int8" if table.signed else "uint8"
    values = sorted(set(table.data))
    if len(table.shape) == 2 and len(values) <= _MOST_DIGITS:
        return _as_digits(table, name, kind, values)
    rows: Iterable[str]
    if len(table.shape) == 1:
        head, rows = f"var {name} = [{table.shape[0]}]{kind}{{", map(str, table.data)
    else:
        width = table.shape[1]
        split = (table.data[at : at + width] for at in range(0, len(table.data), width))
        head = f"var {name} = [{table.shape[0]}][{width}]{kind}{{"
        rows = (f"{{{_numbers(row)}}}" for row in split)
    return "\n".join([*_comment(table.doc), head, *_wrapped(rows), "}"])


def _as_digits(table: Table, name: str, kind: str, values: Sequence[int]) -> str:
    """A table of few different values: a character each, put together when a program starts."""
    count, width = table.shape
    digits = "".join(chr(ord("0") + values.index(value)) for value in table.data)
    lines = [digits[at : at + _WIDTH] for at in range(0, len(digits), _WIDTH)]
    return "\n".join(
        [
            *_comment(table.doc),
            f"var {name} = func() (made [{count}][{width}]{kind}) {{",
            f"\tvalues := [...]{kind}{{{_numbers(values)}}}",
            "\tfor i := range made {",
            "\t\tfor j := range made[i] {",
            f"\t\t\tmade[i][j] = values[{name}Digits[{width}*i+j]-'0']",
            "\t\t}",
            "\t}",
            "\treturn made",
            "}()",
            "",
            f'const {name}Digits = "" +',
            " +\n".join(f'\t"{line}"' for line in lines),
        ]
    )


def _small_float(scalar: Scalar) -> str:
    rows = _wrapped(_float(value) for value in scalar.values())
    head = f"var scalar{camel(scalar.name)} = [256]float32{{"
    return "\n".join([*_comment(f"The value of each byte of {scalar.name}."), head, *rows, "}"])


def _float(value: float) -> str:
    """A float as exact, short text."""
    if value == int(value) and abs(value) < 1 << 20:
        return str(int(value))
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def _wrapped(values: Iterable[str]) -> list[str]:
    lines = ["\t"]
    for value in values:
        if len(lines[-1]) + len(value) + 2 > _WIDTH:
            lines.append("\t")
        lines[-1] += f"{value}, "
    return [line.rstrip() for line in lines]


def _comment(text: str) -> list[str]:
    words, lines = text.split(), ["//"]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > _WIDTH:
            lines.append("//")
        lines[-1] += f" {word}"
    return lines
