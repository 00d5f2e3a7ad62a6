"""Names of the files of split sets."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..generated.shards import DIGITS, NAME_PARTS

_WORDS = {word: f"{{{word}:0{DIGITS}d}}" for word in ("number", "count")}
_ENDING = "".join(_WORDS.get(part, part) for part in NAME_PARTS)
_GROUPS = {word: f"(?P<{word}>[0-9]{{{DIGITS}}})" for word in _WORDS}
_NAME = re.compile(
    "(?P<prefix>.*)" + "".join(_GROUPS.get(part, re.escape(part)) for part in NAME_PARTS), re.DOTALL
)


@dataclass(frozen=True)
class ShardName:
    """A file's name taken apart; `number` counts from 1."""

    prefix: str
    number: int
    count: int


def shard_name(prefix: str, number: int, count: int) -> str:
    """The name of file `number`, from 1, of a set of `count`."""
    return prefix + _ENDING.format(number=number, count=count)


def parse_shard_name(name: str) -> ShardName | None:
    """The parts of such a name, None for any other."""
    match = _NAME.fullmatch(name)
    return ShardName(match["prefix"], int(match["number"]), int(match["count"])) if match else None
