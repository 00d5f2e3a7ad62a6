"""What a schema cannot say: the parts of a container description fit each other.

Each check fails with file, line and YAML path of what it is about.
"""

from __future__ import annotations

import string
from collections.abc import Iterable
from itertools import pairwise

from ..source import Source
from .model import SECTIONS, Container, Field, Rule
from .vocabulary import (
    CHECKS,
    NUMBER_CHECKS,
    RECORD_CHECKS,
    TEXT_CHECKS,
    VALUE_CHECKS,
    WALK_CHECKS,
)

#: What the cursors have to find in a record, by name: they tell it apart from the rest.
_ROLES = {
    "header": {"version": "version"},
    "metadata": {"key": "string", "value": "value"},
    "tensors": {
        "name": "string",
        "n_dims": "number",
        "dims": "number",
        "type": "number",
        "offset": "number",
    },
}


def check_container(
    container: Container, layout: Source, values: Source, profiles: Source, rules: Source
) -> None:
    """Raise SpecError at the first thing that does not fit."""
    _check_versions(container, layout)
    _check_widths(container, layout)
    for name in SECTIONS:
        _check_section(container, name, layout)
    _check_counts(container, layout)
    _check_values(container, values)
    _check_profiles(container, profiles)
    for rule in container.rules:
        _check_rule(container, rule, rules)
    _check_rule_set(container, rules)


def _check_versions(container: Container, source: Source) -> None:
    versions = container.versions
    if list(versions) != sorted(set(versions)):
        source.fail(("versions",), "versions are not in rising order")
    if container.current not in versions:
        source.fail(("current",), f"{container.current} is not one of the versions")
    if versions[-1] >= container.below:
        source.fail(("byte_order", "below"), f"version {versions[-1]} is not below it")


def _check_widths(container: Container, source: Source) -> None:
    first = container.versions[0]
    for name, steps in container.widths.items():
        if min(steps) != first:
            source.fail(("widths", name), f"says nothing of version {first}")
        for version in steps:
            if version not in container.versions:
                source.fail(("widths", name, f"v{version}"), "not one of the versions")
    places: list[tuple[tuple[str, ...], str]] = [
        (("string", "length"), container.string_length),
        *((("array", name), width) for name, width in container.array),
    ]
    for section in container.sections:
        for field in section.fields:
            if field.kind != "literal":
                kind = "number" if field.kind == "version" else field.kind
                places.append((("sections", section.name, field.name, kind), field.width))
    for path, width in places:
        if width not in container.widths:
            known = ", ".join(container.widths)
            source.fail(path, f"unknown width {width!r}; known are {known}")


def _check_section(container: Container, name: str, source: Source) -> None:
    section = container.section(name)
    path = ("sections", name)
    kinds = {field.name: field.kind for field in section.fields}
    for role, kind in _ROLES[name].items():
        if kinds.get(role) != kind:
            source.fail(path, f"needs a field {role!r} that is a {kind}")
    columns = section.columns
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        source.fail(path, f"two columns of a scan would be called {twice!r}")
    for field in section.fields:
        if field.kind == "value" and name != "metadata":
            source.fail((*path, field.name), "values stand in the metadata only")
        if field.repeat:
            _check_repeat(section.fields, field, (*path, field.name), source)
    if name == "header":
        _check_version_field(container, source)


def _check_repeat(
    fields: tuple[Field, ...], field: Field, path: tuple[str, ...], source: Source
) -> None:
    earlier = fields[: fields.index(field)]
    if field.kind != "number":
        source.fail((*path, "repeat"), "only numbers repeat")
    if not any(f.name == field.repeat and f.kind == "number" and not f.repeat for f in earlier):
        source.fail((*path, "repeat"), f"no earlier number is called {field.repeat!r}")


def _check_version_field(container: Container, source: Source) -> None:
    """All versions share the header's start, since it must be read to know the version."""
    path = ("sections", "header", "version")
    fields = container.section("header").fields
    for field in fields[: 1 + [f.name for f in fields].index("version")]:
        widths = set(container.widths.get(field.width, {0: 0}).values())
        if field.since > container.versions[0] or len(widths) > 1 or field.repeat:
            source.fail(path, f"{field.name!r} depends on the version that is read after it")


def _check_counts(container: Container, source: Source) -> None:
    counted = [field.counts for section in container.sections for field in section.fields]
    for name in SECTIONS[1:]:
        if counted.count(name) != 1:
            source.fail(("sections", "header"), f"{name} is counted {counted.count(name)} times")
    for section in container.sections[1:]:
        for field in section.fields:
            if field.counts:
                source.fail(("sections", section.name, field.name, "counts"), "not in the header")
    for field in container.section("header").fields:
        if field.counts and field.since > container.versions[0]:
            source.fail(
                ("sections", "header", field.name, "since"), "a count stands in every version"
            )


def _check_values(container: Container, source: Source) -> None:
    seen: dict[int, str] = {}
    for kind in container.value_types:
        path = (kind.name,)
        if kind.id in seen:
            source.fail((*path, "id"), f"{kind.id} is {seen[kind.id]} already")
        seen[kind.id] = kind.name
        if (kind.bytes > 0) == (kind.kind in ("string", "array")):
            need = "has no bytes" if kind.bytes else "needs bytes"
            source.fail(path, f"a {kind.kind} {need}")
        if kind.kind == "float" and kind.bytes not in (2, 4, 8):
            source.fail((*path, "bytes"), "a float has 2, 4 or 8 bytes")
        if kind.since not in container.versions:
            source.fail((*path, "since"), "not one of the versions")
    for only in ("string", "array"):
        if [kind.kind for kind in container.value_types].count(only) != 1:
            source.fail((), f"needs exactly one type of kind {only}")


