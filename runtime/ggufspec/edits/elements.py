"""How two arrays differ: the elements that changed, came in or went, without a copy of either."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..files.arrays import Form, NestedArray, Stored, value_of
from ..files.encode import Encoder
from ..files.source import Source
from ..files.values import Value
from ..generated.container import CURRENT_VERSION
from .plain import Entry, type_of

SHOWN = 6
"""Elements that a difference keeps."""

_TOGETHER = 1 << 14
"""Elements compared at once."""

_FORM = Form(CURRENT_VERSION, "little")

_SEVERAL = -1

_MOST = 1 << 19
"""Elements that are sorted out one by one where arrays have other lengths."""


@dataclass(frozen=True)
class ElementChange:
    """One element; the numbers count from 0 and are None where it is not there."""

    before_at: int | None
    after_at: int | None
    before: Any = None
    after: Any = None

    @property
    def kind(self) -> Literal["insert", "delete", "change"]:
        """What happens to it."""
        if self.before_at is None:
            return "insert"
        return "delete" if self.after_at is None else "change"


@dataclass(frozen=True)
class ArrayChange:
    """What happens to an array: how many elements it had and has, and the first that differ."""

    before_count: int
    after_count: int
    changed: int
    inserted: int
    deleted: int
    first: tuple[ElementChange, ...]


def array_change(before: Entry, after: Entry, shown: int = SHOWN) -> ArrayChange | None:
    """How two arrays of one type differ; None for anything else.

    Of equal lengths, elements in the same place are compared. Of other lengths, what both begin
    and end with is left out, and what is between is held together by elements that each has once
    and both have in one order; between these, elements are compared in turn. So every element is
    accounted for, but the way need not be the shortest.
    """
    if type_of(before) != type_of(after) or not type_of(before).startswith("ARRAY"):
        return None
    return sequence_change(_items(before), _items(after), shown)


def sequence_change(mine: Sequence[Any], theirs: Sequence[Any], shown: int = SHOWN) -> ArrayChange:
    """The same for what the elements of stored arrays are: NumPy's, or lazy ones."""
    counts: Counter[str] = Counter()
    first: list[ElementChange] = []
    for change in _changes(mine, theirs):
        counts[change.kind] += 1
        if len(first) < shown:
            first.append(_with_values(change, mine, theirs))
    return ArrayChange(
        len(mine), len(theirs),
        counts["change"], counts["insert"], counts["delete"], tuple(first),
    )  # fmt: skip


def _items(entry: Entry) -> Sequence[Any]:
    value: Sequence[Any] = value_of(entry if isinstance(entry, Stored) else _stored(entry))
    return value


def _stored(entry: Value) -> Stored:
    """An array as it will lie in a file, so that it compares with one that does."""
    kind, payload = Encoder(_FORM).value("", entry)
    data = b"".join(payload())
    return NestedArray(Stored(Source(data), _FORM, kind, True, 1, 0, len(data))).inner(0)


def _with_values(
    change: ElementChange, mine: Sequence[Any], theirs: Sequence[Any]
) -> ElementChange:
    before = None if change.before_at is None else mine[change.before_at]
    after = None if change.after_at is None else theirs[change.after_at]
    return ElementChange(change.before_at, change.after_at, before, after)


def _changes(mine: Sequence[Any], theirs: Sequence[Any]) -> Iterator[ElementChange]:
    most = min(len(mine), len(theirs))
    if len(mine) == len(theirs):
        yield from (ElementChange(at, at) for at in _differing(mine, theirs, 0, most))
        return
    start = next(_differing(mine, theirs, 0, most), most)
    end = min(_common_end(mine, theirs, most), most - start)
    stops = len(mine) - end, len(theirs) - end
    if start == min(stops) or max(stops) - start > _MOST:
        yield from (ElementChange(at, at) for at in _differing(mine, theirs, start, min(stops)))
        yield from (ElementChange(at, None) for at in range(min(stops), stops[0]))
        yield from (ElementChange(None, at) for at in range(min(stops), stops[1]))
        return
    yield from _sorted_out(_plain(mine, start, stops[0]), _plain(theirs, start, stops[1]), start)


