"""``ggufspec explain``: what a rule asks, why, and what to do about a file that breaks it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion, machine, screen
from .failures import usage
from .options import Json
from .screen import Column
from .validate import Profile

if TYPE_CHECKING:
    from ..generated.rules import Rule

_ID = re.compile(r"gg\d{1,9}")

_SOURCES = {
    "documentation": "the format's documentation, docs/gguf.md",
    "ggml": "ggml's own reader",
    "safety": "safety: readers that trust a file have failed on this",
}


def command(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="RULE",
            autocompletion=completion.rules,
            help="An id (GG0101) or a name (magic); all without.",
        ),
    ] = None,
    profile: Annotated[
        Profile | None, typer.Option("--profile", help="Only the rules of this profile.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain a rule of `validate`: what it asks, why, an example, and what to do."""
    from ..generated.rules import RULES

    if rule is not None:
        found = _find(rule)
        if as_json:
            machine.emit(_record(found))
        else:
            _show(found)
        return
    asked = [r for r in RULES.values() if profile is None or profile.value in r.severities]
    if as_json:
        machine.emit([_record(r) for r in asked])
    else:
        _list(asked, [profile] if profile else list(Profile))


def _find(wanted: str) -> Rule:
    """The rule with that id or name, whatever its case."""
    from ..generated.rules import RULES

    names = {rule.name: rule for rule in RULES.values()}
    known = {rule_id.lower(): rule for rule_id, rule in RULES.items()} | names
    rule = known.get(wanted.strip().lower().replace("_", "-").replace(" ", "-"))
    if rule is None:
        raise usage(f"there is no rule {wanted!r}", hint=_nearest(wanted, list(known)))
    return rule


def _nearest(wanted: str, known: list[str]) -> str:
    """Ids by their number, names by their letters."""
    word = wanted.strip().lower()
    if _ID.fullmatch(word):
        ids = [name for name in known if _ID.fullmatch(name)]
        close = sorted(ids, key=lambda name: abs(int(name[2:]) - int(word[2:])))[:3]
    else:
        close = get_close_matches(word, known, 3, 0.5) or [n for n in known if word in n][:3]
    if not word or not close:
        return "`ggufspec explain` lists them all"
    names = (name.upper() if _ID.fullmatch(name) else name for name in close)
    return f"did you mean {' or '.join(names)}?"


def _list(rules: list[Rule], profiles: list[Profile]) -> None:
    """All rules, area by area."""
    from ..generated.rules import AREAS

    columns = (
        Column("rule", style="cyan"),
        Column("name", style="green"),
        *(Column(profile.value) for profile in profiles),
        Column("what it says"),
    )
    for area, title in AREAS.items():
        rows = [
            (
                rule.id,
                rule.name,
                *(rule.severities.get(profile.value, "-") for profile in profiles),
                _message(rule),
            )
            for rule in rules
            if rule.id.startswith(area)
        ]
        if rows:
            screen.table(columns, rows, f"{area}: {title}")


def _show(rule: Rule) -> None:
    from ..generated.rules import AREAS

    screen.say(f"{rule.id} {rule.name} ({AREAS[rule.id[:4]]})", "bold")
    told = {
        "message": _message(rule),
        "why": rule.reason,
        "example": rule.example,
        "what to do": rule.hint,
        "who asks": "; ".join(_SOURCES[source] for source in rule.source),
    }
    for title, words in told.items():
        screen.say()
        screen.say(title, "bold")
        for line in words.splitlines():
            screen.say(f"  {line}")
    rows = [(p.value, rule.severities.get(p.value, "-"), _limit(rule, p.value)) for p in Profile]
    limited = bool(rule.limits)
    columns = (Column("profile", style="cyan"), Column("severity"), Column("limit", right=True))
    screen.table(
        columns[: 2 + limited],
        [row[: 2 + limited] for row in rows],
        "how grave it is",
    )


def _message(rule: Rule) -> str:
    """The message with what it is filled from in angle brackets."""
    parts = Formatter().parse(rule.message)
    return "".join(text + (f"<{name}>" if name else "") for text, name, _, _ in parts)


def _limit(rule: Rule, profile: str) -> str:
    return f"{rule.limits[profile]:,}" if profile in rule.limits else ""


def _record(rule: Rule) -> dict[str, Any]:
    from ..generated.rules import AREAS

    return {
        "rule": rule.id,
        "name": rule.name,
        "area": AREAS[rule.id[:4]],
        "severity": rule.severities,
        "limit": rule.limits,
        "source": rule.source,
        "message": rule.message,
        "reason": rule.reason,
        "example": rule.example,
        "hint": rule.hint,
    }
