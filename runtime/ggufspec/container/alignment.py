"""The alignment of the data section, as the metadata give it."""

from __future__ import annotations

from ..generated import container as tables
from .findings import Findings, Raw


def find_alignment(
    found: Findings,
    kind: tables.ValueType,
    value: memoryview,
    place: tuple[int, int, int, int],
    *,
    big_endian: bool,
) -> int | None:
    """The alignment in bytes, or None when a rule that the profile asks for calls it an error.

    `place` is section, record, field and file offset of the value, for the findings.
    """
    broken = _types_broken(kind)
    number = 0
    if kind.kind in ("uint", "int"):
        order = "big" if big_endian else "little"
        number = int.from_bytes(value, order, signed=kind.kind == "int")  # type: ignore[arg-type]
        broken |= dict.fromkeys(_numbers_broken(found, number), number)
    good = number > 0
    for check, first in broken.items():
        rule = tables.RULE_OF[check]
        found.add(Raw(rule, *place, first, found.limits[rule]))
        good &= found.severities[rule] != "error"
    return number if good else None


def _types_broken(kind: tables.ValueType) -> dict[str, int]:
    broken = {}
    if kind.name != "UINT32":
        broken["alignment_uint32"] = kind.id
    if kind.kind not in ("uint", "int"):
        broken["alignment_integer"] = kind.id
    return broken


def _numbers_broken(found: Findings, number: int) -> list[str]:
    def limit(check: str) -> int:
        return found.limits[tables.RULE_OF[check]]

    if number < limit("alignment_at_least"):
        return ["alignment_at_least"]
    power = number & (number - 1) == 0
    either = power or number % limit("alignment_either") == 0
    holds = {
        "alignment_power_of_two": power,
        "alignment_multiple": number % limit("alignment_multiple") == 0,
        "alignment_either": either,
        "alignment_at_most": number <= limit("alignment_at_most"),
    }
    return [check for check, good in holds.items() if not good]
