"""How much of a tensor is worked on at a time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from ..blocks.kernels import processors
from ..blocks.tiles import ELEMENTS
from .errors import ConversionError

if TYPE_CHECKING:
    from .plan import Plan

_TABLES = 24 << 20
"""Bytes that are still to come: modules, tables of the searches, threads."""

_SPREAD = 1.05
"""How much more than this run the next one may take for the same."""

_UNIT = 256
"""No type has blocks of more elements."""


def tile_elements(plans: Sequence[Plan], limit: int | None, threads: int | None = None) -> int:
    """Elements of a tile so that the process stays below ``limit`` bytes.

    threads: None for all processors, which then share a tile.
    ConversionError where not even one row fits.
    """
    most = ELEMENTS * min(8, max(1, (threads or processors()) // 2))
    if limit is None:
        return most
    types = {step.type for plan in plans for step in plan.steps if step.changes}
    # The stored source (F64 at most), the floats, a copy where some of them are replaced, results.
    each = 8 + 4 + 4 + 4 * max(1, len(types))
    row = max(
        (step.tensor.shape[-1] for plan in plans for step in plan.steps if step.changes),
        default=_UNIT,
    )
    base = resident() + _TABLES
    fits = max(0, limit - base) // each
    if fits < max(row, _UNIT):
        needed = ceil(_SPREAD * (base + each * max(row, _UNIT)) / 1e6)
        raise ConversionError(
            f"--max-memory is {limit / 1e6:.0f} MB, and one row at a time takes {needed} MB",
            "usage",
            hint=f"the least that works is --max-memory {needed}M",
            file="",
        )
    return min(most, fits // _UNIT * _UNIT)


def resident() -> int:
    """The most bytes that this process has had in memory, mapped pages included."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", "replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) << 10
    try:
        import resource
    except ImportError:
        return 64 << 20
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10
