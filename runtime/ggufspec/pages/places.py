"""Where a tensor belongs: the layer it is in, and the part it plays there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from ..jobs.comparing import place_of
from ..text import printable

if TYPE_CHECKING:
    from ..files.tensor import Tensor

_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.|$)")
_DIGITS = 9  # of a layer's number; with more it is none


@dataclass(frozen=True)
class Place:
    """``role``: the name without layer and ``.weight``; ``layer``: None outside all layers.

    Experts that are tensors of their own (``ffn_up.3``) share the role ``ffn_up.*``; the layers
    of an encoder (``enc.blk.0``) have roles that start with its name.
    """

    role: str
    layer: int | None


def place(name: str) -> Place:
    """The place that a tensor's name tells."""
    role, layer = place_of(name)
    number = layer.rpartition(".")[2] if layer else ""
    if len(number) > _DIGITS:
        return Place(name, None)
    return Place(_NUMBER.sub("*", role), int(number) if number else None)


@dataclass
class Cell:
    """The tensors of one role in one layer, or in all of them."""

    tensors: list[Tensor] = field(default_factory=list)

    @cached_property
    def weights(self) -> int:
        """How many weights they have."""
        return sum(prod(tensor.shape) for tensor in self.tensors)

    @cached_property
    def nbytes(self) -> int:
        """Their bytes, without padding."""
        return sum(tensor.nbytes for tensor in self.tensors)

    @property
    def bits(self) -> float:
        """Stored bits a weight."""
        return 8 * self.nbytes / self.weights if self.weights else 0.0

    @cached_property
    def types(self) -> dict[str, int]:
        """Tensors of each type, the type with most bytes first."""
        sizes: dict[str, int] = {}
        counts: dict[str, int] = {}
        for tensor in self.tensors:
            sizes[tensor.type] = sizes.get(tensor.type, 0) + tensor.nbytes
            counts[tensor.type] = counts.get(tensor.type, 0) + 1
        return {name: counts[name] for name in sorted(sizes, key=lambda name: -sizes[name])}

    @property
    def vectors(self) -> bool:
        """Whether none of them is a matrix: norms, biases, scales."""
        return all(sum(length != 1 for length in tensor.shape) <= 1 for tensor in self.tensors)


@dataclass
class Grid:
    """All tensors by role and layer, roles of matrices first, otherwise in the file's order."""

    cells: dict[Place, Cell]

    @cached_property
    def layers(self) -> list[int]:
        """The layers' numbers, sorted."""
        return sorted({place.layer for place in self.cells if place.layer is not None})

    @cached_property
    def roles(self) -> dict[str, Cell]:
        """All tensors of each role."""
        together: dict[str, Cell] = {}
        for at, cell in self.cells.items():
            together.setdefault(at.role, Cell()).tensors.extend(cell.tensors)
        return dict(sorted(together.items(), key=lambda item: item[1].vectors))


def grid(tensors: Iterable[Tensor]) -> Grid:
    """Sort tensors by their places."""
    cells: dict[Place, Cell] = {}
    for tensor in tensors:
        cells.setdefault(place(tensor.name), Cell()).tensors.append(tensor)
    return Grid(cells)


def shown(name: str | bytes) -> str:
    """A name or a short text out of a file, fit to be read."""
    return printable(name, 120)
