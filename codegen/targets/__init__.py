"""Every target: its name, and the function that makes its outputs from the spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..metadata import outputs as metadata_outputs
from ..output import Output
from ..spec import Spec
from .numpy import outputs as numpy_outputs
from .registry import outputs as registry_outputs

Target = Callable[[Spec], list[Output]]

TARGETS: Mapping[str, Target] = {
    "metadata": metadata_outputs,
    "numpy": numpy_outputs,
    "registry": registry_outputs,
}
