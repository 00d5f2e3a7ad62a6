"""What a matrix holds for one weight tensor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Entry:
    """Sums of squared activations of a tensor's input columns.

    `sums` is float32 (experts, columns), over the tokens that reached each expert; `counts`
    (experts,) says how many they were. A tensor without experts has one row of both, also where
    it has three dimensions: then that row holds the columns of all its matrices.
    """

    sums: Floats
    counts: Counts

    @property
    def unseen(self) -> tuple[int, ...]:
        """The experts that no token reached."""
        return tuple(np.flatnonzero(self.counts <= 0).tolist())

    def means(self) -> Floats:
        """The mean square a column, (experts, columns); ones for experts that were never seen.

        One float32 division each, as llama-quantize does it.
        """
        seen = self.counts > 0
        counts = np.where(seen, self.counts, 1).astype(np.float32)
        with np.errstate(invalid="ignore"):  # NaNs are for the caller to find
            means = self.sums / counts[:, None]
        return np.where(seen[:, None], means, np.float32(1))
