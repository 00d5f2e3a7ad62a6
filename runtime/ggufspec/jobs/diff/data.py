"""Where the data of a tensor differ between two files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import dequantize
from ..comparing.ordered import ordered
from ..comparing.sums import larger
from .same import equal_bytes
from .stretches import (
    Bytes,
    Stretch,
    Subject,
    ordered_as,
    stored,
    stretches,
    suffix,
    words,
)

if TYPE_CHECKING:
    from ...files.tensor import Tensor
    from ...registry import TensorType
    from ..comparing.pairs import Pair

_NANS = {2: (0x7C00, 0x03FF), 4: (0x7F800000, 0x007FFFFF), 8: (0x7FF << 52, (1 << 52) - 1)}
"""Bits of a float's exponent and fraction, by its bytes."""

_BF16 = (0x7F80, 0x007F)

_STEP = 1 << 15
"""Values compared at once: what is made of them stays in cache."""


class _Room(local):
    """Arrays that each thread uses again and again."""

    def __init__(self) -> None:
        self._floats = {name: np.empty(0, np.float32) for name in ("first", "second")}

    def floats(self, name: str, count: int) -> NDArray[np.float32]:
        """Room for values of a name, with anything in it."""
        if len(self._floats[name]) < count:
            self._floats[name] = np.empty(count, np.float32)
        return self._floats[name][:count]


_room = _Room()


@dataclass(frozen=True)
class DataChange:
    """A tensor whose data differ.

    Numbers count from 0 in the tensor; what is first is None where nothing differs. bytes: stored
    bytes that differ, in the byte order of the first file; None where types differ. blocks: blocks
    with such bytes; None for types without. elements: values that differ bit for bit, a NaN being
    equal to a NaN; None for types that cannot be decoded. largest: of the differences between
    values. restated: the values are all the same, and only what stands for them is not.
    """

    pair: Pair
    bytes: int | None = None
    first_byte: int | None = None
    blocks: int | None = None
    first_block: int | None = None
    elements: int | None = None
    first_element: int | None = None
    largest: float = 0.0

    @property
    def name(self) -> str:
        """The tensor's name."""
        return self.pair.tensor.name

    @property
    def restated(self) -> bool:
        """Whether every value is the same."""
        return self.elements == 0

    def plus(self, other: DataChange) -> DataChange:
        """Together with what a later stretch of the tensor shows."""
        return DataChange(
            self.pair,
            _sum(self.bytes, other.bytes),
            _first(self.first_byte, other.first_byte),
            _sum(self.blocks, other.blocks),
            _first(self.first_block, other.first_block),
            _sum(self.elements, other.elements),
            _first(self.first_element, other.first_element),
            larger(self.largest, other.largest),
        )


