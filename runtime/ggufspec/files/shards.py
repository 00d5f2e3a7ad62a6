"""Split sets: the files that belong together, and whether they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import GGUFError
from ..generated.container import ALIGNMENT_KEY
from ..generated.shards import COUNT_KEY, DIGITS, NAME_PARTS, NUMBER_KEY, RULES, TENSORS_KEY
from .metadata import Metadata
from .part import Part
from .tensor import tensor_names

SET_KEYS = frozenset({NUMBER_KEY, COUNT_KEY, TENSORS_KEY})


@dataclass(frozen=True)
class ShardName:
    """A file's name taken apart; `number` counts from 1."""

    prefix: str
    number: int
    count: int


def shard_name(prefix: str, number: int, count: int) -> str:
    """The name of file `number`, from 1, of a set of `count`."""
    words = {"number": f"{number:0{DIGITS}d}", "count": f"{count:0{DIGITS}d}"}
    return prefix + "".join(words.get(part, part) for part in NAME_PARTS)


def parse_shard_name(name: str) -> ShardName | None:
    """The parts of such a name, None for any other."""
    words = {word: f"(?P<{word}>[0-9]{{{DIGITS}}})" for word in ("number", "count")}
    pattern = "".join(words.get(part, re.escape(part)) for part in NAME_PARTS)
    match = re.fullmatch(f"(?P<prefix>.*){pattern}", name, re.DOTALL)
    return ShardName(match["prefix"], int(match["number"]), int(match["count"])) if match else None


def set_count(part: Part, metadata: Metadata) -> int:
    """How many files the set of this one has; 1 for a file of its own."""
    return _integer(part, metadata, COUNT_KEY) if COUNT_KEY in metadata else 1


def whole_set(part: Part, metadata: Metadata, load: Callable[[Path], Part]) -> list[Part]:
    """All files of the set that `part` is of, in order.

    load: opens another file of it. GGUFError with the rule of any way in which the files do not
    belong together; what was opened is closed then, but for `part`.
    """
    parts: list[Part] = []
    try:
        _gather(part, set_count(part, metadata), load, parts)
        for other in parts:
            _check_belongs(other, parts[0], len(parts))
        _check_tensors(parts)
    except BaseException:
        for other in parts:
            if other.source is not part.source:
                other.source.close()
        raise
    return parts


def _gather(part: Part, count: int, load: Callable[[Path], Part], parts: list[Part]) -> None:
    own = Path(part.source.path or "")
    name = parse_shard_name(own.name)
    if name is None or not 1 <= name.number <= name.count:
        raise _error("shard_name", part, count=count)
    if name.count != count:
        raise _error("shard_count", part, value=count, expected=name.count)
    for number in range(1, count + 1):
        if number == name.number:
            parts.append(replace(part, number=number - 1))
            continue
        path = own.with_name(shard_name(name.prefix, number, count))
        try:
            parts.append(replace(load(path), number=number - 1))
        except FileNotFoundError:
            raise _error("shard_missing", part, missing=path.name, count=count) from None


def _check_belongs(part: Part, first: Part, count: int) -> None:
    metadata = Metadata(part.source, part.scan)
    stated = _integer(part, metadata, COUNT_KEY)
    if stated != count:
        raise _error("shard_count", part, value=stated, expected=count)
    number = _integer(part, metadata, NUMBER_KEY)
    if number != part.number:
        raise _error("shard_number", part, value=number, expected=part.number)
    scan, other = part.scan, first.scan
    if scan.version != other.version:
        raise _error("shard_version", part, value=scan.version, expected=other.version)
    if scan.byte_order != other.byte_order:
        raise _error("shard_byte_order", part, value=scan.byte_order, expected=other.byte_order)
    # ggml's splitter copies the key to the first file only and pads the others to the default.
    if ALIGNMENT_KEY in metadata and scan.alignment != other.alignment:
        raise _error("shard_alignment", part, value=scan.alignment, expected=other.alignment)


def _check_tensors(parts: Sequence[Part]) -> None:
    holders: dict[str, Part] = {}
    for part in parts:
        for name in tensor_names(part):
            first = holders.setdefault(name, part)
            if first is not part:
                raise _error("shard_tensors_unique", part, tensor=repr(name), first=first.file)
    for part in parts:
        metadata = Metadata(part.source, part.scan)
        if TENSORS_KEY in metadata:
            expected = _integer(part, metadata, TENSORS_KEY)
            if expected != len(holders):
                raise _error("shard_tensor_count", part, value=len(holders), expected=expected)


def _integer(part: Part, metadata: Metadata, key: str) -> int:
    value = metadata.get(key, "missing")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _error("shard_key", part, key=key, value=f"{value!r:.40}")
    return value


def _error(check: str, part: Part, missing: str = "", **facts: object) -> GGUFError:
    rule = RULES[check]
    message = rule.message.format(file=missing or part.file, **facts)
    return GGUFError(message, code=rule.id, path="metadata", hint=rule.hint)
