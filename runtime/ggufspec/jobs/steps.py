"""What becomes of one tensor."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

from ..files.plans import TensorPlan
from ..registry import types

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..recipes import Decision


def makeable() -> tuple[str, ...]:
    """The types that a tensor can be made."""
    from ..generated.quantizers import QUANTIZERS

    return tuple(name for name in QUANTIZERS if types[name].status == "live")


@dataclass(frozen=True)
class Step:
    """What becomes of one tensor, and why."""

    tensor: Tensor
    decision: Decision

    @property
    def name(self) -> str:
        """What it will be called: another name where layers in front of it go."""
        return self.decision.name

    @property
    def type(self) -> str:
        """The type it will have."""
        return self.decision.type

    @property
    def changes(self) -> bool:
        """Whether it gets another type."""
        return self.type != self.tensor.type

    @property
    def weights(self) -> int:
        """Elements of the tensor."""
        return prod(self.tensor.shape)

    @cached_property
    def plan(self) -> TensorPlan:
        """The tensor to be written."""
        tensor = self.tensor
        if self.changes:
            return TensorPlan.of(self.name, self.type, tensor.shape)
        return TensorPlan(self.name, tensor.type_id, tensor.shape, tensor.nbytes, tensor.extra)
