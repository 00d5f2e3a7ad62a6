"""What a scan has to say: collected as numbers, written out as text afterwards."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import NamedTuple, cast

from ..generated import container as tables
from ..report import Finding, Severity

DATA = len(tables.SECTIONS)  # the number that findings give the data section
ROOM = tables.RULES[tables.RULE_OF["all_shown"]].limits[0]  # findings that one walk keeps

_NAME_SHOWN = 60  # bytes of a name in messages


class Raw(NamedTuple):
    """One finding of a scan: numbers of rule, section and field, and what the check compared."""

    rule: int
    section: int
    record: int
    field: int
    offset: int
    first: int
    second: int


class LeftOut(NamedTuple):
    """How many findings there was no room for; the last are about unsupported things."""

    errors: int = 0
    others: int = 0
    unsupported: int = 0

    def plus(self, other: LeftOut) -> LeftOut:
        """Both together."""
        return LeftOut(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class Findings:
    """A list of findings with a fixed room, for one profile; rules it does not ask are dropped."""

    def __init__(self, profile: int) -> None:
        self.severities = [rule.severities[profile] for rule in tables.RULES]
        self.limits = [rule.limits[profile] for rule in tables.RULES]
        self.kept: list[Raw] = []
        self.left_out = LeftOut()

    def add(self, raw: Raw) -> None:
        """Keep a finding if the profile asks and there is room."""
        severity = self.severities[raw.rule]
        if not severity:
            return
        if len(self.kept) < ROOM:
            self.kept.append(raw)
        elif tables.RULES[raw.rule].unsupported:
            self.left_out = self.left_out.plus(LeftOut(unsupported=1))
        else:
            self.left_out = self.left_out.plus(LeftOut(severity == "error", severity != "error"))


class Texts(NamedTuple):
    """What messages are filled from: the file and where its names are, for each section."""

    view: memoryview
    names: tuple[tuple[array[int], array[int]], ...]  # offsets, lengths
    layout: tables.Layout


def write_out(
    findings: Iterable[Raw], left_out: LeftOut, profile: int, texts: Texts
) -> tuple[Finding, ...]:
    """Findings in the order of the file; the last says how many more there are."""
    ordered = sorted(findings, key=lambda raw: (raw.offset, raw.rule, raw.record))
    for raw in ordered[ROOM:]:
        rule = tables.RULES[raw.rule]
        grave = rule.severities[profile] == "error"
        one = LeftOut(grave, not grave)
        left_out = left_out.plus(LeftOut(unsupported=1) if rule.unsupported else one)
    written = [_finding(raw, profile, texts) for raw in ordered[:ROOM]]
    if any(left_out):
        written.append(_more(left_out))
    return tuple(written)


def _more(left_out: LeftOut) -> Finding:
    rule = tables.RULES[tables.RULE_OF["all_shown"]]
    errors = left_out.errors + left_out.unsupported
    return Finding(
        rule=rule.id,
        severity="error" if errors else "info",
        offset=None,
        path="",
        message=rule.message.format(errors=errors, others=left_out.others),
        hint=rule.hint,
        unsupported=left_out.errors == 0,
    )


def _finding(raw: Raw, profile: int, texts: Texts) -> Finding:
    rule = tables.RULES[raw.rule]
    path = _path(raw, texts.layout)
    names = dict(zip(tables.ARGUMENTS[rule.check], (raw.first, raw.second), strict=True))
    message = rule.message.format(
        **names,
        subject=_subject(raw, path, texts),
        known=_known_versions(),
        lookalike=_lookalike(texts.view[raw.offset :]) if rule.check == "literal" else "",
        type=_value_type(raw.first, texts.layout),
    )
    severity = cast("Severity", rule.severities[profile])
    return Finding(rule.id, severity, raw.offset, path, message, rule.hint, rule.unsupported)


def _path(raw: Raw, layout: tables.Layout) -> str:
    """The place in the container description, as `tensors[3].offset`."""
    if raw.section == DATA:
        return "data"
    if raw.field < 0:
        return tables.SECTIONS[raw.section]
    which = f"[{raw.record}]" if raw.section else ""
    return f"{tables.SECTIONS[raw.section]}{which}.{layout.sections[raw.section][raw.field].name}"


def _value_type(number: int, layout: tables.Layout) -> str:
    return next((kind.name for kind in layout.value_types if kind.id == number), str(number))


def _subject(raw: Raw, path: str, texts: Texts) -> str:
    if raw.section in (0, DATA):
        return path
    offsets, lengths = texts.names[raw.section]
    if raw.record >= len(offsets):
        return path
    word = "key" if raw.section == 1 else "tensor"
    return f"{word} {shown(texts.view, offsets[raw.record], lengths[raw.record])}"


def shown(view: memoryview, offset: int, length: int) -> str:
    """A name for people: quoted, escaped and not too long."""
    text = bytes(view[offset : offset + min(length, _NAME_SHOWN)])
    rest = "..." if length > _NAME_SHOWN else ""
    try:
        return repr(text.decode()) + rest
    except UnicodeDecodeError:
        return repr(text) + rest


def _known_versions() -> str:
    return f"{tables.VERSIONS[0]} to {tables.VERSIONS[-1]}"


def _lookalike(start: memoryview) -> str:
    for magic, what in tables.LOOKALIKES:
        if start[: len(magic)] == magic:
            return f"; it may be {what}"
    return ""
