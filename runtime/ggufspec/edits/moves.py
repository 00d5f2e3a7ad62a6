"""Where the data of a file goes when what stands in front of it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..container.layout import pad_up

if TYPE_CHECKING:
    from ..files.part import Part


@dataclass(frozen=True)
class Move:
    """`count` bytes at `source` of the old file that lie at `target` of the new one."""

    source: int
    target: int
    count: int


@dataclass(frozen=True)
class Span:
    """The data of a tensor, in bytes from the start of the data section."""

    start: int
    count: int


def kept_together(part: Part, front: int) -> list[Move]:
    """Everything behind the header as it is, whatever it may be, behind `front` bytes."""
    start = min(part.scan.data_offset, part.scan.file_size)
    return [Move(start, front, part.scan.file_size - start)]


def packed(part: Part, alignment: int) -> tuple[int, ...]:
    """Offsets of the tensors in the order of their infos, one behind the other, padded."""
    offsets, offset = [], 0
    for span in spans_of(part):
        offsets.append(offset)
        offset = pad_up(offset + span.count, alignment)
    return tuple(offsets)


def apart(part: Part, offsets: tuple[int, ...], front: int, alignment: int) -> list[Move]:
    """Each tensor by itself to its new place, and at the end what lies behind all of them."""
    scan, spans = part.scan, spans_of(part)
    moves = [
        Move(scan.data_offset + span.start, front + offset, span.count)
        for span, offset in zip(spans, offsets, strict=True)
    ]
    end = scan.data_offset + max((span.start + span.count for span in spans), default=0)
    end = min(pad_up(end, scan.alignment), scan.file_size)
    target = max((move.target + move.count for move in moves), default=front)
    moves.append(Move(end, pad_up(target, alignment), scan.file_size - end))
    return moves


def spans_of(part: Part) -> list[Span]:
    """The bytes of each tensor: up to the next one where nobody can tell how many are its own."""
    columns, scan = part.scan.tensors, part.scan
    disputed = part.choice.disputed if part.choice else frozenset()

    def place(row: int) -> tuple[int, bool, int]:
        """Where several start, the bytes are those of one that is known to have some."""
        clear = columns.nbytes[row] > 0 and columns.type[row] not in disputed
        return columns.offset[row], clear, row

    order = sorted(range(len(columns)), key=place)
    end = max(0, scan.file_size - scan.data_offset)
    spans = [Span(0, 0)] * len(columns)
    for row in reversed(order):
        start, known = columns.offset[row], columns.nbytes[row]
        reach = max(0, end - start)
        unclear = known < 0 or columns.type[row] in disputed
        spans[row] = Span(start, reach if unclear else min(known, reach))
        if known:  # an empty neighbour bounds nothing
            end = min(end, start)
    return spans
