"""All rules of the validator with what `explain` says of them: generated/rules.py.

The container's rules and those of split sets stand in spec/container, all others in spec/rules.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import YamlPath
from .output import Output
from .schema import load_checked
from .source import Source, load_yaml
from .spec import Spec

_AREAS = "rules/areas.yaml"
_PROFILES = "container/profiles.yaml"
_CONTAINER = "container/rules.yaml"
_SHARDS = "container/shards.yaml"

READER = "ggml"
"""The profile that stands for the verdict of ggml's reader: the container's rules and no others."""

_FRAME = '''"""Every rule of the validator: what it says, how grave it is, why it is there."""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """One thing a file must keep to.

    A profile that `severities` does not name does not ask. `limits` are numbers to compare with,
    by profile; `message` is a format string, `reason` and `example` are for people.
    """

    id: str
    name: str
    severities: dict[str, str]  # profile -> error, warning, info
    limits: dict[str, int]
    source: tuple[str, ...]  # documentation, ggml, safety
    message: str
    hint: str
    reason: str
    example: str
    unsupported: bool = False  # newer than this program or from a fork, not broken


'''


@dataclass(frozen=True)
class Rules:
    """Every rule by id, as the spec has it; `severity` and `limit` spelled out for each profile."""

    areas: Mapping[str, str]
    rules: Mapping[str, Mapping[str, Any]]
    profiles: tuple[str, ...]
    inputs: tuple[str, ...]


def load_rules(spec: Spec) -> Rules:
    """The rules of the container, of sets and of spec/rules. Raises SpecError."""
    root, schemas = spec.root, spec.root / "schema"
    own = sorted(path for path in (root / "rules").glob("*.yaml") if path != root / _AREAS)
    sources = [load_yaml(root / file, root) for file in (_CONTAINER, _SHARDS)]
    sources += [load_checked(path, root, schemas / "rules.schema.json") for path in own]
    areas = load_checked(root / _AREAS, root, schemas / "rule_areas.schema.json").data
    profiles = tuple(load_yaml(root / _PROFILES, root).data)
    rules: dict[str, dict[str, Any]] = {}
    names: dict[str, str] = {}
    for source in sources:
        beyond = source.file != _CONTAINER
        for number, entry, path in _entries(source):
            if number in rules:
                source.fail(path, "another rule has this id")
            if entry["name"] in names:
                source.fail((*path, "name"), f"{names[entry['name']]} has that name already")
            if number[:4] not in areas:
                source.fail(path, f"{_AREAS} has no area {number[:4]}")
            _check_profiles(entry, profiles, beyond, source, path)
            _check_braces(entry, source, path)
            names[entry["name"]] = number
            asked = [profile for profile in profiles if not beyond or profile != READER]
            rules[number] = {
                **entry,
                "severity": _by_profile(entry["severity"], asked),
                "limit": _by_profile(entry["limit"], asked) if "limit" in entry else {},
            }
    inputs = (_AREAS, _PROFILES, *(source.file for source in sources))
    return Rules(areas, {number: rules[number] for number in sorted(rules)}, profiles, inputs)


def outputs(spec: Spec) -> list[Output]:
    """generated/rules.py. Raises SpecError."""
    found = load_rules(spec)
    body = [
        _FRAME.rstrip("\n"),
        "",
        "",
        f"READER = {READER!r}  # the profile that only the container's rules belong to",
        f"AREAS: dict[str, str] = {found.areas!r}",
        "",
        "RULES: dict[str, Rule] = {",
        *(f"    {number!r}: {_rule(number, entry)}," for number, entry in found.rules.items()),
        "}",
    ]
    return [Output("rules.py", "\n".join(body) + "\n", found.inputs)]


def _entries(source: Source) -> Iterator[tuple[str, dict[str, Any], YamlPath]]:
    of_sets = source.file == _SHARDS
    entries = source.data["rules"] if of_sets else source.data
    for number, entry in entries.items():
        yield number, entry, ("rules", number) if of_sets else (number,)


def _by_profile(value: Any, asked: list[str]) -> dict[str, Any]:
    """A value for each profile; one that stands alone holds for all that may ask."""
    return dict(value) if isinstance(value, Mapping) else dict.fromkeys(asked, value)


def _check_profiles(
    entry: dict[str, Any], profiles: tuple[str, ...], beyond: bool, source: Source, path: YamlPath
) -> None:
    for field in ("severity", "limit"):
        given = entry.get(field)
        for profile in given if isinstance(given, Mapping) else ():
            if profile not in profiles:
                source.fail((*path, field, profile), f"profiles are {', '.join(profiles)}")
            if beyond and profile == READER:
                source.fail(
                    (*path, field, profile),
                    f"profile {READER} is the verdict of its reader; only container/ adds to it",
                )


def _check_braces(entry: dict[str, Any], source: Source, path: YamlPath) -> None:
    try:
        fields = [name for _, name, _, _ in string.Formatter().parse(entry["message"]) if name]
    except ValueError as error:
        source.fail((*path, "message"), str(error))
    for name in fields:
        if not name.isidentifier():
            source.fail((*path, "message"), f"{{{name}}} is not a name in braces")
    if "limit" in fields and "limit" not in entry:
        source.fail((*path, "message"), "{limit} needs a limit")


def _rule(number: str, entry: Mapping[str, Any]) -> str:
    values = (
        *(number, entry["name"], entry["severity"], entry["limit"], tuple(entry["source"])),
        *(entry["message"], entry["hint"], entry.get("reason", ""), entry.get("example", "")),
    )
    unsupported = ", True" if entry.get("unsupported") else ""
    return f"Rule({', '.join(map(repr, values))}{unsupported})"
