"""An importance matrix as a whole, and the importance of one tensor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from .entry import Entry, Floats
from .error import ImatrixError

_EMBEDDINGS = frozenset({"token_embd.weight", "per_layer_token_embd.weight"})
"""Tensors whose entry llama-quantize leaves out where it does not fit; any other is an error."""

_SHOWN = 8
"""Experts that a note names at most."""


@dataclass(frozen=True, eq=False)
class Importance:
    """What ``ggufspec.quantize`` takes for a tensor, and what is worth saying about it.

    `values` is float32 (row,), or (experts, row) for a tensor of several matrices; None where
    the matrix has nothing to use. `notes` are sentences without the tensor's name.
    """

    values: Floats | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Imatrix:
    """The entries of a file by the name of the weight tensor.

    `path` is the one that was given; `datasets` the names of the texts that the matrix was made
    from, `chunk_count` how many chunks of them (0 where the file does not say).
    """

    path: str
    datasets: tuple[str, ...] = ()
    chunk_count: int = 0
    entries: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))

    def select(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> Imatrix:
        """The matrix without the entries that were not asked for.

        include: only entries whose name contains one of these words; exclude: only entries
        whose name contains none. ValueError for both at once, as llama-quantize has it.
        """
        if include and exclude:
            raise ValueError("weights can be included or excluded, not both")
        kept = {
            name: entry
            for name, entry in self.entries.items()
            if not any(word in name for word in exclude)
            and (not include or any(word in name for word in include))
        }
        return replace(self, entries=MappingProxyType(kept))

    def check(self) -> None:
        """ImatrixError for the first value that is not finite, whether a tensor needs it or not.

        llama-quantize refuses such a matrix after the selection and before it writes anything.
        """
        for name, entry in self.entries.items():
            self._check_finite(name, entry.means())

    def importance(self, name: str, shape: Sequence[int]) -> Importance:
        """What the matrix says about a tensor, as llama-quantize takes it.

        shape: the tensor's, in NumPy order: (row,), (rows, row) or (experts, rows, row).
        Without an entry, and for an entry of the token embeddings that does not fit, `values`
        is None and a note says why. ImatrixError for any other entry that does not fit, and for
        values that are not finite.
        """
        entry = self.entries.get(name)
        if entry is None:
            return Importance(None, ("the importance matrix has no entry for it",))
        row, experts = shape[-1], shape[-3] if len(shape) > 2 else 1
        if len(shape) > 3 or entry.sums.size != row * experts:
            misfit = _misfit(entry, shape, row, experts)
            if name in _EMBEDDINGS:
                return Importance(None, (f"{misfit}; quantized without importance",))
            raise ImatrixError(
                f"tensor {name!r}: {misfit}",
                file=self.path,
                tensor=name,
                hint="is it the matrix of this model? --exclude-weights leaves an entry out",
            )
        values = entry.means().reshape(experts, row)
        self._check_finite(name, values)
        return Importance(values if experts > 1 else values[0], _notes(entry))

    def _check_finite(self, name: str, values: Floats) -> None:
        """values: (experts, columns)."""
        finite = np.isfinite(values)
        if finite.all():
            return
        expert, column = (int(axis[0]) for axis in np.nonzero(~finite))
        place = f"column {column}" + (f" of expert {expert}" if len(values) > 1 else "")
        raise ImatrixError(
            f"tensor {name!r}, {place}: the importance is {values[expert, column]}, not finite",
            file=self.path,
            tensor=name,
            hint="make the matrix anew, or leave this entry out with --exclude-weights",
        )


def _misfit(entry: Entry, shape: Sequence[int], row: int, experts: int) -> str:
    if len(shape) > 3:
        return f"a tensor of {len(shape)} dimensions takes no importance"
    of = f" ({experts} x {row})" if experts > 1 else ""
    return (
        f"the importance matrix has {entry.sums.size} values for it, a tensor of shape "
        f"{tuple(shape)} takes {row * experts}{of}"
    )


def _notes(entry: Entry) -> tuple[str, ...]:
    unseen, all_of = entry.unseen, len(entry.counts)
    if not unseen:
        return ()
    if all_of == 1:
        return ("it was never seen when the matrix was made: all its weights count as one",)
    names = ", ".join(str(expert) for expert in unseen[:_SHOWN])
    more = f" and {len(unseen) - _SHOWN} more" if len(unseen) > _SHOWN else ""
    noun = "expert" if len(unseen) == 1 else "experts"
    return (
        f"{noun} {names}{more} of {all_of} were never seen when the matrix was made: "
        f"their weights count as one",
    )
