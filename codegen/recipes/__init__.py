"""Model-level recipes: spec/recipes -> checked tables -> generated/recipes.py."""

from __future__ import annotations

from ..output import Output
from ..spec import Spec
from .emit import emit_python
from .load import FILES, load_recipes

__all__ = ["load_recipes", "outputs"]


def outputs(spec: Spec) -> list[Output]:
    """generated/recipes.py. Raises SpecError."""
    return [Output("recipes.py", emit_python(load_recipes(spec)), FILES)]
