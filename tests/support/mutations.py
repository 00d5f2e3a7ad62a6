"""Typed damage to a file: the numbers that its container has, changed to those that hurt.

Where the numbers are is read off the container's tables; what to write there, what to rename to
and how deep to nest are `generated/fuzz`, made from the specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple, Protocol, TypeVar

from hypothesis import strategies as st

from ggufspec.container.scan import ByteOrder
from ggufspec.generated import container as tables
from ggufspec.generated import fuzz

T = TypeVar("T")


class Choose(Protocol):
    """Takes one of several: a random number generator's `choice`, or Hypothesis."""

    def __call__(self, items: Sequence[T], /) -> T: ...


MOST_SPOTS = 10_000


class Spot(NamedTuple):
    """A number in a file: its place in `fuzz.NUMBERS`, where it is, its bytes, its value."""

    place: str
    offset: int
    width: int
    value: int


@dataclass
class Outline:
    """What of a file can be changed, as far as it can be followed.

    `values` are (tag, first byte of the value); `texts` the lengths of keys and names.
    """

    order: ByteOrder = "little"
    version: int = 0
    spots: list[Spot] = field(default_factory=list)
    values: list[tuple[Spot, int]] = field(default_factory=list)
    texts: list[Spot] = field(default_factory=list)


class _EndError(Exception):
    """The file ends, or has what nobody can follow."""


class _Walker:
    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.found = data, 0, Outline()
        number = int.from_bytes(data[4:8], "little")
        if number >= tables.VERSION_BELOW:
            self.found.order = "big"
        self.found.version = int.from_bytes(data[4:8], self.found.order)
        self.layout = tables.LAYOUTS.get(self.found.version, tables.LAYOUTS[max(tables.VERSIONS)])

    def take(self, place: str, width: int) -> int:
        end = self.at + width
        if end > len(self.data) or len(self.found.spots) >= MOST_SPOTS:
            raise _EndError
        value = int.from_bytes(self.data[self.at : end], self.found.order)
        self.found.spots.append(Spot(place, self.at, width, value))
        self.at = end
        return value

    def skip(self, width: int) -> None:
        if self.at + width > len(self.data):
            raise _EndError
        self.at += width

    def walk(self) -> None:
        counts = {"header": 1}
        for name, fields in zip(tables.SECTIONS, self.layout.sections, strict=True):
            for _ in range(min(counts.get(name, 0), MOST_SPOTS)):
                self.record(name, fields, counts)

    def record(self, name: str, fields: Sequence[tables.Field], counts: dict[str, int]) -> None:
        key = b""
        columns: dict[int, int] = {}
        for entry in fields:
            place = f"{name}.{entry.name}"
            if entry.kind == "literal":
                self.skip(entry.width)
            elif entry.kind == "string":
                length = self.take(place, entry.width)
                self.found.texts.append(self.found.spots[-1])
                key = self.data[self.at : self.at + length]
                self.skip(length)
            elif entry.kind == "value":
                kind = self.take(place, entry.width)
                self.found.values.append((self.found.spots[-1], self.at))
                self.value(kind, key)
            else:
                times = columns.get(entry.repeat, 1) if entry.repeat >= 0 else 1
                for _ in range(min(times, entry.most)):
                    columns[entry.column] = self.take(place, entry.width)
                if entry.counts:
                    counts[entry.counts] = columns[entry.column]

    def value(self, kind: int, key: bytes) -> None:
        """A value and all that is in it; arrays in arrays wait on a list of their own."""
        waiting = [(kind, 1)]
        while waiting:
            kind, count = waiting.pop()
            if count > 1:
                waiting.append((kind, count - 1))
            entry = next((known for known in self.layout.value_types if known.id == kind), None)
            if entry is None:
                raise _EndError
            if entry.kind == "string":
                self.skip(self.take("string.length", self.layout.string_length))
            elif entry.kind == "array":
                head = {
                    part: self.take(f"array.{part}", width) for part, width in self.layout.array
                }
                if head["count"]:
                    waiting.append((head["element_type"], head["count"]))
            elif key == tables.ALIGNMENT_KEY.encode():
                self.take("alignment", entry.bytes)
            else:
                self.skip(entry.bytes)


