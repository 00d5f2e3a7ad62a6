"""Float32 arithmetic in ggml's order: one rounding an operation, sums from left to right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]
Codes = dict[str, NDArray[Any]]

ONE = np.float32(1)
_MAGIC = np.float32(1.5 * 2**23)
_BELOW_HALF = np.nextafter(np.float32(0.5), np.float32(0))


def nearest(v: Floats) -> Ints:
    """The nearest integer, ties to even, by the bits of v + 1.5 * 2^23.

    Beyond 2^22 this wraps; ggml's does, and what it then does is part of its bytes.
    """
    bits: Ints = (v + _MAGIC).view(np.int32) & 0x7FFFFF
    bits -= 0x400000
    return bits


def truncated(v: Floats) -> Ints:
    """Towards zero; what int32 does not hold becomes its smallest, as x86-64 converts."""
    fits = (v >= -(2.0**31)) & (v < 2.0**31)
    return np.where(fits, v, np.float32(-(2**31))).astype(np.int32)


def rounded_away(v: Floats) -> Ints:
    """The nearest integer, halves away from zero; beyond int32 as ``truncated``."""
    return truncated(v + np.copysign(_BELOW_HALF, v))


def choose(mask: NDArray[np.bool_], a: Floats, b: Floats | float) -> Floats:
    """``a`` where the mask is set, ``b`` elsewhere."""
    return np.where(mask, a, np.asarray(b, np.float32))


def ratio(a: Floats | np.float32, b: Floats | np.float32) -> Floats:
    """The quotient a / b."""
    return np.divide(a, b, dtype=np.float32)


def inverse(d: Floats) -> Floats:
    """1 / d, and 0 for d = 0."""
    return choose(d != 0, ONE / d, 0)


def running_sum(terms: Floats) -> Floats:
    """The sums along the first axis, one addition after the other from 0."""
    total = np.zeros(terms.shape[1:], np.float32)
    for term in terms:
        total += term
    return total


def first_largest(x: Floats) -> Floats:
    """In each row (rows, n) the first element that none exceeds in magnitude; +0 for zeros.

    A NaN, which overflow inside a search can make, exceeds nothing.
    """
    magnitude = np.abs(x)
    place = np.where(np.isnan(magnitude), -1, magnitude).argmax(axis=1, keepdims=True)
    found = np.take_along_axis(x, place, axis=1)[:, 0]
    return choose((found != 0) & ~np.isnan(found), found, 0)


def odd_scale_codes(scales: Floats, top: int) -> tuple[Floats, Ints, NDArray[np.bool_]]:
    """Codes 0..top of scales (rows, n), of which d * (2 * code + 1) is kept, behind each row's d.

    d is the largest scale divided by the largest multiple; a NaN gives way to what comes after
    it. Last which rows have a scale other than 0: the others' codes are 0.
    """
    most = np.zeros(len(scales), np.float32)
    for scale in scales.T:
        most = choose(most > scale, most, scale)
    some = most != 0
    d = ratio(most, np.float32(2 * top + 1))
    steps = np.float32(0.5) * (ratio(ONE, d)[:, None] * scales - ONE)
    return d, np.where(some[:, None], np.clip(nearest(steps), 0, top), 0), some


def half_up_ue4m3(v: Floats) -> NDArray[np.uint8]:
    """Unsigned E4M3 (bias 7) of at most 448: 3 bits of mantissa, rounded by the fourth alone."""
    v = np.clip(v, np.float32(0), np.float32(448))
    bits = v.view(np.int32)
    exponent = (bits >> 23) - 127 + 7
    mantissa = (bits >> 20 & 7) + (bits >> 19 & 1)
    small = np.minimum(truncated(v * np.float32(512) + np.float32(0.5)), 7)
    normal = np.where(exponent < 15, (exponent << 3) + mantissa, 0x7E)
    normal = np.where(normal < 15 << 3, normal, 0x7E)
    return np.where(exponent <= 0, small, normal).astype(np.uint8)
