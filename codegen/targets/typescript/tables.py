"""Tables as TypeScript: the container, the types, codebooks and small floats."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from math import isnan

from ...container.model import SECTIONS, Container, Field, Rule, ValueType
from ...container.vocabulary import CHECKS, WALK_CHECKS
from ...loops.packing import arrays
from ...model import BlockType
from ...scalars import Scalar
from ...spec import Spec
from ...tables import Table
from ..registry.emit import type_info

_WIDTH = 96
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def container(made: Container) -> dict[str, str]:
    """Values of the frame of src/tables.ts."""
    rules = [_rule(rule) for rule in made.rules]
    tensors = made.section("tensors")
    text = {rule: number for number, rule in reversed([*enumerate(r.check for r in made.rules)])}
    roles = {
        "KEY": made.section("metadata").field("key").column,
        "VALUE": made.section("metadata").field("value").column,
        **{name.upper(): tensors.field(name).column for name in ("name", "dims", "type", "offset")},
        "RANK": tensors.field(tensors.field("dims").repeat).column,
        "NBYTES": len(tensors.columns) - 1,
    }
    counts = {f.counts: f.column for f in made.section("header").fields if f.counts}
    return {
        "versions": _json(made.versions),
        "current": str(made.current),
        "below": str(made.below),
        "alignment_key": _json(made.alignment_key),
        "alignment_default": str(made.alignment_default),
        "padding": str(made.padding),
        "word": _json(made.syntax.word),
        "separator": _json(made.syntax.separator),
        "forbidden": _json(made.syntax.forbidden),
        "lookalikes": _json(
            [
                [start.decode("latin-1"), what]
                for field in made.section("header").fields
                for start, what in field.lookalikes
            ]
        ),
        "sections": _json(SECTIONS),
        "columns": _json([len(made.section(name).columns) for name in SECTIONS]),
        "most_dims": str(tensors.field("dims").most),
        "deepest": str(made.deepest),
        "depth_rules": _json(made.depth_rules),
        "count_rules": _json(made.count_rules),
        "column": _object(roles.items()),
        "count_column": _json([0, counts["metadata"], counts["tensors"]]),
        "rules": _lines(rules),
        "rule_of": _object((check, text[check]) for check in WALK_CHECKS),
        "profiles": _lines(_object_of(name=p.name, doc=p.doc) for p in made.profiles),
        "default_profile": _object(
            (p.default_of, _json(p.name)) for p in made.profiles if p.default_of
        ),
        "profile_names": " | ".join(_json(p.name) for p in made.profiles),
        "value_types": _lines(_value_type(made, kind) for kind in made.value_types),
        "layouts": _lines(_layout(made, version) for version in made.versions),
    }


def _rule(rule: Rule) -> str:
    check = CHECKS[rule.check]
    limits = ", ".join("null" if limit is None else f"{limit}n" for limit in rule.limits)
    return (
        f"{{ id: {_json(rule.id)}, name: {_json(rule.name)}, at: {_json(rule.at)}, "
        f"check: {_json(rule.check)}, severities: {_json(rule.severities)}, limits: [{limits}], "
        f"key: {_json(rule.key)}, unsupported: {_json(rule.unsupported)}, "
        f"names: {_json((check.first, check.second))}, source: {_json(rule.source)}, "
        f"message: {_json(rule.message)}, hint: {_json(rule.hint)} }}"
    )


def _value_type(made: Container, kind: ValueType) -> str:
    rules = made.rules_of_value(kind)
    return _object_of(id=kind.id, name=kind.name, kind=kind.kind, bytes=kind.bytes, rules=rules)


def _layout(made: Container, version: int) -> str:
    sections = ", ".join(
        "[" + ", ".join(_field(made, name, f, version) for f in made.fields(name, version)) + "]"
        for name in SECTIONS
    )
    kinds = made.types(version)
    return (
        f"{{ version: {version}, sections: [{sections}], "
        f"smallest: {_json([made.smallest(name, version) for name in SECTIONS])}, "
        f"stringLength: {made.bytes_of(made.string_length, version)}, "
        f"array: {_json([[name, made.bytes_of(width, version)] for name, width in made.array])}, "
        f"valueTypes: {_json([made.value_types.index(kind) for kind in kinds])}, "
        f"smallestValues: {_json([made.smallest_value(kind, version) for kind in kinds])} }}"
    )


def _field(made: Container, section: str, field: Field, version: int) -> str:
    return _object_of(
        name=field.name,
        kind=field.kind,
        width=made.width_of(field, version),
        column=field.column,
        columns=len(field.columns),
        literal=field.literal.decode("latin-1"),
        counts=field.counts,
        repeat=made.repeat_column(section, field),
        rules=made.rules_of_field(section, field),
    )


def registry(spec: Spec) -> dict[str, str]:
    """Values of the frame of src/types.ts."""
    return {"version": _json(spec.version), "types": _lines(map(_type, spec.types))}


def _type(kind: BlockType) -> str:
    id_, name, status, elements, size, prefix, suffix, *swaps = type_info(kind)
    codes = [[a.name, a.count, a.low, a.high] for a in arrays(kind)] if elements > 1 else []
    return _object_of(
        id=id_, name=name, status=status, elements=elements, bytes=size, rowPrefix=prefix,
        tensorSuffix=suffix, swaps=swaps[0], prefixSwaps=swaps[1], suffixSwaps=swaps[2],
        codes=codes, doc=kind.doc,
    )  # fmt: skip


def codebooks(tables: Mapping[str, Table], scalars: Mapping[str, Scalar]) -> str:
    """The body of src/codebooks.ts behind its helpers."""
    parts = [_codebook(table) for table in tables.values()]
    parts += [_small_float(s) for s in scalars.values() if s.is_float and s.bits == 8]
    return "\n".join(parts)


def _codebook(table: Table) -> str:
    array = "Int8Array" if table.signed else "Uint8Array"
    head = f"/** {table.doc or table.name} */\nexport const TABLE_{table.name.upper()} = "
    values = sorted(set(table.data))
    if len(table.data) < 64 or len(values) > len(_DIGITS):
        numbers = _wrapped([f"{value}," for value in table.data], " ")
        return f"{head}{array}.of(\n{numbers}\n);\n"
    digits = "".join(_DIGITS[values.index(value)] for value in table.data)
    rows = "\n".join(digits[at : at + _WIDTH] for at in range(0, len(digits), _WIDTH))
    return f"{head}ofDigits(new {array}({len(table.data)}), {_json(values)}, `\n{rows}\n`);\n"


def _small_float(scalar: Scalar) -> str:
    bits = ["7fc00000" if isnan(v) else struct.pack(">f", v).hex() for v in scalar.values()]
    name = f"SCALAR_{scalar.name.upper()}"
    doc = f"/** {scalar.doc or scalar.name}: the float of each byte, as its bits. */\n"
    return f"{doc}export const {name} = ofBits(`\n{_wrapped(bits, ' ')}\n`);\n"


def _wrapped(words: Iterable[str], gap: str) -> str:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) + 1 > _WIDTH:
            lines.append("")
        lines[-1] += (gap if lines[-1] else "  ") + word
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)


def _lines(rows: Iterable[str]) -> str:
    return "\n".join(f"  {row}," for row in rows)


def _object_of(**values: object) -> str:
    return _object((name, _json(value)) for name, value in values.items())


def _object(items: Iterable[tuple[str, object]]) -> str:
    return "{ " + ", ".join(f"{name}: {value}" for name, value in items) + " }"
