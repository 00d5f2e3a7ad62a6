"""A page for each area of the validator's rules, and the table of them all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...output import Output
from ...rules import Rules, load_rules
from ...spec import Spec
from .markdown import code, codes, page, plain, table


def outputs(spec: Spec) -> list[Output]:
    """rules/index.md and rules/ggNN.md."""
    found = load_rules(spec)
    made = [Output("rules/index.md", _index(found), found.inputs)]
    for area, title in found.areas.items():
        text = _area(found, area, title)
        made.append(Output(f"rules/{area.lower()}.md", text, found.inputs))
    return made


def _of(found: Rules, area: str) -> dict[str, Mapping[str, Any]]:
    return {number: rule for number, rule in found.rules.items() if number.startswith(area)}


def _index(found: Rules) -> str:
    rows = [
        (
            f"[{number}]({number[:4].lower()}.md#{number.lower()})",
            code(rule["name"]),
            *(rule["severity"].get(profile, "") for profile in found.profiles),
        )
        for number, rule in found.rules.items()
    ]
    return page(
        "# Rules",
        f"What `ggufspec validate` looks at: {len(found.rules)} rules. An id is for ever. A column "
        "says how grave a finding is under a profile; a profile that does not ask has none. "
        "`ggufspec explain GG0205` prints the same in a terminal.",
        table(("rule", "name", *found.profiles), rows),
    )


def _area(found: Rules, area: str, title: str) -> str:
    rules = _of(found, area)
    return page(
        f"# {area}: {plain(title)}",
        *(_rule(number, rule) for number, rule in rules.items()),
    )


def _rule(number: str, rule: Mapping[str, Any]) -> str:
    severity = _by_profile(rule["severity"])
    limits = _by_profile({name: f"{value:,}" for name, value in rule["limit"].items()})
    return page(
        f"## {number} {plain(rule['name'])} {{ #{number.lower()} }}",
        f"> {code(rule['message'])}",
        plain(rule.get("reason", "")),
        f"**What to do:** {plain(rule['hint'])}.",
        f"**For example:** {plain(rule['example'])}" if rule.get("example") else "",
        "\n".join(
            [
                f"- Severity: {severity}.",
                *([f"- Limit: {limits}."] if limits else []),
                f"- Asked by: {codes(rule['source'])}.",
                *([f"- Looks at {code(rule['at'])}."] if rule.get("at") else []),
            ]
        ),
    )


def _by_profile(values: Mapping[str, str]) -> str:
    """Each value with the profiles that have it."""
    return "; ".join(
        f"{value} under {codes(name for name in values if values[name] == value)}"
        for value in dict.fromkeys(values.values())
    )
