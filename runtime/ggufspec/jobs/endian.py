"""Files in the other byte order: everything stays where it is, and every stored word is turned.

Words keep their widths, so a file has the same size in both byte orders, and what no word is
made of (padding, gaps, bytes behind the last tensor) is taken over as it is. Turned twice a file
is what it was, byte for byte.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..container.scan import ByteOrder
from ..errors import GGUFError
from ..files.arrays import Form
from ..files.atomic import AtomicFile
from ..files.encode import Encoder
from ..files.reader import load_part
from ..files.tensor import Tensor, Tensors
from ..generated.shards import COUNT_KEY, NUMBER_KEY
from .errors import ConversionError
from .unchanged import unchanged

if TYPE_CHECKING:
    from ..files.encode import Piece
    from ..files.part import Part
    from ..registry import TensorType

Wanted = Literal["big", "little", "native", "opposite"]

_CHUNK = 8 << 20  # bytes in memory at a time
_FIRST_BIG = 3  # the version of the container that says that there are big-endian files


@dataclass(frozen=True)
class Obstacle:
    """A tensor whose words nobody knows, and why."""

    tensor: str
    type: str
    reason: str


@dataclass(frozen=True)
class EndianPlan:
    """What becomes of a file: `byte_order` is that of the file to come."""

    part: Part
    byte_order: ByteOrder

    @property
    def turns(self) -> bool:
        """Whether it changes anything; a file in the wanted order is copied."""
        return self.byte_order != self.part.scan.byte_order

    @property
    def size(self) -> int:
        """Bytes of both files."""
        return self.part.scan.file_size

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """The file's tensors in the order of their data."""
        return tuple(sorted(Tensors([self.part]).values(), key=lambda tensor: tensor.offset))

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """The tensors that cannot be turned."""
        if not self.turns:
            return ()
        found = ((tensor, _reason(tensor)) for tensor in self.tensors)
        return tuple(Obstacle(tensor.name, tensor.type, why) for tensor, why in found if why)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What to know before anything is written."""
        return tuple(_notes(self))

    def by_type(self) -> dict[str, tuple[int, int]]:
        """Number of tensors and bytes of each type."""
        counts: Counter[str] = Counter()
        nbytes: Counter[str] = Counter()
        for tensor in self.tensors:
            counts[tensor.type] += 1
            nbytes[tensor.type] += tensor.nbytes
        return {name: (count, nbytes[name]) for name, count in counts.items()}

    def check(self) -> None:
        """ConversionError, naming tensor and type, where something cannot be turned."""
        if self.obstacles:
            first, more = self.obstacles[0], len(self.obstacles) - 1
            others = f"; so with {more} more of its tensors" if more else ""
            raise ConversionError(
                f"tensor {first.tensor!r} of type {first.type}: {first.reason}{others}",
                "unsupported",
                hint="--dialect says whose type numbers the file uses",
            )


def wanted_order(name: str, current: ByteOrder) -> ByteOrder:
    """The byte order that a word asks for, for a file that is in another; ValueError."""
    match name:
        case "big":
            return "big"
        case "little":
            return "little"
        case "native":
            return sys.byteorder
        case "opposite":
            return "little" if current == "big" else "big"
    raise ValueError(f"a byte order is big, little, native or opposite, not {name!r}")


def plan_endian(part: Part, to: Wanted | str = "opposite") -> EndianPlan:
    """What becomes of an open file; nothing is written. ValueError for another word."""
    return EndianPlan(part, wanted_order(to, part.scan.byte_order))


def convert_endian(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    to: Wanted | str = "opposite",
    *,
    dialect: str | None = None,
    replace: bool = False,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> EndianPlan:
    """Write a file in another byte order; of a split set it is the named file alone.

    to: `big`, `little`, `native` (of this machine) or `opposite`. replace: whether the target may
    exist. threads: None for all processors. advance: is told bytes as they are written. A file
    that is in the wanted order is copied.

    ConversionError for types whose words nobody knows, before anything is written; GGUFError for
    what is no GGUF file; OSError from the system. The target appears only when it is whole.
    """
    part = load_part(source, "lenient", dialect)
    try:
        plan = plan_endian(part, to)
        write_endian(plan, target, replace=replace, threads=threads, advance=advance)
    finally:
        part.source.close()
    return plan


def write_endian(
    plan: EndianPlan,
    target: str | os.PathLike[str],
    *,
    replace: bool = False,
    threads: int | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> None:
    """Carry a plan out; see `convert_endian`."""
    plan.check()
    path = plan.part.source.path
    like = [path] if path else []
    with AtomicFile(target, replace=replace, like=like) as output, unchanged([plan.part]):
        for piece in _pieces(plan, threads):
            output.write(piece)
            advance(len(piece))
        output.flush()
        _check(plan, output.temporary)


def _pieces(plan: EndianPlan, threads: int | None) -> Iterator[Piece]:
    """The new file from front to back."""
    part, at = plan.part, 0
    if plan.turns:
        for piece in front(part, plan.byte_order):
            at += len(piece)
            yield piece
        if at != part.scan.metadata_end:
            raise ConversionError("the header would have another size", "data")
        for tensor in plan.tensors:
            if tensor.nbytes:
                yield from _as_it_is(part, at, tensor.file_offset)
                yield from _turned(tensor, threads)
                at = tensor.file_offset + tensor.nbytes
    yield from _as_it_is(part, at, plan.size)


def front(part: Part, byte_order: ByteOrder) -> Iterator[Piece]:
    """Header, keys and tensor infos of a file in a byte order, up to the padding."""
    scan = part.scan
    encoder = Encoder(Form(scan.version, byte_order))
    yield from encoder.record("header", scan.header)
    for key in part.metadata:
        yield from encoder.pair(key, part.metadata.stored(key), None)
    for row, offset in enumerate(scan.tensors.offset):
        yield from encoder.record("tensors", part.info_of(row, offset))


def _as_it_is(part: Part, first: int, last: int) -> Iterator[Piece]:
    if last < first:
        raise ConversionError("tensors overlap", "data")
    for start in range(first, last, _CHUNK):
        yield part.source.read(start, min(_CHUNK, last - start))


def _turned(tensor: Tensor, threads: int | None) -> Iterator[Piece]:
    """The tensor's bytes in the other byte order."""
    import numpy as np

    from ..blocks import byteswap, swap_suffix

    kind = _kind(tensor)
    unit, suffix = _unit(tensor, kind), kind.info.tensor_suffix
    step = unit * max(1, _CHUNK // unit)
    source, start = tensor.part.source, tensor.file_offset
    end = start + tensor.nbytes - suffix
    for first in range(start, end, step):
        data = np.frombuffer(source.read(first, min(step, end - first)), np.uint8)
        yield byteswap(data.reshape(-1, unit), kind.name, threads=threads).reshape(-1).data
    if suffix:
        data = np.frombuffer(source.read(end, suffix), np.uint8)
        yield swap_suffix(data, kind.name).data


def _unit(tensor: Tensor, kind: TensorType) -> int:
    """Bytes that can be turned by themselves: a block, or a row that starts with its own bytes."""
    if not kind.info.row_prefix:
        return kind.bytes
    return kind.row_bytes(tensor.shape[-1] if tensor.shape else 1)


def _kind(tensor: Tensor) -> TensorType:
    kind = tensor.kind
    assert kind is not None  # else it is an obstacle
    return kind


def _reason(tensor: Tensor) -> str:
    """Why a tensor cannot be turned; "" if it can."""
    kind = tensor.kind
    if not tensor.nbytes:
        return ""
    if kind is None:
        return "nobody knows which of its bytes make up words"
    try:
        tensor.check_decodes()
    except GGUFError as error:
        return error.message.removeprefix(f"tensor {tensor.name!r}: ")
    if not kind.elements:
        return "ggml has removed it, and its layout is not known"
    if not tensor.whole:
        return f"its rows of {tensor.shape[-1]} are no whole blocks of {kind.elements}"
    return ""


def _notes(plan: EndianPlan) -> Iterator[str]:
    part = plan.part
    if not plan.turns:
        yield f"the file is {plan.byte_order}-endian already: what is written is a copy"
    elif plan.byte_order != sys.byteorder:
        yield (
            f"this machine is {sys.byteorder}-endian: ggml and what is built on it "
            "cannot load the new file here"
        )
    if plan.turns and plan.byte_order == "big" and part.scan.version < _FIRST_BIG:
        yield (
            f"version {part.scan.version} of the format knows no big-endian files: "
            "other readers may refuse this one"
        )
    count, number = part.metadata.get(COUNT_KEY), part.metadata.get(NUMBER_KEY)
    if isinstance(count, int) and count > 1 and isinstance(number, int):
        yield (
            f"this is file {number + 1} of a set of {count}: each file is converted by itself, "
            "and a set is read only when all have one byte order"
        )


def _check(plan: EndianPlan, path: Path) -> None:
    """ConversionError unless what was written reads as the same keys and tensors."""
    choice, old = plan.part.choice, plan.part.scan
    try:
        part = load_part(path, "lenient", choice.dialect.name if choice else None)
    except GGUFError as error:
        raise ConversionError(f"the file would not be readable: {error}", "data") from None
    try:
        new = part.scan
        same = (
            (new.byte_order, new.file_size) == (plan.byte_order, old.file_size)
            and new.header == old.header
            and new.keys == old.keys
            and new.tensors == old.tensors
        )
    finally:
        part.source.close()
    if not same:
        raise ConversionError("the file would not have the keys and tensors of this one", "data")
