"""Numbers, names and depths that readers stumble over, worked out from the container's spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isqrt

from ...container.model import SECTIONS, Container, Field
from ...spec import Spec

WIDEST = 1 << 64
_EDGES = (7, 8, 15, 16, 30, 31, 32, 61, 62, 63)
_LENGTH, _TAG, _COUNT, _ALIGNMENT = (
    "string.length",
    "array.element_type",
    "array.count",
    "alignment",
)


@dataclass(frozen=True)
class Hostile:
    """For each place a kind of mutation and its numbers; names to rename to; depths to nest to."""

    kinds: Mapping[str, str]
    numbers: Mapping[str, tuple[int, ...]]
    names: tuple[bytes, ...]
    depths: tuple[int, ...]


def find_hostile(container: Container, spec: Spec) -> Hostile:
    """All of it for one container and the tensor types of a spec."""
    places = {
        f"{section}.{field.name}": _kind(field)
        for section in SECTIONS
        for field in container.section(section).fields
        if field.kind != "literal"
    } | {_LENGTH: "length", _TAG: "tag", _COUNT: "count", _ALIGNMENT: "alignment"}
    return Hostile(
        kinds=places,
        numbers={place: _numbers(container, spec, place, kind) for place, kind in places.items()},
        names=_names(container),
        depths=_depths(container),
    )


def _kind(field: Field) -> str:
    if field.counts:
        return "count"
    by_kind = {"string": "length", "value": "tag", "version": "version"}
    by_name = {"n_dims": "rank", "dims": "size"}
    return by_kind.get(field.kind) or by_name.get(field.name, field.name)


def _numbers(container: Container, spec: Spec, place: str, kind: str) -> tuple[int, ...]:
    """The edges of every width, the limits of the rules there, and what the kind has besides."""
    edges = {number for bit in _EDGES for number in ((1 << bit) - 1, 1 << bit)}
    found = {0, 1, 2, WIDEST - 1, *edges, *_around(_limits(container, place))}
    newest = max(container.versions)
    match kind:
        case "version":
            found |= {*container.versions, max(container.versions) + 1, container.below}
            found |= {int.from_bytes(v.to_bytes(4, "little"), "big") for v in container.versions}
        case "tag":
            found |= set(_around(value.id for value in container.value_types))
        case "type":
            found |= set(_around(type_.id for type_ in spec.types if type_.id is not None))
        case "count":
            smallest = {container.smallest(section, newest) for section in SECTIONS}
            smallest |= {container.smallest_value(v, newest) for v in container.types(newest)}
            # The first count whose product with a size no longer fits into 64 bits.
            found |= {WIDEST // size + 1 for size in smallest if size > 1}
        case "size":
            sizes = {type_.elements for type_ in spec.types if type_.elements}
            root = isqrt(WIDEST // 2)
            found |= {*_around(sizes), root, root + 1, 3 << 61}
        case "offset" | "alignment":
            step = container.alignment_default
            found |= {*_around([step]), 2 * step, step + step // 2, WIDEST - step, 2**63 - step}
    return tuple(sorted(number for number in found if 0 <= number < WIDEST))


def _limits(container: Container, place: str) -> set[int]:
    """What the rules at a place compare with, under any profile."""
    at = {_LENGTH: "value.STRING", _ALIGNMENT: "data"}.get(place, place)
    return {
        limit
        for rule in container.rules
        if rule.at == at and (place != _ALIGNMENT or rule.check.startswith("alignment"))
        for limit in rule.limits
        if limit is not None
    }


def _around(numbers: Iterable[int]) -> Iterable[int]:
    return (near for number in numbers for near in (number - 1, number, number + 1))


def _names(container: Container) -> tuple[bytes, ...]:
    """Keys that mean something, and names that are too short, too long or misleading."""
    key = container.alignment_key.encode()
    keys = {rule.key.encode() for rule in container.rules if rule.key}
    longest = _limits(container, "tensors.name")
    forbidden = (chr(first).encode() for first, _ in container.syntax.forbidden)
    separator = container.syntax.separator.encode()
    return (
        *(b"", key, key + b"\0", key[:-1], key.upper(), separator),
        *sorted(keys),
        *(b"n" * size for size in sorted(set(_around(longest))) if size < 1 << 10),
        *forbidden,
        *(b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf0\x9f\x98"),
    )


def _depths(container: Container) -> tuple[int, ...]:
    """How often to nest: about every limit, and far beyond."""
    limits = _limits_of_depth(container)
    return (*sorted({depth for depth in _around(limits) if depth > 0}), 4 * max(limits), 1000)


def _limits_of_depth(container: Container) -> set[int]:
    rules = (rule for rule in container.rules if rule.at == "array.depth")
    return {limit for rule in rules for limit in rule.limits if limit is not None}
