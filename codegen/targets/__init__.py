"""Every target: its name, and the function that makes its outputs from the spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..architectures import outputs as architectures_outputs
from ..container import outputs as container_outputs
from ..dialects import outputs as dialects_outputs
from ..kinds import outputs as kinds_outputs
from ..memory import outputs as memory_outputs
from ..metadata import outputs as metadata_outputs
from ..output import Output
from ..recipes import outputs as recipes_outputs
from ..rules import outputs as rules_outputs
from ..shards import outputs as shards_outputs
from ..spec import Spec
from ..tokenizers import outputs as tokenizers_outputs
from .c import outputs as c_outputs
from .docs import outputs as docs_outputs
from .fuzz import outputs as fuzz_outputs
from .go import outputs as go_outputs
from .header import outputs as header_outputs
from .inspector import outputs as inspector_outputs
from .java import outputs as java_outputs
from .ksy import outputs as ksy_outputs
from .numpy import outputs as numpy_outputs
from .quantizers import outputs as quantizers_outputs
from .registry import outputs as registry_outputs
from .rust import outputs as rust_outputs
from .typescript import outputs as typescript_outputs

Target = Callable[[Spec], list[Output]]

TARGETS: Mapping[str, Target] = {
    "architectures": architectures_outputs,
    "c": c_outputs,
    "container": container_outputs,
    "dialects": dialects_outputs,
    "fuzz": fuzz_outputs,
    "go": go_outputs,
    "header": header_outputs,
    "inspector": inspector_outputs,
    "java": java_outputs,
    "kinds": kinds_outputs,
    "ksy": ksy_outputs,
    "memory": memory_outputs,
    "metadata": metadata_outputs,
    "numpy": numpy_outputs,
    "quantizers": quantizers_outputs,
    "recipes": recipes_outputs,
    "registry": registry_outputs,
    "rules": rules_outputs,
    "rust": rust_outputs,
    "shards": shards_outputs,
    "tokenizers": tokenizers_outputs,
    "typescript": typescript_outputs,
}

COPIES: Mapping[str, Target] = {**TARGETS, "docs": docs_outputs}
"""What `--target NAME --out DIR` writes: the targets of generated/, and what is not checked in."""
