"""Where the floor of a float32 logarithm steps up."""

from __future__ import annotations

import math
import struct

FIRST, LAST = -149, 127
"""The exponents of the smallest and the largest float32."""


def floor_log2() -> tuple[int, ...]:
    """For each exponent e the bits of the smallest float32 v with log2(v), rounded, >= e.

    The logarithm rounds up to e within half a step of float32 below e; so the threshold is
    the first float from 2^(e - step / 2) on. No threshold is nearer to a float than a
    thousandth of the floats' distance, so that doubles decide.
    """
    return tuple(_bits(_first(e)) for e in range(FIRST, LAST + 1))


def _first(e: int) -> float:
    exact = 2.0 ** (e - (e - _single_below(e)) / 2)
    unit = 2.0 ** max(math.frexp(exact)[1] - 24, FIRST)
    first: float = math.ceil(exact / unit) * unit
    return first


def _single_below(value: float) -> float:
    """The float32 next below a small integer."""
    if value == 0:
        return 0.0
    exponent = math.frexp(value)[1]
    gap = 2.0 ** (exponent - 24)
    power = 2.0 ** (exponent - 1)
    return value - (gap / 2 if value == power else gap)


def _bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])
