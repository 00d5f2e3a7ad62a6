"""The tensors of two files that belong together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...files.reader import File
    from ...files.tensor import Tensor


@dataclass(frozen=True)
class Pair:
    """A tensor that both files have."""

    reference: Tensor
    tensor: Tensor

    @property
    def nbytes(self) -> int:
        """Bytes to read."""
        return self.reference.nbytes + self.tensor.nbytes


@dataclass(frozen=True)
class Matching:
    """The tensors of two files by name; ``only_*`` in one of them, ``reshaped`` differently."""

    pairs: tuple[Pair, ...]
    only_reference: tuple[str, ...]
    only_file: tuple[str, ...]
    reshaped: tuple[Pair, ...]

    @property
    def complete(self) -> bool:
        """Whether every tensor has its counterpart."""
        return not (self.only_reference or self.only_file or self.reshaped)

    @property
    def nbytes(self) -> int:
        """Bytes to read."""
        return sum(pair.nbytes for pair in self.pairs)


def match(reference: File, file: File, wanted: Callable[[str], bool] = lambda _: True) -> Matching:
    """Match the tensors of two files, in the order of the reference.

    wanted: which names are looked at.
    """
    first, second = reference.tensors, file.tensors
    both = [Pair(first[name], second[name]) for name in first if name in second and wanted(name)]
    return Matching(
        tuple(pair for pair in both if pair.reference.shape == pair.tensor.shape),
        tuple(name for name in first if name not in second and wanted(name)),
        tuple(name for name in second if name not in first and wanted(name)),
        tuple(pair for pair in both if pair.reference.shape != pair.tensor.shape),
    )