def _check_profiles(container: Container, source: Source) -> None:
    for function in ("open", "validate"):
        names = [p.name for p in container.profiles if p.default_of == function]
        if len(names) != 1:
            source.fail((), f"needs exactly one default_of: {function}, has {len(names)}")


def _check_rule(container: Container, rule: Rule, source: Source) -> None:
    check = CHECKS.get(rule.check)
    if check is None:
        source.fail((rule.id, "check"), f"unknown check; known are {', '.join(CHECKS)}")
    allowed = _checks_at(container, rule.at)
    if not allowed:
        source.fail((rule.id, "at"), f"no such place: {rule.at}")
    if rule.check not in allowed:
        source.fail((rule.id, "check"), f"cannot be tested at {rule.at}")
    _check_numbers(container, rule, check.limited, source)
    if check.keyed != bool(rule.key):
        source.fail((rule.id,), "needs a key" if check.keyed else "has no use for a key")
    if check.fatal and set(rule.severities) != {"error"}:
        source.fail((rule.id, "severity"), "reading stops here, so it is an error everywhere")
    for name in _braces(rule, source):
        if name not in check.names:
            known = ", ".join(sorted(check.names))
            source.fail((rule.id, "message"), f"{{{name}}} is not known; known are {known}")


def _check_numbers(container: Container, rule: Rule, limited: bool, source: Source) -> None:
    known = [profile.name for profile in container.profiles]
    for part in ("severity", "limit"):
        entry = source.data[rule.id].get(part)
        for name in entry if isinstance(entry, dict) else ():
            if name not in known:
                source.fail((rule.id, part, name), f"unknown profile; known are {', '.join(known)}")
    if not limited and "limit" in source.data[rule.id]:
        source.fail((rule.id, "limit"), f"the check {rule.check} has no use for a limit")
    for name, severity, limit in zip(known, rule.severities, rule.limits, strict=True):
        if limited and severity and limit is None:
            source.fail((rule.id,), f"needs a limit for the profile {name}")


def _checks_at(container: Container, place: str) -> frozenset[str]:
    """Which checks make sense at a place; none when there is no such place."""
    section, _, name = place.partition(".")
    walk = frozenset(WALK_CHECKS)
    if section == "value":
        kinds = [kind.kind for kind in container.value_types if kind.name == name]
        return {"string": TEXT_CHECKS, "uint": NUMBER_CHECKS, "bool": NUMBER_CHECKS}.get(
            kinds[0] if kinds else "", frozenset()
        )
    if section == "array":
        return NUMBER_CHECKS if name in ("count", "depth") else frozenset()
    if section == "data":
        return walk if not name else frozenset()
    if section not in SECTIONS:
        return frozenset()
    if not name:
        return walk
    fields = [field for field in container.section(section).fields if field.name == name]
    by_kind = {
        "number": NUMBER_CHECKS,
        "version": NUMBER_CHECKS,
        "string": TEXT_CHECKS | RECORD_CHECKS,
    }
    return walk | by_kind.get(fields[0].kind, frozenset()) if fields else frozenset()


def _braces(rule: Rule, source: Source) -> Iterable[str]:
    try:
        return [
            name for _, name, _, _ in string.Formatter().parse(rule.message) if name is not None
        ]
    except ValueError as error:
        source.fail((rule.id, "message"), str(error))


def _check_rule_set(container: Container, source: Source) -> None:
    ids = [rule.id for rule in container.rules]
    for before, after in pairwise(ids):
        if after < before:
            source.fail((after,), f"stands behind {before}; keep the ids in order")
    seen: dict[str, str] = {}
    for rule in container.rules:
        if rule.name in seen:
            source.fail((rule.id, "name"), f"{seen[rule.name]} has that name already")
        seen[rule.name] = rule.id
    for check in WALK_CHECKS:
        claims = [rule for rule in container.rules if rule.check == check]
        if check not in VALUE_CHECKS and not claims:
            source.fail((), f"no rule has the check {check}")
        if len(claims) > 1:
            source.fail((claims[1].id, "check"), f"{claims[0].id} has that check already")
    _check_bounds(container, source)


def _check_bounds(container: Container, source: Source) -> None:
    """Every profile has an error where the cursors have to stop: their room is finite."""
    bounded = {"array.depth": container.deepest if _depths(container) else 0}
    for section in container.sections:
        for field in section.fields:
            if field.repeat:
                bounded[f"{section.name}.{field.repeat}"] = field.most
    for place, most in bounded.items():
        for number, profile in enumerate(container.profiles):
            limits = [
                rule.limits[number]
                for rule in container.rules
                if (rule.at, rule.check, rule.severities[number]) == (place, "at_most", "error")
            ]
            if not any(limit is not None and limit <= most for limit in limits):
                source.fail((), f"{profile.name} needs an at_most error at {place}, up to {most}")


def _depths(container: Container) -> tuple[int, ...]:
    return container.rules_at("array.depth", frozenset({"at_most"}))