def outline(data: bytes) -> Outline:
    """Follow a file as far as it can be followed."""
    walker = _Walker(data)
    with suppress(_EndError):
        walker.walk()
    return walker.found


def mutate(data: bytes, choose: Choose) -> tuple[str, bytes]:
    """Do one kind of damage to a file; returns the kind and the damaged file."""
    found = outline(data)
    kinds = sorted({fuzz.KINDS[spot.place] for spot in found.spots}) or ["bytes"]
    kinds += [kind for kind, places in (("depth", found.values), ("name", found.texts)) if places]
    if data:
        kinds += ["bytes", "cut"]
    kind = choose(kinds)
    if kind == "depth":
        return kind, _nested(data, found, choose)
    if kind == "name":
        return kind, _renamed(data, found, choose)
    if kind == "cut":
        return kind, data[: choose(range(len(data)))]
    if kind == "bytes":
        at = choose(range(len(data) or 1))
        byte = choose(range(256))
        return kind, data[:at] + bytes([byte]) + data[at + 1 :]
    spot = choose([spot for spot in found.spots if fuzz.KINDS[spot.place] == kind])
    top = 1 << 8 * spot.width
    near = [(spot.value + step) % top for step in (-1, 1)]
    value = choose([*near, *(number for number in fuzz.NUMBERS[spot.place] if number < top)])
    return kind, _written(data, found, spot, value)


def _written(data: bytes, found: Outline, spot: Spot, value: int) -> bytes:
    number = value.to_bytes(spot.width, found.order)
    return data[: spot.offset] + number + data[spot.offset + spot.width :]


def _nested(data: bytes, found: Outline, choose: Choose) -> bytes:
    """Put arrays of one array around a value."""
    tag, start = choose(found.values)
    depth = choose(fuzz.DEPTHS)
    layout = tables.LAYOUTS.get(found.version, tables.LAYOUTS[max(tables.VERSIONS)])
    array = next(kind.id for kind in layout.value_types if kind.kind == "array")
    inner = {"count": 1, "element_type": tag.value}

    def head(numbers: dict[str, int]) -> bytes:
        return b"".join(numbers[n].to_bytes(width, found.order) for n, width in layout.array)

    heads = head(inner | {"element_type": array}) * (depth - 1) + head(inner)
    damaged = _written(data, found, tag, array)
    return damaged[:start] + heads + damaged[start:]


def _renamed(data: bytes, found: Outline, choose: Choose) -> bytes:
    """Give a key or tensor another name: a hostile one, or that of another."""
    spot = choose(found.texts)

    def text(of: Spot) -> bytes:
        start = of.offset + of.width
        return data[start : start + of.value]

    others = [text(other) for other in found.texts if other.place == spot.place]
    name = choose([*fuzz.NAMES, *others])
    end = spot.offset + spot.width + spot.value
    return data[: spot.offset] + len(name).to_bytes(spot.width, found.order) + name + data[end:]


def random_mutations(data: bytes, random: Random, most: int = 3) -> bytes:
    """Do one to `most` kinds of damage, one after the other."""
    for _ in range(random.randint(1, most)):
        _, data = mutate(data, random.choice)
    return data


@st.composite
def mutations(draw: st.DrawFn, files: st.SearchStrategy[bytes], most: int = 3) -> bytes:
    """Files with one to `most` kinds of damage; Hypothesis makes what fails smaller."""
    data = draw(files)
    for _ in range(draw(st.integers(1, most))):
        _, data = mutate(data, lambda items: draw(st.sampled_from(items)))
    return data
