"""What the recipes know about a model, read from its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..generated.recipes import FACTS, LAYERS


@dataclass(frozen=True)
class ModelFacts:
    """Counts of layers, heads (of layer 0) and experts; 0 where a model has none.

    ``n_layer`` includes ``n_layer_nextn``, the layers that predict further tokens.
    """

    arch: str
    n_layer: int
    n_head: int = 0
    n_head_kv: int = 0
    n_expert: int = 0
    n_layer_nextn: int = 0

    @property
    def gqa(self) -> int:
        """Query heads that share one value head."""
        return self.n_head // self.n_head_kv if self.n_head_kv else 0


def model_facts(metadata: Mapping[str, Any]) -> ModelFacts:
    """The facts of a file; ValueError names a key whose value is no number."""
    arch = str(metadata.get("general.architecture", ""))
    facts: dict[str, int] = {}
    for fact in FACTS:
        number = _number(metadata, fact.key, arch)
        facts[fact.name] = facts.get(fact.default, 0) if number is None else number
    for entry in LAYERS:
        if entry.arch == arch:
            times = _number(metadata, entry.times, arch) or 1
            facts["n_layer"] = (facts["n_layer"] + entry.plus) * times
    return ModelFacts(arch, **facts)


def _number(metadata: Mapping[str, Any], pattern: str, arch: str) -> int | None:
    key = pattern.replace("{arch}", arch)
    value = metadata.get(key)
    if value is not None and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes)):
        value = value[0] if len(value) else 0
    if value is None:
        return None
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return int(value)
    except (TypeError, ValueError, OverflowError):  # text, arrays, NaN, infinities
        shown = repr(value) if isinstance(value, (str, bytes)) else str(value)
        raise ValueError(f"{key} is {shown:.60}, not a number") from None
