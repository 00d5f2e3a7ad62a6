"""A type as a spec folder describes it, ready to run: decoded and quantized by NumPy.

The kernels are made from the spec in memory, as `extension` makes those of a user's types, so that
what is verified is the spec and not what was generated from it some time ago.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ggufspec
from ggufspec.blocks.view import Blocks
from ggufspec.generated import quantizers as made_quantizers
from ggufspec.generated.numpy import tables as made_tables
from ggufspec.generated.types import TypeInfo
from ggufspec.quantizers.quantize import QuantizeError
from ggufspec.registry import types

from ..affine import points
from ..extension import KERNELS, made_module
from ..model import BlockType
from ..spec import OWN, Spec
from ..targets.numpy.emit import module, tables_module
from ..targets.quantizers.emit import python_module
from ..targets.quantizers.model import quantizers
from ..targets.registry.emit import type_info

_numbers = count(1)

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


class CarriedOut:
    """One type of a spec; make it within `in_force` to quantize."""

    def __init__(self, spec: Spec, kind: BlockType) -> None:
        place = f"ggufspec.upstream{next(_numbers)}.tables"
        self.spec, self.kind = spec, kind
        self.tables = made_module(place, tables_module(spec.tables, spec.scalars))
        sys.modules[place] = self.tables
        try:
            self.kernels = made_module(kind.name.lower(), module(kind, place))
        finally:
            del sys.modules[place]
        self.same = _same(spec, kind)

    def dequantize(self, blocks: Bytes) -> Floats:
        """Blocks (n, bytes) to floats (n, elements)."""
        with np.errstate(all="ignore"):
            values = self.kernels.dequantize(Blocks(np.ascontiguousarray(blocks), "<"))
        return np.ascontiguousarray(values, np.float32)

    def unpack(self, blocks: Bytes) -> dict[str, NDArray[Any]]:
        """Single fields and codes of blocks."""
        return dict(self.kernels.unpack(Blocks(np.ascontiguousarray(blocks), "<")))

    def quantize(self, x: Floats, importance: Floats | None) -> Bytes | None:
        """Rows to stored rows; None where an element or scale is refused."""
        backend: Any = "auto" if self.same else "numpy"
        try:
            return ggufspec.quantize(x, self.kind.name, importance, backend=backend)
        except QuantizeError:
            return None

    def element(self, block: Bytes, number: int) -> dict[str, Any]:
        """What one element is made of: single fields, and the codes at its place."""
        unpacked = self.unpack(block[None])
        found = {field.name: unpacked[field.name][0].item() for field in self.kind.fields
                 if field.name in unpacked and not field.counts}  # fmt: skip
        for region in self.kind.regions:
            if not region.start <= number < region.start + region.size:
                continue
            point = list(points(region.axes, region.extents))[number - region.start]
            for code in region.codes:
                index, start = 0, 0
                for axis, extent in region.order:
                    if axis in code.axes:
                        index = index * extent + point[axis]
                for before in self.kind.regions:
                    if before.start < region.start and any(
                        c.name == code.name for c in before.codes
                    ):
                        start += before.size
                values = unpacked[code.name][0].reshape(-1)
                at = ",".join(f"{axis}={point[axis]}" for axis in code.axes)
                found[f"{code.name}[{at}]" if at else code.name] = values[start + index].item()
        return found


@contextmanager
def in_force(made: CarriedOut) -> Iterator[None]:
    """Let the package quantize to the type as the spec describes it, for a while."""
    if made.same:
        yield
        return
    name, kind = made.kind.name, made.kind
    path = f"{KERNELS}.{name.lower()}"
    if name not in types:
        types.add(TypeInfo(*type_info(kind)))
    quantizer: dict[str, Any] = {}
    exec(python_module(quantizers(made.spec.only([name]))), quantizer)
    tables = {n: value for n, value in vars(made.tables).items() if n.isupper()}
    old_tables = {n: getattr(made_tables, n, None) for n in tables}
    old_module = sys.modules.get(path)
    old_quantizer = made_quantizers.QUANTIZERS.get(name)
    sys.modules[path] = made.kernels
    vars(made_tables).update(tables)
    made_quantizers.QUANTIZERS.update(quantizer["QUANTIZERS"])
    try:
        yield
    finally:
        vars(made_tables).update({n: value for n, value in old_tables.items() if value is not None})
        made_quantizers.QUANTIZERS.pop(name, None)
        if old_quantizer is not None:
            made_quantizers.QUANTIZERS[name] = old_quantizer
        sys.modules.pop(path, None)
        if old_module is not None:
            sys.modules[path] = old_module


def _same(spec: Spec, kind: BlockType) -> bool:
    """Whether the package's own spec says the same of the type and of its tables."""
    for name in kind.inputs:
        own = OWN / name
        if not own.is_file() or own.read_bytes() != (spec.root / name).read_bytes():
            return False
    known = types.get(kind.name)
    return known is not None and (known.elements, known.bytes) == (kind.elements, kind.bytes)
