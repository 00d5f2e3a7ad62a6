"""Where tensors lie in the data section: alignment, order, gaps, overlaps, padding."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ..generated import container as tables
from .findings import DATA, Findings, Raw
from .front import Front

_TENSORS = tables.SECTIONS.index("tensors")
_PIECE = 1 << 16


@dataclass(frozen=True)
class DataSection:
    """What the checks look at; `sizes` are -1 where unknown, `place_of` a tensor's offset field."""

    front: Front
    alignment: int
    metadata_end: int
    start: int
    offsets: array[int]
    sizes: array[int]
    place_of: Callable[[int], tuple[int, int]]  # number of the field, byte of the file

    @property
    def room(self) -> int:
        """Bytes of the file from the start of the section on; negative if it ends before."""
        return self.front.size - self.start


def pad_up(offset: int, alignment: int) -> int:
    """The next multiple of the alignment, or the offset itself if it is one."""
    return offset + -offset % alignment


def check_data(found: Findings, data: DataSection, *, tiled: bool) -> None:
    """Add what is wrong; `tiled` says that tensors are known to be in order, gapless, inside."""
    size = data.front.size
    if len(data.offsets) and data.room < 0:
        _report_data(found, "data_start", data.metadata_end, data.start, size)
        return
    if not tiled:
        order = _by_offset(data.offsets)
        overlapping = _check_overlap(found, data, order)
        _check_places(found, data, overlapping)
    if _asked(found, "zero_padding"):
        for first, last in _padding(data):
            data.front.need(last)
            count = _count_other(data.front.view[first:last], tables.PADDING)
            if count:
                _report_data(found, "zero_padding", first, count, last - first)
    if _asked(found, "no_tail"):
        end = _end(data)
        if end is not None and end < size:
            _report_data(found, "no_tail", end, size - end)


def _asked(found: Findings, check: str) -> bool:
    return bool(found.severities[tables.RULE_OF[check]])


def _report_data(found: Findings, check: str, offset: int, first: int, second: int = 0) -> None:
    found.add(Raw(tables.RULE_OF[check], DATA, 0, -1, offset, first, second))


def _report(
    found: Findings, check: str, data: DataSection, index: int, first: int, second: int
) -> None:
    field, offset = data.place_of(index)
    found.add(Raw(tables.RULE_OF[check], _TENSORS, index, field, offset, first, second))


def _by_offset(offsets: array[int]) -> Sequence[int]:
    """Numbers of the tensors in the order of their data."""
    return sorted(range(len(offsets)), key=offsets.__getitem__)


def _check_overlap(found: Findings, data: DataSection, order: Sequence[int]) -> set[int]:
    overlapping = set()
    end = 0
    for index in order:
        offset, size = data.offsets[index], data.sizes[index]
        if size <= 0:
            continue
        if offset < end:
            overlapping.add(index)
            _report(found, "no_overlap", data, index, offset, end)
        end = max(end, offset + size)
    return overlapping


def _check_places(found: Findings, data: DataSection, overlapping: set[int]) -> None:
    """Each tensor by itself, and where ggml expects it: behind the padded one before it."""
    alignment = data.alignment
    expected: int | None = 0
    total = 0
    for index, (offset, size) in enumerate(zip(data.offsets, data.sizes, strict=True)):
        end = offset + max(size, 0)
        if size and end > data.room:
            _report(found, "inside", data, index, data.start + end, data.front.size)
        if offset % alignment:
            _report(found, "aligned", data, index, offset, alignment)
        elif expected is not None and offset > expected:
            _report(found, "no_gap", data, index, offset, expected)
        elif expected is not None and offset < expected and index not in overlapping:
            _report(found, "in_order", data, index, offset, expected)
        expected = pad_up(end, alignment) if size >= 0 else None
        total += pad_up(max(size, 0), alignment)
    limit = found.limits[tables.RULE_OF["data_size"]]
    if total > limit:
        _report_data(found, "data_size", data.start, 0, limit)


def _padding(data: DataSection) -> Iterator[tuple[int, int]]:
    """First byte and end, in the file, of each run of padding that the file has.

    Where not all of the file is there that in front of the data alone.
    """
    size = data.front.size
    yield data.metadata_end, min(pad_up(data.metadata_end, data.alignment), size)
    if not data.front.whole:
        return
    order = _by_offset(data.offsets)
    end = 0
    starts = [data.offsets[index] for index in order[1:]]
    for index, after in zip(order, [*starts, data.room], strict=False):
        offset, nbytes = data.offsets[index], data.sizes[index]
        # a tensor of unknown size may reach the next one
        end = max(end, offset + nbytes if nbytes >= 0 else after)
        last = min(pad_up(end, data.alignment), after, data.room)
        if end < last:
            yield data.start + end, data.start + last


def _count_other(view: memoryview, padding: bytes) -> int:
    """How many bytes are not the padding byte."""
    return sum(
        len(piece) - piece.count(padding)
        for piece in (bytes(view[start : start + _PIECE]) for start in range(0, len(view), _PIECE))
    )


def _end(data: DataSection) -> int | None:
    """The padded end of the last tensor in the file; None where its size is unknown."""
    if not len(data.offsets):
        return pad_up(data.metadata_end, data.alignment)
    if min(data.sizes) < 0:
        return None
    ends = (offset + size for offset, size in zip(data.offsets, data.sizes, strict=True))
    return pad_up(data.start + max(ends), data.alignment)
