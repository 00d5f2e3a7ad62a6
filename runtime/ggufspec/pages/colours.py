"""Which colour stands for what. The colours themselves are in report.css, for each theme."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from .places import Cell

STEPS = 12
"""Colours ``--r0`` to ``--r11``, from few bits a weight to many."""

BOUNDS = (10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 60.0)
"""Signal to noise in dB where the colours of errors change, ``--e8`` the worst; ``--e0`` none."""


@dataclass(frozen=True)
class Swatch:
    """A colour by its name in the style sheet, and what the legend says of it."""

    name: str
    label: str

    @property
    def fill(self) -> str:
        """For areas."""
        return f"var(--{self.name})"

    @property
    def ink(self) -> str:
        """For text on the area."""
        return f"var(--{self.name}-ink)"


def of_types(tensors: Iterable[Tensor]) -> dict[str, Swatch]:
    """A colour for each type, those with fewest bits a weight first."""
    sizes: dict[str, tuple[int, int]] = {}
    for tensor in tensors:
        nbytes, weights = sizes.get(tensor.type, (0, 0))
        sizes[tensor.type] = (nbytes + tensor.nbytes, weights + math.prod(tensor.shape))
    bits = {
        name: 8 * nbytes / weights if weights else 0.0 for name, (nbytes, weights) in sizes.items()
    }
    names = sorted(bits, key=lambda name: (bits[name], name))
    return {
        name: Swatch(f"r{_step(number, len(names))}", f"{name}, {bits[name]:.4g} bits")
        for number, name in enumerate(names)
    }


def _step(number: int, count: int) -> int:
    """Far from each other; one alone is in the middle."""
    return round(number * (STEPS - 1) / (count - 1)) if count > 1 else STEPS // 3


def of_cell(cell: Cell, colours: Mapping[str, Swatch]) -> Swatch:
    """The colour of the type that most of the bytes have."""
    return colours[next(iter(cell.types))]


def of_error(snr: float) -> Swatch:
    """The colour of a signal to noise ratio in dB; NaN where there is nothing to compare."""
    return ERRORS[_class(snr)]


def _class(snr: float) -> int:
    if math.isnan(snr):
        return 9
    if snr == math.inf:
        return 0
    return 1 + sum(snr < bound for bound in BOUNDS)


ERRORS = (
    Swatch("e0", "equal"),
    Swatch("e1", "60 dB and better"),
    *(
        Swatch(f"e{number}", f"{low:.0f} to {high:.0f} dB")
        for number, (low, high) in enumerate(zip(BOUNDS[-2::-1], BOUNDS[:0:-1], strict=True), 2)
    ),
    Swatch("e8", f"below {BOUNDS[0]:.0f} dB"),
    Swatch("e9", "all zero, or not a number"),
)
