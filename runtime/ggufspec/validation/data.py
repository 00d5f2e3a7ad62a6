"""GG15: what the types call invalid in the bytes of the tensors, and signs of a broken download.

The bytes are looked at where they are mapped, a few megabytes at a time on each thread.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..blocks import checks
from ..blocks.kernels import at_most_processors
from .model import undecodable
from .runs import STEP, Run, find_runs, whole_steps

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..registry import TensorType
    from .findings import Collector
    from .model import Model

Bytes = NDArray[np.uint8]
_Key = tuple[checks.Part, str]
"""A part of the storage, and a condition on it."""

_CHUNK = 4 << 20  # bytes that one thread looks at before it takes the next
_SHOWN = 3  # places of one finding
_SLACK = 64  # bytes of a row that may be zeros by chance, beside rows that are

_RULES = ("GG1501", "GG1502", "GG1503", "GG1504", "GG1505", "GG1506", "GG1507", "GG1508")


@dataclass(frozen=True)
class _Stored:
    """A tensor's bytes as its type cuts them.

    A unit of `unit` bytes is a block, or a whole row where rows start with bytes of their own.
    There are `units` of them, `row` in a row.
    """

    tensor: Tensor
    kind: TensorType
    unit: int
    units: int
    row: int

    def bytes(self) -> Bytes:
        """All of them; OSError when the file was cut."""
        start, tensor = self.tensor.file_offset, self.tensor
        return np.frombuffer(tensor.part.source.view[start : start + tensor.nbytes], np.uint8)

    @property
    def row_bytes(self) -> int:
        return self.row * self.unit


@dataclass(frozen=True)
class _Chunk:
    """Units `first` to `last` of a tensor."""

    stored: _Stored
    first: int
    last: int

    @property
    def size(self) -> int:
        return (self.last - self.first) * self.stored.unit

    @property
    def steps(self) -> tuple[int, int]:
        """The steps of `runs` that begin in here and end in the tensor."""
        unit, most = self.stored.unit, self.stored.tensor.nbytes // STEP
        return min(most, -(-self.first * unit // STEP)), min(most, -(-self.last * unit // STEP))


@dataclass
class _Seen:
    """What was counted in the chunks of one tensor, by part and condition."""

    counts: dict[_Key, int] = field(default_factory=dict)
    places: dict[_Key, list[tuple[int, int]]] = field(default_factory=dict)
    steps: list[Bytes] = field(default_factory=list)


def check(model: Model, found: Collector) -> None:
    """Add what is wrong."""
    if not any(map(found.asks, _RULES)):
        return
    left_out: Counter[str] = Counter()
    tensors: list[_Stored] = []
    for tensor in model.tensors.values():
        if why := undecodable(tensor):
            left_out[why] += 1
        else:
            tensors.append(_stored(tensor))
    for why, count in left_out.items():
        found.add("GG0902", checks=f"data of {count} tensor{'s' * (count != 1)}", why=why)
    seen = _Seen()
    threads = at_most_processors(model.threads)
    for chunk, part in _looked_at(_jobs(tensors), threads):
        seen.steps += part.steps
        for key, count in part.counts.items():
            seen.counts[key] = seen.counts.get(key, 0) + count
            seen.places[key] = (seen.places.get(key, []) + part.places[key])[:_SHOWN]
        model.advance(chunk.size)
        if chunk.last == chunk.stored.units:
            _tell(model, chunk.stored, seen, found)
            seen = _Seen()


def _stored(tensor: Tensor) -> _Stored:
    kind = tensor.kind
    assert kind is not None  # else undecodable
    rows, length = prod(tensor.shape[:-1]), tensor.shape[-1] if tensor.shape else 1
    if kind.info.row_prefix:
        return _Stored(tensor, kind, kind.row_bytes(length), rows, 1)
    row = length // kind.elements
    return _Stored(tensor, kind, kind.bytes, rows * row, row)


# ---- work on several threads


def _jobs(tensors: list[_Stored]) -> Iterator[list[_Chunk]]:
    """All chunks in order, small ones together."""
    job: list[_Chunk] = []
    size = 0
    for stored in tensors:
        step = max(1, _CHUNK // stored.unit)
        for first in range(0, stored.units or 1, step):
            job.append(_Chunk(stored, first, min(first + step, stored.units)))
            size += job[-1].size
            if size >= _CHUNK or len(job) >= _CHUNK // STEP:
                yield job
                job, size = [], 0
    if job:
        yield job


def _looked_at(jobs: Iterator[list[_Chunk]], threads: int) -> Iterator[tuple[_Chunk, _Seen]]:
    """What is seen in each chunk, in order; a few are on their way at a time."""
    if threads == 1:
        for job in jobs:
            yield from zip(job, _look_at(job), strict=True)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[list[_Chunk], Future[list[_Seen]]]] = deque()
        try:
            for job in jobs:
                waiting.append((job, pool.submit(_look_at, job)))
                if len(waiting) > 2 * threads:
                    done, future = waiting.popleft()
                    yield from zip(done, future.result(), strict=True)
            for done, future in waiting:
                yield from zip(done, future.result(), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def _look_at(job: list[_Chunk]) -> list[_Seen]:
    return [_look(chunk) for chunk in job]


def _look(chunk: _Chunk) -> _Seen:
    stored, seen = chunk.stored, _Seen()
    if not stored.tensor.nbytes:
        return seen
    whole = stored.bytes()
    body = whole[chunk.first * stored.unit : chunk.last * stored.unit]
    blocks = body.reshape(-1, stored.unit)
    prefix = stored.kind.info.row_prefix
    if prefix:
        _count(chunk, "row", np.ascontiguousarray(blocks[:, :prefix]), seen)
        blocks = np.ascontiguousarray(blocks[:, prefix:]).reshape(-1, stored.kind.bytes)
    _count(chunk, "block", blocks, seen)
    suffix = stored.kind.info.tensor_suffix
    if suffix and chunk.last == stored.units:
        _count(chunk, "tensor", whole[-suffix:].reshape(1, -1), seen)
    first, last = chunk.steps
    if last > first:
        seen.steps.append(whole_steps(whole[first * STEP : last * STEP]))
    return seen


def _count(chunk: _Chunk, part: checks.Part, data: Bytes, seen: _Seen) -> None:
    """Count what breaks the conditions on a part, and find where the first ones stand."""
    kind, order = chunk.stored.kind, chunk.stored.tensor.part.scan.byte_order
    for text, count in checks.count_broken(data, kind, part, byte_order=order).items():
        seen.counts[part, text] = count
        seen.places[part, text] = [
            (row + _units_before(chunk, part), byte)
            for row, byte in checks.find_broken(data, kind, text, _SHOWN, part, byte_order=order)
        ]


def _units_before(chunk: _Chunk, part: checks.Part) -> int:
    """Blocks, or rows, of the tensor in front of the chunk."""
    stored = chunk.stored
    if part == "tensor":
        return 0
    if part == "block" and stored.kind.info.row_prefix:
        return chunk.first * _blocks_of_row(stored)
    return chunk.first


# ---- findings


def _tell(model: Model, stored: _Stored, seen: _Seen, found: Collector) -> None:
    """The findings of one tensor."""
    tensor = stored.tensor
    for (part, condition), count in seen.counts.items():
        places = [_byte(stored, part, *place) for place in seen.places[part, condition]]
        place = model.data_place(tensor, places[0])
        names: dict[str, Any] = {
            "tensor": tensor.name,
            "type": tensor.type,
            "count": count,
            "where": _where(stored, part, seen.places[part, condition][0][0]),
            "places": [tensor.file_offset + byte for byte in places],
        }
        if not condition.startswith("finite("):
            found.add("GG1503", **place, condition=condition, **names)
        elif stored.kind.plain:
            found.add("GG1501", **place, value=_value(stored, places[0]), **names)
        else:
            found.add("GG1502", **place, condition=condition, **names)
    if seen.steps and model.kind != "imatrix":
        _tell_runs(model, stored, seen, found)


def _tell_runs(model: Model, stored: _Stored, seen: _Seen, found: Collector) -> None:
    kinds = np.concatenate(seen.steps)
    if not kinds.any():
        return
    tensor = stored.tensor
    least = {0: found.limit("GG1504"), 0xFF: found.limit("GG1505")}
    runs = find_runs(stored.bytes(), kinds, least)
    zeros = [run for run in runs if not run.value]
    ones = [run for run in runs if run.value]
    if runs and runs[0].length == tensor.nbytes:
        place, size = model.data_place(tensor), tensor.nbytes
        if runs[0].value:
            found.add("GG1507", **place, tensor=tensor.name, bytes=size)
        else:
            found.add("GG1506", **place, tensor=tensor.name, bytes=size)
        return
    spans = [_whole_rows(stored, run) for run in zeros]
    rows = [span for span in spans if span]
    broken = [run for run, span in zip(zeros, spans, strict=True) if not span]
    if broken:
        found.add("GG1504", **model.data_place(tensor, broken[0].start), **_told(stored, broken))
    if ones:
        found.add("GG1505", **model.data_place(tensor, ones[0].start), **_told(stored, ones))
    if rows:
        found.add(
            "GG1508",
            **model.data_place(tensor, rows[0][0] * stored.row_bytes),
            tensor=tensor.name,
            rows=sum(last - first for first, last in rows),
            runs=len(rows),
            bytes=sum((last - first) * stored.row_bytes for first, last in rows),
            row=rows[0][0],
        )


def _told(stored: _Stored, runs: list[Run]) -> dict[str, Any]:
    return {
        "tensor": stored.tensor.name,
        "runs": len(runs),
        "bytes": sum(run.length for run in runs),
        "length": runs[0].length,
        "where": _where_byte(stored, runs[0].start),
    }


def _whole_rows(stored: _Stored, run: Run) -> tuple[int, int] | None:
    """First row and end of a run that is whole rows, but for a few bytes that are zeros too."""
    size = stored.row_bytes
    if size >= stored.units * stored.unit:  # the only row
        return None
    first, last = -(-run.start // size), run.end // size
    exact = first * size - run.start <= _SLACK and run.end - last * size <= _SLACK
    return (first, last) if first < last and exact else None


def _byte(stored: _Stored, part: checks.Part, number: int, byte: int) -> int:
    """The byte of the tensor's data at which the stored word begins."""
    kind = stored.kind
    if part == "tensor":
        return stored.tensor.nbytes - kind.info.tensor_suffix + byte
    if part == "row" or not kind.info.row_prefix:
        return number * stored.unit + byte
    row, block = divmod(number, _blocks_of_row(stored))
    return row * stored.unit + kind.info.row_prefix + block * kind.bytes + byte