def _differing(mine: Sequence[Any], theirs: Sequence[Any], start: int, stop: int) -> Iterator[int]:
    """The places in which elements differ."""
    for first in range(start, stop, _TOGETHER):
        last = min(first + _TOGETHER, stop)
        ours, others = _plain(mine, first, last), _plain(theirs, first, last)
        if ours != others:
            pairs = enumerate(zip(ours, others, strict=True), first)
            yield from (place for place, (one, other) in pairs if one != other)


def _common_end(mine: Sequence[Any], theirs: Sequence[Any], most: int) -> int:
    """How many elements both end with."""
    for done in range(0, most, _TOGETHER):
        count = min(_TOGETHER, most - done)
        ours, others = (
            _plain(items, len(items) - done - count, len(items) - done) for items in (mine, theirs)
        )
        if ours != others:
            pairs = enumerate(zip(reversed(ours), reversed(others), strict=True), done)
            return next(place for place, (one, other) in pairs if one != other)
    return most


def _plain(items: Sequence[Any], first: int, last: int) -> list[Any]:
    """Elements in terms that are equal for equal bits, NaN included."""
    some: Any = items[first:last]
    if hasattr(some, "dtype"):
        if some.dtype.kind == "f":
            some = some.view(f"u{some.dtype.itemsize}")
        return list(some.tolist())
    return [item if isinstance(item, (str, bytes)) else _told(item) for item in some]


def _told(item: Any) -> str:
    """A number or an inner array as a text that tells all of it."""
    if hasattr(item, "tolist"):
        bits = item.view(f"u{item.dtype.itemsize}") if item.dtype.kind == "f" else item
        return repr(bits.tolist())
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return f"[{', '.join(map(_told, item))}]"
    return repr(item)


def _sorted_out(mine: list[Any], theirs: list[Any], start: int) -> Iterator[ElementChange]:
    """What lies between equal beginnings and ends; start: where that is in both."""
    at = then = 0
    for one, another in [*_anchors(mine, theirs), (len(mine), len(theirs))]:
        yield from _in_turn(mine, theirs, (at, then), (one, another), start)
        at, then = one + 1, another + 1


def _in_turn(
    mine: list[Any], theirs: list[Any], starts: tuple[int, int], stops: tuple[int, int], start: int
) -> Iterator[ElementChange]:
    """Compare elements in turn between equal ones; the rest came in or went."""
    (i, j), (i_stop, j_stop) = starts, stops
    while i < i_stop and j < j_stop and mine[i_stop - 1] == theirs[j_stop - 1]:
        i_stop, j_stop = i_stop - 1, j_stop - 1
    while i < i_stop and j < j_stop:
        if mine[i] != theirs[j]:
            yield ElementChange(start + i, start + j)
        i, j = i + 1, j + 1
    yield from (ElementChange(start + at, None) for at in range(i, i_stop))
    yield from (ElementChange(None, start + at) for at in range(j, j_stop))


def _anchors(mine: Sequence[Any], theirs: Sequence[Any]) -> list[tuple[int, int]]:
    """The longest series of elements that each has once and both have in one order."""
    own, other = _places(mine), _places(theirs)
    pairs = [(place, other[item]) for item, place in own.items() if item in other]
    ends: list[int] = []  # for each length, where the series that ends first does
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
    found = []
    number = last[-1] if last else -1
    while number >= 0:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def _places(items: Sequence[Any]) -> Mapping[Any, int]:
    """Where the elements are that are there once, in their order."""
    places: dict[Any, int] = {}
    for place, item in enumerate(items):
        places[item] = place if item not in places else _SEVERAL
    return {item: place for item, place in places.items() if place != _SEVERAL}


def first_difference(before: str, after: str) -> int:
    """The number of the first character that differs."""
    pairs = zip(before, after, strict=False)
    shorter = min(len(before), len(after))
    return next((at for at, (one, other) in enumerate(pairs) if one != other), shorter)
