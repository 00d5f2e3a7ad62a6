"""How the data of a file differ from what we write: order, gaps, padding, bytes of nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...container.layout import pad_up
from ...edits.moves import Span, packed, spans_of
from ...generated.container import PADDING
from ...text import plural
from .plan import Change

if TYPE_CHECKING:
    from ...files.part import Part

_PIECE = 1 << 20


def layout_changes(part: Part, alignment: int, *, alone: bool = False) -> Iterator[Change]:
    """What does not stay as it is when the tensors of a file are written with that alignment.

    alone: there are no tensors in any other file of its set either, so that it stays as it is
    whether there is padding behind its keys or not.
    """
    scan, spans = part.scan, spans_of(part)
    if not spans:
        end = scan.metadata_end
        padding = min(pad_up(end, scan.alignment), scan.file_size)
        if ends_padded(part) or not (alone or _not_padding(part, end, padding)):
            end = padding
        yield from _tail(part, end, "key")
        return
    end = scan.data_offset + max(span.start + span.count for span in spans)
    padded = pad_up(end, scan.alignment)
    own = scan.alignment
    if packed(part, own) != tuple(span.start for span in spans):
        yield Change("places", "tensors lay in another order or with gaps between them", part.file)
    if own != alignment:
        yield Change("alignment", f"tensors were aligned to {own} bytes", part.file)
    other = sum(_not_padding(part, first, last) for first, last in _between(part, spans, padded))
    if other:
        text = f"{plural(other, 'byte')} between tensors were not zero and are left out"
        yield Change("padding", text, part.file)
    if padded > scan.file_size:
        yield Change("padding", "the padding behind the last tensor was missing", part.file)
    yield from _tail(part, padded, "tensor")


def ends_padded(part: Part) -> bool:
    """Whether a file without tensors ends with padding, as if data followed, or needs none."""
    end, size = part.scan.metadata_end, part.scan.file_size
    return size == pad_up(end, part.scan.alignment) and not _not_padding(part, end, size)


def padding_of(part: Part) -> int:
    """Bytes of padding that a file without tensors ends with."""
    return part.scan.file_size - part.scan.metadata_end if ends_padded(part) else 0


def _tail(part: Part, end: int, what: str) -> Iterator[Change]:
    count = part.scan.file_size - end
    if count > 0:
        text = f"{plural(count, 'byte')} behind the last {what} are left out"
        yield Change("bytes", text, part.file)


def _between(part: Part, spans: list[Span], last: int) -> Iterator[tuple[int, int]]:
    """First byte and end of what lies in front of, between and behind tensors."""
    scan = part.scan
    end, last = scan.metadata_end, min(last, scan.file_size)
    for span in [Span(0, 0), *sorted(spans, key=lambda span: (span.start, span.count))]:
        start = min(scan.data_offset + span.start, last)  # an empty one may lie behind the end
        if start > end:
            yield end, start
        end = max(end, start + span.count)
    if end < last:
        yield end, last


def _not_padding(part: Part, first: int, last: int) -> int:
    """How many bytes are something else."""
    pieces = (
        bytes(part.source.read(at, min(_PIECE, last - at))) for at in range(first, last, _PIECE)
    )
    return sum(len(piece) - piece.count(PADDING) for piece in pieces)
