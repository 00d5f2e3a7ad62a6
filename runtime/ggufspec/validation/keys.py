"""GG10: well-known keys of the wrong type, out of range, not of their list, of unequal length."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..files.shards import OWN_KEYS
from ..files.values import array_element
from ..generated.container import LAYOUTS
from ..generated.metadata import KEYS

if TYPE_CHECKING:
    from ..files.arrays import Stored
    from ..generated.metadata import Key
    from .findings import Collector
    from .model import Model

_NUMBER = re.compile(r"\.[0-9]{1,10}\.")
_KINDS = {kind.name: kind.kind for layout in LAYOUTS.values() for kind in layout.value_types}
_WIDTHS = {"uint": "integer", "int": "integer", "float": "float"}


def check(model: Model, found: Collector) -> None:
    """Add what is wrong with keys that the specification describes."""
    for name, key in known_keys(model):
        if name in OWN_KEYS:  # rules of the container and of split sets look at them
            continue
        if key.deprecated:
            instead = _of(model, key.deprecated)
            found.add("GG1009", **model.key_place(name), key=name, instead=instead)
        stored = model.metadata.stored(name)
        if _check_type(model, found, name, key, stored):
            _check_value(model, found, name, key, stored)


def known_keys(model: Model) -> Iterator[tuple[str, Key]]:
    """The keys of a file that the specification describes, with what it says of them."""
    plain, patterns, starts = _described()
    for key in plain:
        if "{" in (name := _of(model, key.key)) and model.architecture is None:
            continue
        elif name in model.metadata:
            yield name, key
    for name in model.metadata:
        if name.startswith(starts) and "{" not in name:
            numbered = _NUMBER.sub(".{id}.", name, count=1)
            named = name.rpartition(".")[0] + ".{name}"
            if key_of := patterns.get(numbered) or patterns.get(named):
                yield name, key_of


@cache
def _described() -> tuple[list[Key], dict[str, Key], tuple[str, ...]]:
    """Keys of one name, those with a number or name inside, and what these start with."""
    patterns = {key.key: key for key in KEYS if "{" in key.key.replace("{arch}", "")}
    plain = [key for key in KEYS if key.key not in patterns]
    return plain, patterns, tuple({pattern.partition("{")[0] for pattern in patterns})


def _of(model: Model, key: str) -> str:
    return key.replace("{arch}", model.architecture or "{arch}")


def _check_type(model: Model, found: Collector, name: str, key: Key, stored: Stored) -> bool:
    """Whether the value can be looked at; adds a finding where the type is not the usual one."""
    type_ = model.metadata.type_of(name)
    if type_ in key.types:
        return True
    place, expected = model.place(name), " or ".join(key.types)
    width = _WIDTHS.get(stored.kind.kind)
    alike = [
        given
        for given in key.types
        if given.startswith("ARRAY") == stored.is_array and _WIDTHS.get(_kind(given)) == width
    ]
    if width is None or key.exact or not alike:
        found.add("GG1001", **place, key=name, type=type_, expected=expected)
        return False
    found.add("GG1002", **place, key=name, type=type_, expected=expected)
    return True


def _kind(type_: str) -> str:
    """`float` of FLOAT32 and of ARRAY[FLOAT32]."""
    return _KINDS[array_element(type_) or type_]


def _check_value(model: Model, found: Collector, name: str, key: Key, stored: Stored) -> None:
    if stored.kind.kind == "string" and not key.values and not key.length:
        return
    if stored.is_array:
        _check_length(model, found, name, key)
        if key.values:
            _check_elements(model, found, name, key)
        return
    value = model.value(name)
    place = model.place(name)
    known = [text for text, _ in key.values]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not _in_range(key, value):
            found.add("GG1003", **place, key=name, value=value, allowed=_allowed(key))
        elif not isfinite(value):
            found.add("GG1004", **place, key=name, value=value)
    if key.values and value not in known:
        if key.closed:
            found.add("GG1006", **place, key=name, value=value, known=_list(known))
        else:
            found.add("GG1005", **place, key=name, value=value, known=_list(known))
    if key.counts and isinstance(value, int):
        _check_count(model, found, name, key, value)


def _in_range(key: Key, value: float) -> bool:
    return not (
        (key.minimum is not None and not value >= key.minimum)
        or (key.maximum is not None and not value <= key.maximum)
        or (key.above is not None and not (value > key.above and isfinite(value)))
    )


def _allowed(key: Key) -> str:
    if key.above is not None:
        return f"finite and above {key.above}"
    if key.minimum is not None and key.maximum is not None:
        return f"{key.minimum} to {key.maximum}"
    return f"at least {key.minimum}" if key.maximum is None else f"at most {key.maximum}"


def _list(values: list[Any]) -> str:
    return ", ".join(map(str, values))


def _check_length(model: Model, found: Collector, name: str, key: Key) -> None:
    if not key.length:
        return
    expected, other = key.length, "the format"
    if isinstance(key.length, str):
        other = _of(model, key.length)
        if other not in model.metadata:
            return
        stored = model.metadata.stored(other)
        expected = stored.count if stored.is_array else model.value(other)
    count = model.metadata.stored(name).count
    if isinstance(expected, int) and count != expected:
        place = model.place(name)
        found.add("GG1007", **place, key=name, count=count, expected=expected, other=other)


def _check_elements(model: Model, found: Collector, name: str, key: Key) -> None:
    import numpy as np

    values = model.value(name)
    known = [number for number, _ in key.values]
    strange = np.flatnonzero(~np.isin(values, known))
    if len(strange):
        at = int(strange[0])
        found.add(
            "GG1008",
            **model.place(name),
            key=name,
            count=len(strange),
            known=_list(known),
            value=values[at],
            at=at,
        )


def _check_count(model: Model, found: Collector, name: str, key: Key, value: int) -> None:
    """A count against the numbers in the keys that it counts."""
    numbers = set()
    for other in model.metadata:
        if other.startswith(key.counts):
            number = other[len(key.counts) :].partition(".")[0]
            if number.isdecimal() and len(number) <= 10:
                numbers.add(int(number))
    if numbers != set(range(min(value, len(numbers) + 1))):
        place, present = model.place(name), len(numbers)
        found.add("GG1010", **place, key=name, value=value, prefix=key.counts, present=present)
