"""The strategies that search nothing; none of them looks at an importance."""

from __future__ import annotations

import numpy as np

from ..generated.numpy import tables
from ..generated.quantizers import FLOOR_LOG2
from .arithmetic import (
    ONE,
    Codes,
    Floats,
    choose,
    first_largest,
    half_up_ue4m3,
    inverse,
    nearest,
    ratio,
    rounded_away,
    running_sum,
    truncated,
)
from .constants import (
    Absmax,
    Convert,
    MeanSign,
    MinMax,
    NearestValue,
    ReciprocalAbsmax,
    SignedAbsmax,
)


def convert(x: Floats, _importance: Floats | None, c: Convert) -> Codes:
    """Each element by its own, rounded to nearest even."""
    value = x.reshape(-1)
    if c.scalar == "bf16":
        bits = value.view(np.uint32)
        return {"value": (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)}
    return {"value": value.astype(np.float16 if c.scalar == "f16" else np.float32)}


def absmax(x: Floats, _importance: Floats | None, c: Absmax) -> Codes:
    """Scale d = max|x| / reach; level = x / d rounded half away from zero, plus ``zero``."""
    x = x.reshape(-1, c.elements)
    d = np.abs(x).max(axis=1) / np.float32(c.reach)
    level = rounded_away(x * inverse(d)[:, None]) + c.zero
    level = np.clip(level, 0, c.top) if c.clamp else level.astype(np.int8)
    codes: Codes = {"scale": d.astype(np.float16), "level": level}
    if c.sum:
        codes["sum"] = (level.sum(axis=1).astype(np.float32) * d).astype(np.float16)
    return codes


def signed_absmax(x: Floats, _importance: Floats | None, c: SignedAbsmax) -> Codes:
    """Scale d = m / -zero for m the first element of largest magnitude.

    The level is x / d + zero + 1/2 cut off, through a signed byte, as in ggml.
    """
    x = x.reshape(-1, c.elements)
    d = first_largest(x) / np.float32(-c.zero)
    level = truncated(x * inverse(d)[:, None] + np.float32(c.zero + 0.5)).astype(np.int8)
    return {"scale": d.astype(np.float16), "level": np.minimum(level, c.top)}


def reciprocal_absmax(x: Floats, _importance: Floats | None, c: ReciprocalAbsmax) -> Codes:
    """Scale d = 1 / (-reach / m) for m the first element of largest magnitude.

    The level is x times the inner quotient, to nearest even, at most reach.
    """
    x = x.reshape(-1, c.elements)
    most = first_largest(x)
    steps = choose(most != 0, ratio(np.float32(-c.reach), most), 0)
    level = np.minimum(nearest(x * steps[:, None]), c.reach).astype(np.int8)
    sums = level.reshape(len(x), c.sums, -1).sum(axis=2, dtype=np.int16)
    scale = choose(most != 0, ratio(ONE, steps), 0)
    return {"scale": scale, "sums": sums, "level": level}


def mean_sign(x: Floats, _importance: Floats | None, c: MeanSign) -> Codes:
    """Level 1 for x >= 0; the scale is the mean magnitude."""
    x = x.reshape(-1, c.elements)
    mean = running_sum(np.abs(x.T)) / np.float32(c.elements)
    return {"scale": mean.astype(np.float16), "level": (x >= 0).astype(np.uint8)}


def min_max(x: Floats, _importance: Floats | None, c: MinMax) -> Codes:
    """Scale d = (max - min) / top; the level is (x - min) / d + 1/2 cut off.

    Of zeros of both signs the first is the minimum. The level goes through a signed byte.
    """
    x = x.reshape(-1, c.elements)
    low, high = (_first_equal(x, extreme(axis=1)) for extreme in (x.min, x.max))
    d = ratio(high - low, np.float32(c.top))
    steps = (x - low[:, None]) * inverse(d)[:, None]
    level = truncated(steps + np.float32(0.5)).astype(np.int8)
    return {
        "scale": d.astype(np.float16),
        "offset": low.astype(np.float16),
        "level": np.minimum(level, c.top),
    }


def nearest_value(x: Floats, _importance: Floats | None, c: NearestValue) -> Codes:
    """The first of the codebook values that, times the sub-block's scale, are nearest to x."""
    x = x.reshape(-1, c.sub_blocks, c.length)
    most = np.abs(x).max(axis=2)
    if c.rule == "floor_log2":
        exponent = np.searchsorted(FLOOR_LOG2, most.view(np.uint32), side="right") - 150
        code = np.where(most > 0, exponent + c.number, 0).astype(np.uint8)
    else:
        code = half_up_ue4m3(ratio(most, np.float32(c.number)))
    d = getattr(tables, c.scales)[code]
    values = getattr(tables, c.values).astype(np.float32)
    error = np.abs(values * d[:, :, None, None] - x[:, :, :, None])
    if c.sub_blocks == 1:
        code = code[:, 0]
    return {"sub_scale": code, "level": error.argmin(axis=3).astype(np.uint8)}


def _first_equal(x: Floats, value: Floats) -> Floats:
    place = (x == value[:, None]).argmax(axis=1)
    return np.take_along_axis(x, place[:, None], axis=1)[:, 0]
