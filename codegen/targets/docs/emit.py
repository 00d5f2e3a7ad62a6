"""All pages of the reference."""

from __future__ import annotations

from ...output import Output
from ...spec import Spec
from .container import outputs as container_outputs
from .dialects import outputs as dialects_outputs
from .file_types import outputs as file_types_outputs
from .keys import outputs as keys_outputs
from .rules import outputs as rules_outputs
from .types import outputs as types_outputs


def outputs(spec: Spec) -> list[Output]:
    """Markdown with paths relative to the folder of the site's pages. Raises SpecError."""
    makers = (
        types_outputs, container_outputs, rules_outputs, keys_outputs, dialects_outputs,
        file_types_outputs,
    )  # fmt: skip
    return [made for maker in makers for made in maker(spec)]
