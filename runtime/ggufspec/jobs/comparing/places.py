"""What a tensor does in a model, and in which layer: both are in its name."""

from __future__ import annotations

import re
from typing import NamedTuple

_LAYER = re.compile(r"(?:(.*)\.)?(blk\.[0-9]+)\.(.+)", re.DOTALL)
_WEIGHT = ".weight"


class Place(NamedTuple):
    """role: `attn_q`, `v.ffn_up`, `attn_q.bias`; layer: `blk.3`, `v.blk.3`, None outside of any."""

    role: str
    layer: str | None


def place_of(name: str) -> Place:
    """The place that a name tells: `v.blk.0.attn_q.weight` is `v.attn_q` of layer `v.blk.0`.

    The roles of the recipes (`ggufspec.recipes`) are called the same, where they are about one
    name: `attn_q`, `ffn_down`, `token_embd`, `output`.
    """
    found = _LAYER.fullmatch(name)
    prefix, layer, rest = found.groups() if found else (None, None, name)
    before = f"{prefix}." if prefix else ""
    role = before + rest.removesuffix(_WEIGHT)
    return Place(role or name, before + layer if layer else None)