def _sum(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second


def _first(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def data_changes(
    subjects: Sequence[Subject],
    *,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> list[DataChange]:
    """The subjects whose bytes or values differ, in their order.

    advance: is told the bytes of both files that were compared, about.
    """
    found: dict[int, DataChange] = {}
    for several in ordered(_compare_all, stretches(subjects), threads):
        for stretch, change in several:
            number = stretch.subject.number
            if change is not None:
                found[number] = found[number].plus(change) if number in found else change
            advance(_share(stretch))
    return [found[number] for number in sorted(found)]


def _share(stretch: Stretch) -> int:
    pair = stretch.subject.pair
    total = math.prod(pair.tensor.shape) if stretch.subject.decoded else pair.nbytes // 2
    return pair.nbytes * stretch.count // total if total else pair.nbytes


def _compare_all(several: Iterable[Stretch]) -> list[tuple[Stretch, DataChange | None]]:
    return [(stretch, _compare(stretch)) for stretch in several]


def _compare(stretch: Stretch) -> DataChange | None:
    subject = stretch.subject
    pair = subject.pair
    first, second = stored(pair.reference, stretch), stored(pair.tensor, stretch)
    if not subject.decoded:
        return _raw(stretch, first.reshape(-1), second.reshape(-1))
    if not subject.same_type:
        return _values(stretch, first, second)
    order = pair.reference.part.scan.byte_order
    other = ordered_as(second, pair.tensor, order)
    ends = suffix(pair.reference, order), suffix(pair.tensor, order)
    if ends[0] == ends[1] and _equal(first, other):
        return None
    change = _of_bytes(stretch, first, other, ends)
    kind = pair.reference.kind
    assert kind is not None
    if kind.plain:
        mine, theirs = (
            words(ordered_as(data, pair.reference, "little"), kind) for data in (first, other)
        )
        return change.plus(_of_words(stretch, mine, theirs, kind))
    return change.plus(_values(stretch, first, second) or DataChange(pair, elements=0))


def _equal(first: Bytes, second: Bytes) -> bool:
    """Whether rows hold the same bytes; eight at a time where that can be."""
    if first.shape != second.shape:
        return False
    if first.flags.c_contiguous and second.flags.c_contiguous:
        return equal_bytes(first.reshape(-1), second.reshape(-1))
    return bool((first == second).all())


def _raw(stretch: Stretch, first: Bytes, second: Bytes) -> DataChange | None:
    """Bytes that nobody can decode; what is missing in one counts as zeros, which is padding."""
    length = max(len(first), len(second))
    mine, theirs = (
        np.append(part, np.zeros(length - len(part), np.uint8)) for part in (first, second)
    )
    places = np.flatnonzero(mine != theirs)
    if not len(places):
        return None
    return DataChange(
        stretch.subject.pair, bytes=len(places), first_byte=stretch.first + int(places[0])
    )


def _of_bytes(
    stretch: Stretch, first: Bytes, second: Bytes, ends: tuple[bytes, bytes]
) -> DataChange:
    """Which stored bytes differ, and how many blocks hold one."""
    pair = stretch.subject.pair
    kind = pair.tensor.kind
    assert kind is not None
    differs = first != second
    places = np.flatnonzero(differs)
    change = DataChange(pair, bytes=len(places), elements=0)
    prefix = kind.info.row_prefix
    row = first.shape[1] if prefix or kind.info.tensor_suffix else kind.bytes
    start = stretch.first // kind.elements
    if prefix:
        width = pair.tensor.shape[-1] if pair.tensor.shape else 1
        start_byte = stretch.first // max(1, width) * row
    else:
        start_byte = start * kind.bytes
    if len(places):
        change = replace(change, first_byte=start_byte + int(places[0]))
    if not kind.plain:
        blocks = np.flatnonzero(differs[:, prefix:].reshape(-1, kind.bytes).any(axis=1))
        change = replace(
            change,
            blocks=len(blocks),
            first_block=start + int(blocks[0]) if len(blocks) else None,
        )
    if ends[0] != ends[1] and not stretch.first:
        count = sum(a != b for a, b in zip(*ends, strict=True))
        at = next(n for n, (a, b) in enumerate(zip(*ends, strict=True)) if a != b)
        tail = pair.tensor.nbytes - len(ends[0])
        change = change.plus(DataChange(pair, bytes=count))
        if change.first_byte is None:
            change = replace(change, first_byte=tail + at)
    return change


def _of_words(
    stretch: Stretch, first: NDArray[Any], second: NDArray[Any], kind: TensorType
) -> DataChange:
    """Which values of a plain type differ, by their own bits."""
    found = DataChange(stretch.subject.pair, elements=0)
    for start in range(0, len(first), _STEP):
        one, other = first[start : start + _STEP], second[start : start + _STEP]
        differs = one != other
        if kind.name[0] in "FB":
            bits = _BF16 if kind.name == "BF16" else _NANS[kind.bytes]
            differs &= ~(_nan(one, *bits) & _nan(other, *bits))
        if differs.any():
            numbers = _numbers(one, kind), _numbers(other, kind)
            found = found.plus(_of_mask(stretch, start, differs, *numbers))
    return found


def _nan(bits: NDArray[Any], exponent: int, fraction: int) -> NDArray[np.bool_]:
    kind = bits.dtype.type
    special: NDArray[np.bool_] = (bits & kind(exponent)) == exponent
    special &= (bits & kind(fraction)) != 0
    return special


def _numbers(bits: NDArray[Any], kind: TensorType) -> NDArray[Any]:
    if kind.name == "BF16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    letter = "i" if kind.name[0] == "I" else "f"
    return bits.view(f"<{letter}{kind.bytes}")


def _values(stretch: Stretch, first: Bytes, second: Bytes) -> DataChange | None:
    """Which decoded values differ, bit for bit; None if none does."""
    pair = stretch.subject.pair
    mine = _decoded(pair.reference, first, "first", stretch.count)
    theirs = _decoded(pair.tensor, second, "second", stretch.count)
    found: DataChange | None = None
    for start in range(0, stretch.count, _STEP):
        one, other = mine[start : start + _STEP], theirs[start : start + _STEP]
        differs = one.view(np.uint32) != other.view(np.uint32)
        if not differs.any():
            continue
        differs &= ~(np.isnan(one) & np.isnan(other))
        change = _of_mask(stretch, start, differs, one, other)
        if change.elements:
            found = found.plus(change) if found else change
    return found


def _decoded(tensor: Tensor, data: Bytes, name: str, count: int) -> NDArray[np.float32]:
    kind = tensor.kind
    assert kind is not None
    out = _room.floats(name, count)
    if count:
        _, end = tensor.split_data() if kind.info.tensor_suffix else (None, None)
        dequantize(
            data, kind.name, threads=1, byte_order=tensor.part.scan.byte_order, suffix=end,
            out=out.reshape(len(data), -1),
        )  # fmt: skip
    return out


def _of_mask(
    stretch: Stretch,
    start: int,
    differs: NDArray[np.bool_],
    first: NDArray[Any],
    second: NDArray[Any],
) -> DataChange:
    """The values of a stretch, from number `start` of it on, of which some differ."""
    pair = stretch.subject.pair
    count = int(np.count_nonzero(differs))
    if not count:
        return DataChange(pair, elements=0)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.subtract(second, first, dtype=np.float64)
    np.abs(distance, out=distance)
    return DataChange(
        pair,
        elements=count,
        first_element=stretch.first + start + int(np.argmax(differs)),
        largest=float(np.max(distance, where=differs, initial=0.0)),
    )
