"""What keeps floats from being quantized, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, order=True)
class Fault:
    """The first element that is not finite, or the first of a block whose scale is too large.

    ``element`` counts over all floats given.
    """

    element: int
    what: Literal["not finite", "overflow"]

    def moved(self, elements: int) -> Fault:
        """The same fault, counted from ``elements`` floats earlier."""
        return Fault(self.element + elements, self.what)
