"""The plots of a page: what is drawn, with legends, labels and the words behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..cli import text
from . import charts, colours
from .draw import draw
from .places import Cell, Grid, Place, place, shown

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..jobs.comparing import Sums

_ROWS = 48  # roles in a plot
_COLUMNS = 256  # layers in a plot
_LOOSE = 12  # tensors outside layers that stand by themselves in the treemap


@dataclass(frozen=True)
class Plot:
    """A drawing for wide pages and one for narrow ones; ``left_out`` says what is not in it."""

    drawings: tuple[Markup, ...]
    legend: tuple[colours.Swatch, ...] = ()
    left_out: str = ""


def size_plot(tensors: Sequence[Tensor], shades: Mapping[str, colours.Swatch]) -> Plot | None:
    """Bytes of the tensors as areas, layer by layer; None where there are none."""
    if not any(tensor.nbytes for tensor in tensors):
        return None
    layers: dict[int, list[charts.Leaf]] = {}
    loose: list[charts.Leaf] = []
    for tensor in tensors:
        at = place(tensor.name)
        leaf = charts.Leaf(
            shown(at.role), tensor.type, tensor.nbytes, described(tensor), shades[tensor.type]
        )
        (loose if at.layer is None else layers.setdefault(at.layer, [])).append(leaf)
    groups: dict[str, Sequence[charts.Leaf]] = {
        f"layer {number}": layers[number] for number in sorted(layers)
    }
    if len(loose) > _LOOSE:
        groups["outside the layers"], loose = loose, []
    total = text.size(sum(tensor.nbytes for tensor in tensors))
    count = text.plural(len(tensors), "tensor")
    label = f"Treemap of {count}, {total}; the table of tensors has the numbers"
    return Plot(
        tuple(draw(charts.treemap(groups, loose, size), label, size.name) for size in charts.SIZES),
        tuple(shades.values()),
    )


def type_plot(grid: Grid, shades: Mapping[str, colours.Swatch]) -> Plot | None:
    """The type of each role in each layer; None where there are no layers."""
    return _heat_map(
        grid,
        grid.cells,
        lambda at, cell: charts.Square(
            shown(at.role), at.layer, _cell_tip(at, cell), colours.of_cell(cell, shades)
        ),
        {role: _types(cell) for role, cell in grid.roles.items()},
        tuple(shades.values()),
        "Heat map of types, roles as rows and layers as columns; the table below has the types",
    )


def error_plot(grid: Grid, errors: Mapping[Place, Sums], roles: Mapping[str, Sums]) -> Plot | None:
    """Signal to noise of each role in each layer; None where there are no layers."""

    def square(at: Place, cell: Cell) -> charts.Square:
        sums = errors[at]
        words = f"{where(at)}: {told_error(sums)}, {_types(cell)}"
        return charts.Square(shown(at.role), at.layer, words, colours.of_error(sums.snr))

    used = {colours.of_error(sums.snr) for sums in errors.values()}
    return _heat_map(
        grid,
        {at: cell for at, cell in grid.cells.items() if at in errors},
        square,
        {role: decibels(sums.snr) for role, sums in roles.items()},
        tuple(swatch for swatch in colours.ERRORS if swatch in used or swatch.name != "e9"),
        "Heat map of errors, roles as rows and layers as columns; the table below has the numbers",
    )


def bits_plot(grid: Grid, mean: float) -> Plot | None:
    """Bits a weight by role, the largest role first; vectors are left out."""
    whole = sum(cell.nbytes for cell in grid.roles.values())
    rows = [
        charts.Bar(
            shown(role),
            cell.bits,
            f"{cell.bits:.2f} ({text.size(cell.nbytes)}, {share(cell.nbytes, whole)})",
            f"{cell.bits:.2f} ({share(cell.nbytes, whole)})",
            f"{shown(role)}: {cell.bits:.4f} bits per weight, {cell.nbytes:,} bytes",
        )
        for role, cell in sorted(grid.roles.items(), key=lambda item: -item[1].nbytes)
        if cell.weights and not cell.vectors
    ]
    if not rows:
        return None
    vectors = Cell([one for cell in grid.roles.values() if cell.vectors for one in cell.tensors])
    left_out = ""
    if vectors.tensors:
        mean_of = f", {vectors.bits:.4g} bits per weight" if vectors.weights else ""
        left_out = (
            f"Not drawn: {text.plural(len(vectors.tensors), 'vector')} (norms, biases and the "
            f"like), {text.size(vectors.nbytes)} or {share(vectors.nbytes, whole)}{mean_of}."
        )
    label = "Bars of bits per weight by role; the table below has the numbers"
    return Plot(
        tuple(
            draw(charts.bars(rows[:_ROWS], mean, "bits per weight", size), label, size.name)
            for size in charts.SIZES
        ),
        (),
        left_out + _left_out(len(rows) - _ROWS, "role"),
    )


def histogram_plot(bins: Sequence[charts.Bin]) -> Plot | None:
    """Blocks by the size of their error; None where there are none."""
    if not any(one.count for one in bins):
        return None
    title = "relative error of a block (RMS), %"
    label = "Histogram of the blocks' relative errors"
    return Plot(
        tuple(draw(charts.histogram(bins, title, size), label, size.name) for size in charts.SIZES)
    )


def described(tensor: Tensor) -> str:
    """A tensor in one line."""
    weights = prod(tensor.shape)
    stored = f", {8 * tensor.nbytes / weights:.4g} bits per weight" if weights else ""
    return (
        f"{shown(tensor.name)}: {tensor.type}, {text.shape(tensor.shape)}, "
        f"{tensor.nbytes:,} bytes{stored}"
    )


def where(at: Place) -> str:
    """A place in words."""
    return shown(at.role) if at.layer is None else f"{shown(at.role)}, layer {at.layer}"


def share(part: float, whole: float) -> str:
    """A part of the whole in percent."""
    return f"{100 * part / whole:.1f} %" if whole else ""


def decibels(snr: float) -> str:
    """A ratio in dB in words."""
    if math.isnan(snr):
        return "none"
    return "equal" if snr == math.inf else f"{snr:.1f} dB"


def told_error(sums: Sums) -> str:
    """The error of tensors in a few words."""
    if sums.error == 0:
        return "equal"
    return f"SNR {decibels(sums.snr)}, relative RMSE {100 * sums.relative:.3g} %"


def _heat_map(
    grid: Grid,
    cells: Mapping[Place, Cell],
    square: Callable[[Place, Cell], charts.Square],
    notes: Mapping[str, str],
    legend: tuple[colours.Swatch, ...],
    label: str,
) -> Plot | None:
    if not grid.layers or not cells:
        return None
    roles = list(notes)[:_ROWS]
    last = grid.layers[:_COLUMNS][-1]
    kept = [
        square(at, cell)
        for at, cell in cells.items()
        if at.role in roles and (at.layer is None or at.layer <= last)
    ]
    rows = {shown(role): notes[role] for role in roles}
    left_out = _left_out(len(notes) - _ROWS, "role") + _left_out(
        len(grid.layers) - _COLUMNS, "layer"
    )
    return Plot(
        tuple(draw(charts.heat_map(kept, rows, size), label, size.name) for size in charts.SIZES),
        legend,
        left_out,
    )


def _cell_tip(at: Place, cell: Cell) -> str:
    if len(cell.tensors) == 1:
        return described(cell.tensors[0])
    return (
        f"{where(at)}: {text.plural(len(cell.tensors), 'tensor')}, {_types(cell)}, "
        f"{cell.nbytes:,} bytes, {cell.bits:.4g} bits per weight"
    )


def _types(cell: Cell) -> str:
    """``Q6_K 12, Q4_K 18``, or only the type where there is one."""
    if len(cell.types) == 1:
        return next(iter(cell.types))
    return ", ".join(f"{name} {count}" for name, count in cell.types.items())


def _left_out(count: int, noun: str) -> str:
    return f" Not drawn: {text.plural(count, noun)} more." if count > 0 else ""
