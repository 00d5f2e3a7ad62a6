"""Split sets: the files that belong together, and whether they do."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import GGUFError
from ..generated.container import ALIGNMENT_KEY
from ..generated.shards import COUNT_KEY, NUMBER_KEY, RULES, TENSORS_KEY
from .part import Part
from .shard_names import ShardName, parse_shard_name, shard_name
from .tensor import tensor_names

SET_KEYS = frozenset({NUMBER_KEY, COUNT_KEY, TENSORS_KEY})

OWN_KEYS = SET_KEYS | {ALIGNMENT_KEY}
"""Keys that each file has for itself."""


@dataclass(frozen=True)
class Fault:
    """One way in which the files of a set do not belong together.

    `part` is the file it was seen in, `key` the key or `tensor` the number of the tensor info
    that shows it, `facts` what the message of the rule is filled from.
    """

    check: str
    part: Part
    facts: Mapping[str, object]
    key: str = ""
    tensor: int | None = None

    @property
    def rule_id(self) -> str:
        """The id of the rule that is broken."""
        return RULES[self.check].id

    def error(self) -> GGUFError:
        """The same as an exception."""
        rule = RULES[self.check]
        facts = {"file": self.part.file, **self.facts}
        return GGUFError(
            rule.message.format(**facts),
            code=rule.id,
            path="metadata",
            hint=rule.hint,
            file=str(self.part.source.path or ""),
        )


def own_name(part: Part) -> ShardName | None:
    """The parts of a file's name; None where it cannot be the name of one of a set."""
    name = parse_shard_name(Path(part.source.path or "").name)
    return name if name and 1 <= name.number <= name.count else None


def set_count(part: Part) -> int:
    """How many files the set of this one has; 1 for a file of its own."""
    count = stated_count(part)
    if isinstance(count, Fault):
        raise count.error()
    return count


def stated_count(part: Part) -> int | Fault:
    """The same, or what is wrong with the key that says it."""
    return _integer(part, COUNT_KEY) if COUNT_KEY in part.metadata else 1


def whole_set(part: Part, count: int, load: Callable[[Path], Part]) -> list[Part]:
    """All files of the set that `part` is of, in order.

    count: what `part` says. load: opens another file of it. GGUFError with the rule of any way in
    which the files do not belong together; what was opened is closed then, but for `part`.
    """
    parts: list[Part] = []
    try:
        for fault in gather(part, count, load, parts):
            raise fault.error()
        for fault in belonging(parts, len(parts)):
            raise fault.error()
    except BaseException:
        for other in parts:
            if other.source is not part.source:
                other.source.close()
        raise
    return parts


def gather(
    part: Part, count: int, load: Callable[[Path], Part], parts: list[Part]
) -> Iterator[Fault]:
    """Add the files of the set to `parts`, each with its number, and tell whether some are missing.

    count: what `part` says; where its name says otherwise the name is believed. Once a file is
    missing the folder is listed: a name may claim a set of 99,999.
    """
    name = own_name(part)
    if name is None:
        yield Fault("shard_name", part, {"count": count}, COUNT_KEY)
        parts.append(part)
        return
    if name.count != count:
        yield Fault("shard_count", part, {"value": count, "expected": name.count}, COUNT_KEY)
    folder = Path(part.source.path or "").parent
    there: frozenset[str] | None = None
    missing: list[str] = []
    for number in range(1, name.count + 1):
        if number == name.number:
            parts.append(replace(part, number=number - 1))
            continue
        other = shard_name(name.prefix, number, name.count)
        if there is None or other.casefold() in there:
            try:
                parts.append(replace(load(folder / other), number=number - 1))
                continue
            except FileNotFoundError:
                there = there or _names_in(folder)
        missing.append(other)
    if missing:
        facts = {"file": missing[0], "missing": len(missing), "count": name.count}
        yield Fault("shard_missing", part, facts)


def _names_in(folder: Path) -> frozenset[str] | None:
    """The names in a folder without their case; None where it cannot be listed."""
    try:
        return frozenset(name.casefold() for name in os.listdir(folder))  # noqa: PTH208
    except OSError:
        return None


def belonging(parts: Sequence[Part], count: int) -> Iterator[Fault]:
    """What tells files apart that stand under the names of one set of `count`.

    parts: those of the set that are there and can be read, in order.
    """
    for part in parts:
        yield from _keys_belong(part, count)
        if parts[0].number == 0:
            yield from _form_belongs(part, parts[0])
    if len(parts) == count:
        yield from _tensors_belong(parts)


def _keys_belong(part: Part, count: int) -> Iterator[Fault]:
    for key, check, expected in (
        (COUNT_KEY, "shard_count", count),
        (NUMBER_KEY, "shard_number", part.number),
    ):
        stated = _integer(part, key)
        if isinstance(stated, Fault):
            yield stated
        elif stated != expected:
            yield Fault(check, part, {"value": stated, "expected": expected}, key)


def _form_belongs(part: Part, first: Part) -> Iterator[Fault]:
    scan, other = part.scan, first.scan
    for check, value, expected, key in (
        ("shard_version", scan.version, other.version, ""),
        ("shard_byte_order", scan.byte_order, other.byte_order, ""),
        ("shard_alignment", scan.alignment, other.alignment, ALIGNMENT_KEY),
    ):
        # ggml's splitter copies the key to the first file only and pads the others to the default.
        stated = not key or key in part.metadata
        if stated and value != expected:
            yield Fault(check, part, {"value": value, "expected": expected}, key)


def _tensors_belong(parts: Sequence[Part]) -> Iterator[Fault]:
    holders: dict[str, Part] = {}
    for part in parts:
        for row, name in enumerate(tensor_names(part)):
            first = holders.setdefault(name, part)
            if first is not part:
                facts = {"tensor": repr(name), "first": first.file}
                yield Fault("shard_tensors_unique", part, facts, tensor=row)
    for part in parts:
        has_key = TENSORS_KEY in part.metadata
        stated = _integer(part, TENSORS_KEY) if has_key else len(holders)
        if isinstance(stated, Fault):
            yield stated
        elif stated != len(holders):
            sums = {"value": len(holders), "expected": stated}
            yield Fault("shard_tensor_count", part, sums, TENSORS_KEY)


def _integer(part: Part, key: str) -> int | Fault:
    value = part.metadata.get(key, "missing")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return Fault("shard_key", part, {"key": key, "value": f"{value!r:.40}"}, key)
    return value
