"""Pieces of a tensor's stored bytes in two files, made comparable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import lcm, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...blocks import byteswap, swap_suffix
from ..comparing.ordered import batches
from ..comparing.pairs import Pair
from ..comparing.spans import obstacle, unit

if TYPE_CHECKING:
    from ...files.tensor import Tensor
    from ...registry import TensorType

Bytes = NDArray[np.uint8]

ELEMENTS = 1 << 18
"""Elements that are compared at once."""

_BYTES = 1 << 21
"""The same for bytes that nobody can decode."""


@dataclass(frozen=True)
class Subject:
    """A tensor of both files, in the same shape; `number` is its place among them.

    decoded: whether both have types whose values can be compared; otherwise their bytes are.
    """

    number: int
    pair: Pair
    decoded: bool

    @property
    def same_type(self) -> bool:
        """Whether the same bytes mean the same."""
        return self.pair.reference.type == self.pair.tensor.type


@dataclass(frozen=True)
class Stretch:
    """Some of a subject: elements, or bytes where they cannot be decoded."""

    subject: Subject
    first: int
    count: int


def subject_of(number: int, pair: Pair) -> Subject:
    """How a pair is to be compared."""
    decoded = obstacle(pair.reference) is None and obstacle(pair.tensor) is None
    return Subject(number, pair, decoded)


def stretches(subjects: Iterable[Subject]) -> Iterator[list[Stretch]]:
    """All of the subjects in order, in lists that are worth a thread's while."""
    return batches(chain.from_iterable(map(_of_subject, subjects)), ELEMENTS)


def _of_subject(subject: Subject) -> Iterator[Stretch]:
    pair = subject.pair
    if subject.decoded:
        total = prod(pair.tensor.shape)
        whole = lcm(unit(pair.reference), unit(pair.tensor))
        step = max(whole, ELEMENTS // whole * whole)
    else:
        total, step = max(pair.reference.nbytes, pair.tensor.nbytes), _BYTES
    if not total:
        yield Stretch(subject, 0, 0)  # there may be bytes all the same
    for first in range(0, total, step):
        yield Stretch(subject, first, min(step, total - first))


def stored(tensor: Tensor, stretch: Stretch) -> Bytes:
    """The bytes of a stretch as (rows or 1, bytes a row), without those stored once a tensor."""
    kind = tensor.kind
    if not stretch.count:
        return np.empty((1, 0), np.uint8)
    if not stretch.subject.decoded or kind is None:
        count = max(0, min(stretch.count, tensor.nbytes - stretch.first))
        return _read(tensor, stretch.first, count).reshape(1, -1)
    if kind.info.row_prefix or kind.info.tensor_suffix:
        rows, row = prod(tensor.shape[:-1]), max(1, tensor.shape[-1] if tensor.shape else 1)
        data, _ = tensor.split_data()
        cut: Bytes = data.reshape(rows, -1)[stretch.first // row :][: stretch.count // row]
        return cut
    start = stretch.first // kind.elements * kind.bytes
    return _read(tensor, start, stretch.count // kind.elements * kind.bytes).reshape(1, -1)


def suffix(tensor: Tensor, byte_order: str) -> bytes:
    """The bytes stored once a tensor, in a byte order."""
    _, found = tensor.split_data()
    if found is None:
        return b""
    kind = tensor.kind
    assert kind is not None
    same = tensor.part.scan.byte_order == byte_order
    return bytes(found if same else swap_suffix(found, kind.name))


def ordered_as(data: Bytes, tensor: Tensor, byte_order: str) -> Bytes:
    """Stored rows in a byte order."""
    if tensor.part.scan.byte_order == byte_order or not data.size:
        return data
    kind = tensor.kind
    assert kind is not None
    return byteswap(data, kind.name)


def words(data: Bytes, kind: TensorType) -> NDArray[Any]:
    """The words of a plain type in little endian, as unsigned numbers."""
    return np.ascontiguousarray(data).reshape(-1).view(f"<u{kind.bytes}")


def _read(tensor: Tensor, start: int, count: int) -> Bytes:
    data = tensor.part.source.read(tensor.file_offset + start, count)
    return np.frombuffer(data, np.uint8)
