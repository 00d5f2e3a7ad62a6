"""Blocks as strided views: what the generated NumPy kernels stand on.

Every position in a block is affine in the axes of the type, so a stored word is a view of
the bytes with one stride an axis: no copy, no index array. ``axes`` everywhere below is a
list of (extent, stride in bytes), one entry for each axis of the region, (1, 0) where the
position does not depend on the axis; results have the same rank, behind the block axis.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Axes = Sequence[tuple[int, int]]
SIGNS = np.array([1.0, -1.0], np.float32)


def steps(const: int, axes: Axes) -> Array:
    """The affine map const + sum(coefficient * axis) as an int array over the axes."""
    result: Array = np.array(const)
    for extent, coefficient in axes:
        result = result[..., None] + coefficient * np.arange(extent)
    return result


class Blocks:
    """``count`` blocks of ``size`` bytes; ``order`` is "<" or ">" for their words."""

    def __init__(self, data: Array, order: str = "<") -> None:
        self.data = data
        self.count, self.size = data.shape
        self.order = order

    @staticmethod
    def zeros(count: int, size: int, order: str) -> Blocks:
        return Blocks(np.zeros((count, size), np.uint8), order)

    def words(self, kind: str, offset: int, axes: Axes) -> Array:
        """Stored values of one scalar type (NumPy kind such as "u2"), as a view."""
        shape = (self.count, *(extent for extent, _ in axes))
        strides = (self.size, *(stride for _, stride in axes))
        view: Array = np.ndarray(shape, self.order + kind, self.data, offset, strides)
        return view

    def native(self, kind: str, offset: int, axes: Axes) -> Array:
        """Stored values in the machine's own byte order, copied."""
        return self.words(kind, offset, axes).astype(np.dtype(kind), order="C")

    def bits(self, kind: str, offset: int, axes: Axes, shift: int | Array, width: int) -> Array:
        """``width`` bits from ``shift`` up of unsigned words."""
        word = self.native(kind, offset, axes)
        moved: Array = word >> np.asarray(shift).astype(word.dtype)
        moved &= word.dtype.type((1 << width) - 1)
        return moved

    def trits(self, offset: int, axes: Axes, digit: int | Array) -> Array:
        """Base-3 digits of bytes, the first digit the most significant."""
        power = (3 ** np.asarray(digit)).astype(np.uint8)
        word = self.words("u1", offset, axes) * power
        return (word.astype(np.uint16) * 3 >> 8).astype(np.uint8)

    # ---- the way back

    def store(self, kind: str, offset: int, axes: Axes, values: Array) -> None:
        """Whole words: their bytes as given, in the blocks' byte order."""
        self.words(kind, offset, axes)[...] = values

    def put(
        self, kind: str, offset: int, axes: Axes, shift: int | Array, width: int, values: Array
    ) -> None:
        """OR ``width`` low bits of ``values`` into unsigned words at ``shift``."""
        word = self.words(kind, offset, axes)
        dtype = np.dtype(kind)
        part = values.astype(dtype) & dtype.type((1 << width) - 1)
        part = part << np.asarray(shift).astype(dtype)
        word |= np.bitwise_or.reduce(part, axis=_shared(axes, part), keepdims=True)

    def put_trits(self, offset: int, axes: Axes, digit: int | Array, values: Array) -> None:
        """Add digits to the base-3 numbers of bytes; ``seal_trits`` makes them bytes."""
        power = 3 ** (4 - np.asarray(digit))
        part = values * power
        word = self.words("u1", offset, axes)
        word += part.sum(axis=_shared(axes, part), keepdims=True).astype(np.uint8)

    def seal_trits(self, offset: int, count: int) -> None:
        """Turn base-3 numbers v into the bytes ceil(v * 256 / 243) that decode to them."""
        word = self.words("u1", offset, [(count, 1)])
        word[...] = (word.astype(np.uint32) * 256 + 242) // 243


def _shared(axes: Axes, part: Array) -> tuple[int, ...]:
    """The axes along which several values share one word."""
    return tuple(
        number + 1
        for number, (extent, _) in enumerate(axes)
        if extent == 1 and part.shape[number + 1] > 1
    )


def shaped(
    codes: Mapping[str, Array], name: str, shape: Sequence[int], low: int, high: int
) -> Array:
    """Code ``name`` at the rank of the region; ValueError outside low..high.

    A code may be the bits of a half, and given as a half.
    """
    values = np.asarray(codes[name])
    values = values.view(np.uint16) if values.dtype == np.float16 else values
    if values.size and (values.min() < low or values.max() > high):
        raise ValueError(f"code {name} leaves its range {low}..{high}")
    return values.reshape(values.shape[0], *shape)


def join(kind: Any, *parts: tuple[Array, int]) -> Array:
    """A code from its slices: each (bits, the bit of the code where they start)."""
    (first, _), *rest = parts
    result: Array = first.astype(kind)
    for part, low in rest:
        result = result | part.astype(kind) << low
    return result


def half(bits: Array) -> Array:
    """The float32 of IEEE halves given as 16 bits."""
    return bits.astype(np.uint16).view(np.float16).astype(np.float32)


def bfloat(bits: Array) -> Array:
    """The float32 of bfloat16 given as 16 bits."""
    wide: Array = bits.astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32)
