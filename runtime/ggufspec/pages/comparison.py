"""How far a file is from its reference, as a page tells it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..cli import text
from ..jobs.comparing import Sums, compare_models, match
from ..text import printable
from . import plots
from .charts import Bin
from .facts import Fact
from .places import Grid, Place, place, shown
from .tables import Column

if TYPE_CHECKING:
    from ..files.reader import File
    from ..jobs.comparing import Comparison as Models
    from ..jobs.comparing import Histogram, Measured

_WORST = 20  # tensors in the table of the worst
_NAMES = 8  # tensors that are named where they have no counterpart

_MEASURES = (
    Column("SNR", right=True),
    Column("relative RMSE", right=True),
    Column("RMSE", right=True),
    Column("largest error", right=True),
    Column("cosine", right=True),
    Column("bits per weight", right=True),
)


@dataclass(frozen=True)
class Comparison:
    """The section of a page about errors."""

    reference: str
    facts: list[Fact]
    remarks: list[str]
    plot: plots.Plot | None
    histogram: plots.Plot | None
    histogram_note: str
    columns: Sequence[Column]
    rows: list[Sequence[str]]
    worst_columns: Sequence[Column]
    worst: list[Sequence[str]]
    by_tensor: dict[str, Sums]


def work(reference: File, file: File) -> int:
    """Bytes that a comparison reads."""
    return match(reference, file).nbytes


def compared(
    reference: File,
    file: File,
    grid: Grid,
    *,
    threads: int | None,
    advance: Callable[[int], None],
) -> Comparison:
    """Measure all tensors that both files have in the same shape."""
    found = compare_models(reference, file, threads=threads, advance=advance)
    by_tensor = {one.name: one.sums for one in found.tensors}
    by_place: dict[Place, Sums] = {}
    by_role: dict[str, Sums] = {}
    for name, sums in by_tensor.items():
        at = place(name)
        by_place[at] = by_place.get(at, Sums()) + sums
        by_role[at.role] = by_role.get(at.role, Sums()) + sums
    roles = {role: by_role[role] for role in grid.roles if role in by_role}
    bins, note = _bins(found.histogram)
    matrices = [sums for role, sums in roles.items() if not grid.roles[role].vectors]
    overall = sum(matrices, Sums()) if matrices else found.overall
    remarks = _remarks(found)
    if matrices and len(matrices) < len(roles):
        remarks.insert(
            0,
            "These are the figures of all matrices together. Vectors (norms, biases) are left out: "
            "they can be so large that they alone would make the ratios.",
        )
    return Comparison(
        reference=shown(str(reference.paths[0])) if reference.paths else "a buffer",
        facts=[
            Fact("SNR", plots.decibels(overall.snr)),
            Fact("relative RMSE", _percent(overall)),
            Fact("RMSE", f"{overall.rmse:.4g}"),
            Fact("largest error", f"{overall.largest:.4g}"),
            Fact("cosine", f"{overall.cosine:.6f}"),
            Fact("tensors compared", f"{len(found.tensors):,}"),
        ],
        remarks=remarks,
        plot=plots.error_plot(grid, by_place, roles),
        histogram=plots.histogram_plot(bins),
        histogram_note=note,
        columns=(Column("Role"), *_MEASURES),
        rows=[(shown(role), *measures(sums)) for role, sums in roles.items()],
        worst_columns=(Column("Tensor"), Column("Types"), *_MEASURES),
        worst=_worst(found.tensors),
        by_tensor=by_tensor,
    )


def measures(sums: Sums) -> tuple[str, ...]:
    """The measures as they are shown."""
    return (
        plots.decibels(sums.snr),
        _percent(sums),
        f"{sums.rmse:.4g}",
        f"{sums.largest:.4g}",
        f"{sums.cosine:.6f}",
        f"{sums.bits_per_weight:.3f}",
    )


def _percent(sums: Sums) -> str:
    return f"{100 * sums.relative:.3g} %"


def _worst(tensors: Sequence[Measured]) -> list[Sequence[str]]:
    """The tensors with errors, the largest first; NaN before all."""
    off = [one for one in tensors if one.sums.error != 0]
    off.sort(key=lambda one: -math.inf if math.isnan(one.sums.relative) else -one.sums.relative)
    return [
        (
            shown(one.name),
            f"{one.pair.reference.type} \N{RIGHTWARDS ARROW} {one.pair.tensor.type}",
            *measures(one.sums),
        )
        for one in off[:_WORST]
    ]


def _bins(histogram: Histogram) -> tuple[list[Bin], str]:
    """The bins from the first to the last that holds a block, and what is not in them."""
    edges = histogram.edges()
    used = [number for number, count in enumerate(histogram.counts) if count]
    first, last = (max(0, used[0] - 1), used[-1] + 2) if used else (0, 0)
    bins = [
        Bin(
            100 * low,
            100 * high,
            count,
            f"{text.plural(count, 'block')} with an error of {100 * low:.3g} to {100 * high:.3g} %",
        )
        for low, high, count in list(zip(edges[:-1], edges[1:], histogram.counts, strict=True))[
            first:last
        ]
    ]
    outside = {
        "equal value for value": histogram.exact,
        f"below {100 * edges[0]:.1g} %": histogram.below,
        f"above {100 * edges[-1]:.4g} %": histogram.above,
        "without a number": histogram.nan,
    }
    others = ", ".join(f"{count:,} {what}" for what, count in outside.items() if count)
    note = f"{text.plural(histogram.total, 'block')} by their own relative error." + (
        f" Not drawn: {others}." if others else ""
    )
    return bins, note


def _remarks(found: Models) -> list[str]:
    """Which tensors could not be compared."""
    matching = found.matching
    lists = {
        "only in the reference": matching.only_reference,
        "only in this file": matching.only_file,
        "of another shape": [pair.tensor.name for pair in matching.reshaped],
    }
    told = [
        f"{text.plural(len(names), 'tensor')} {what}: {_named(names)}."
        for what, names in lists.items()
        if names
    ]
    reasons: dict[str, list[str]] = {}
    for one in found.undecoded:
        reasons.setdefault(printable(one.reason), []).append(one.pair.tensor.name)
    told += [
        f"{text.plural(len(names), 'tensor')} cannot be decoded: {reason}."
        for reason, names in list(reasons.items())[:_NAMES]
    ]
    return told


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
    return ", ".join(map(shown, names[:_NAMES])) + more
