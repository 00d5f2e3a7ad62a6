"""One tensor of the input to bytes of another type, a tile at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..blocks.rows import byteswap
from ..blocks.tiles import tiles
from ..quantizers.quantize import QuantizeError, quantize
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from .options import Options

Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class Target:
    """What a tensor shall become: ``importance`` is (row,), (experts, row) or None."""

    tensor: Tensor
    type: str
    importance: Floats | None
    options: Options

    def bytes_of(self, tile: Floats, first: int, threads: int | None) -> Bytes:
        """The stored bytes of a tile, (rows, row), whose first element is number ``first``.

        ConversionError, naming the tensor and the place, for what the type cannot hold.
        """
        parts = []
        for rows, weights, before in self._parts(tile, first):
            try:
                parts.append(
                    quantize(
                        rows, self.type, weights, threads=threads,
                        non_finite=self.options.non_finite,
                        clamp_scales=self.options.clamp_scales,
                    )
                )  # fmt: skip
            except QuantizeError as error:
                raise self._error(rows, error, first + before) from error
        data = parts[0] if len(parts) == 1 else np.concatenate(parts)
        little = self.tensor.part.scan.byte_order == "little"
        return data if little else byteswap(data, self.type)

    def _parts(self, tile: Floats, first: int) -> Iterator[tuple[Floats, Floats | None, int]]:
        """The tile cut where another expert's rows begin, with the weights of each."""
        if self.importance is None or self.importance.ndim == 1:
            yield tile, self.importance, 0
            return
        row, each = tile.shape[1], self.tensor.shape[-2]
        start, number = 0, first // row
        while start < len(tile):
            expert, within = divmod(number + start, each)
            stop = min(len(tile), start + each - within)
            yield tile[start:stop], self.importance[expert], start * row
            start = stop

    def _error(self, rows: Floats, error: QuantizeError, first: int) -> ConversionError:
        tensor = self.tensor
        element = first + error.row * rows.shape[1] + error.column
        place = ", ".join(map(str, np.unravel_index(element, tensor.shape)))
        value = rows[error.row, error.column]
        if not np.isfinite(value):
            return ConversionError(
                f"tensor {tensor.name!r}, element [{place}] is {value}: not finite", "data",
                hint="--non-finite=zero takes 0 for such elements",
            )  # fmt: skip
        row = element // tensor.shape[-1]
        with np.errstate(invalid="ignore"):
            largest = float(np.abs(rows[error.row]).max())
        return ConversionError(
            f"tensor {tensor.name!r}, row {row}: {self.type} has no finite scale for the block "
            f"from element [{place}] on (largest magnitude of the row: {largest:g})", "data",
            hint="--clamp-scales limits the values to what the type reaches",
        )  # fmt: skip


def pieces(tensor: Tensor, *, elements: int, threads: int | None) -> Iterator[tuple[Floats, int]]:
    """The tensor as float tiles of whole rows, each with the number of its first element.

    A tile is good until the next one is asked for.
    """
    first = 0
    for tile in tiles(tensor, elements=elements, threads=threads):
        yield tile, first
        first += tile.size