def _blocks_of_row(stored: _Stored) -> int:
    if stored.kind.info.row_prefix:
        return (stored.unit - stored.kind.info.row_prefix) // stored.kind.bytes
    return stored.row


def _where(stored: _Stored, part: checks.Part, number: int) -> str:
    """In words: row and block, row and column."""
    if part == "tensor":
        return "what stands behind the rows"
    if part == "row":
        return f"the bytes in front of row {number}"
    row, block = divmod(number, _blocks_of_row(stored))
    return f"row {row}, {'column' if stored.kind.plain else 'block'} {block}"


def _where_byte(stored: _Stored, byte: int) -> str:
    if byte >= stored.units * stored.unit:
        return _where(stored, "tensor", 0)
    row, rest = divmod(byte, stored.row_bytes)
    block = max(0, rest - stored.kind.info.row_prefix) // stored.kind.bytes
    return _where(stored, "block", row * _blocks_of_row(stored) + block)


def _value(stored: _Stored, byte: int) -> float:
    """A number that is infinite or none."""
    from .. import blocks

    data = stored.bytes()[byte : byte + stored.unit].reshape(1, -1)
    order: Any = stored.tensor.part.scan.byte_order
    return float(blocks.dequantize(data, stored.kind.name, byte_order=order)[0, 0])
