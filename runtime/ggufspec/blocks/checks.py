"""Whether stored values are such as their types allow: the conditions of ``valid:`` in the spec."""

from __future__ import annotations

from collections import Counter
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..registry import TensorType
from . import kernels
from .rows import TILE, Backend, ByteOrder
from .view import Array, Blocks

Bytes = NDArray[np.uint8]
Part = Literal["block", "row", "tensor"]
"""What a condition looks at: a block, what is stored once a row, what a tensor ends with."""

_FEW = 256
"""Pieces of storage that NumPy looks at one by one, where the compiled part has found a count."""


def has_conditions(kind: TensorType, part: Part = "block") -> bool:
    """Whether a type asks anything of such a part; integers, say, hold any bytes."""
    return hasattr(_module(kind), f"broken_{part}")


def count_broken(
    data: Bytes,
    kind: TensorType,
    part: Part = "block",
    *,
    backend: Backend = "auto",
    byte_order: ByteOrder = "little",
) -> dict[str, int]:
    """How many stored values break conditions on a part, by the text of each that some do.

    data: C-contiguous uint8 (n, bytes of the part).
    """
    if not has_conditions(kind, part):
        return {}
    if part == "block" and kernels.chosen(backend, kind.name):
        counts = kernels.count_broken(kind.name, data, byte_order=byte_order)
        if counts is not None:
            return counts
        if backend == "native":
            raise RuntimeError(f"the compiled part has other conditions on {kind.name}")
    total: Counter[str] = Counter()
    step = max(1, TILE // kind.elements)
    for start in range(0, len(data), step):
        found = _broken(data[start : start + step], kind, part, byte_order)
        total.update({text: count for text, bad in found.items() if (count := int(bad.sum()))})
    return dict(total)


def find_broken(
    data: Bytes,
    kind: TensorType,
    condition: str,
    most: int,
    part: Part = "block",
    *,
    backend: Backend = "auto",
    byte_order: ByteOrder = "little",
) -> list[tuple[int, int]]:
    """The first places that break a condition: row of `data`, byte in it of the stored word."""
    places = _module(kind).PLACES[condition]
    found: list[tuple[int, int]] = []
    pending = [(0, len(data))]
    while pending and len(found) < most:
        start, stop = pending.pop()
        if stop - start <= _FEW:
            bad = _broken(data[start:stop], kind, part, byte_order)[condition]
            rows, values = np.nonzero(bad)
            found += [
                (start + row, int(places[value]))
                for row, value in zip(rows.tolist(), values.tolist(), strict=True)
            ][: most - len(found)]
            continue
        middle = (start + stop) // 2
        for first, last in ((middle, stop), (start, middle)):  # the last one is taken first
            some = count_broken(
                data[first:last], kind, part, backend=backend, byte_order=byte_order
            )
            if condition in some:
                pending.append((first, last))
    return found


def _broken(data: Bytes, kind: TensorType, part: Part, byte_order: ByteOrder) -> dict[str, Array]:
    order = "<" if byte_order == "little" else ">"
    with np.errstate(all="ignore"):
        made: dict[str, Array] = getattr(_module(kind), f"broken_{part}")(Blocks(data, order))
    return made


@cache
def _module(kind: TensorType) -> ModuleType:
    """The kernels of a type; of one that a specification added, they are in memory already."""
    return import_module(f"ggufspec.generated.numpy.{kind.name.lower()}")
