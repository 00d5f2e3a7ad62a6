"""The values of general.file_type: names, numbers, and the guess where the key is missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches

from ..generated.recipes import FILE_TYPES, GUESS, FileType

_BLOCK = re.compile(r"blk\.([0-9]+)")
_DIGITS = 18
"""Digits of a layer's number at most."""


def file_type(name: str | int) -> FileType:
    """The file type with this name or alias, in any case, or number; ValueError for others."""
    wanted = str(name).upper()
    for kind in FILE_TYPES:
        if wanted in (kind.name, kind.alias or kind.name, str(kind.id)):
            return kind
    offered = [kind for kind in FILE_TYPES if is_offered(kind)]
    known = ", ".join(
        f"{kind.name} ({kind.alias})" if kind.alias else kind.name for kind in offered
    )
    names = [name for kind in offered for name in (kind.name, kind.alias) if name]
    near = " or ".join(get_close_matches(wanted, names, 2, 0.7))
    meant = f" did you mean {near}?" if near else ""
    raise ValueError(f"unknown file type {name!r};{meant} known: {known}")


def is_offered(kind: FileType) -> bool:
    """Whether files of this type can be made."""
    return kind.status in ("offered", "copy")


def display_name(number: int) -> str:
    """What llama.cpp calls a value of general.file_type, a guessed one included."""
    names = {kind.id: kind.display for kind in FILE_TYPES if kind.status != "retired"}
    prefix = GUESS.prefix if number & GUESS.bit else ""
    return prefix + names.get(number & ~GUESS.bit, GUESS.unknown)


def guess(tensors: Iterable[tuple[str, str]]) -> int:
    """A value for general.file_type where the key is missing, with the guessed bit set.

    ``tensors`` are name and type of all of a model's tensors.
    """
    counts: Counter[str] = Counter()
    most = ""
    for _, type_ in sorted(tensors, key=lambda tensor: visiting_order(tensor[0])):
        counts[type_] += 1
        if counts[type_] > counts[most]:
            most = type_
    number = file_type(GUESS.types.get(most, GUESS.otherwise)).id or 0
    return number | GUESS.bit


def layer(name: str) -> int | None:
    """The number in ``blk.N.``, or None; ValueError for one that no model has."""
    found = _BLOCK.match(name)
    if not found:
        return None
    if len(found[1]) > _DIGITS:
        raise ValueError(f"tensor {name:.60}...: there is no layer of {len(found[1])} digits")
    return int(found[1])


def visiting_order(name: str) -> tuple[int, bytes]:
    """The key by which llama-quantize sorts tensors: layer (-1 for none), then name."""
    number = layer(name)
    return (-1 if number is None else number, name.encode("utf-8", "surrogateescape"))
