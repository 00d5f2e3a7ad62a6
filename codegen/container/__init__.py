"""The container language: spec/container -> checked model -> tables for Python and C."""

from __future__ import annotations

from ..output import Output
from ..spec import Spec
from .emit_c import emit_c
from .emit_python import emit_python
from .load import FILES, load_container

__all__ = ["load_container", "outputs"]


def outputs(spec: Spec) -> list[Output]:
    """generated/container.py and generated/c/container_tables.h. Raises SpecError."""
    container = load_container(spec.root)
    return [
        Output("container.py", emit_python(container), FILES),
        Output("c/container_tables.h", emit_c(container), FILES),
    ]
