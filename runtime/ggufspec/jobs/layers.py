"""Layers left out, and the numbers of those behind them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .errors import ConversionError

_DIGITS = 18
_BLOCK = re.compile(r"blk\.([0-9]+)\.")


def parse_layers(text: str) -> tuple[int, ...]:
    """The numbers of ``0,1,2``, sorted; ConversionError for anything else."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and len(part) <= _DIGITS for part in parts):
        raise ConversionError(
            f"--prune-layers {text!r:.80}: layers are numbers with commas between", "usage", file=""
        )
    return tuple(sorted({int(part) for part in parts}))


def renumbered(names: Iterable[str], prune: Sequence[int]) -> tuple[dict[str, str], int]:
    """What tensors are called without these layers, and how many layers are left.

    names: in the order of their layers. ConversionError for a layer that there is not.
    """
    kept: dict[str, str] = {}
    numbers: dict[int, int] = {}
    highest = -1
    seen = set()
    gone, first = set(prune), min(prune)
    for name in names:
        found = _BLOCK.search(name)
        if found is None:
            kept[name] = name
            continue
        if len(found[1]) > _DIGITS:
            raise ConversionError(
                f"tensor {name!r:.60}: there is no layer of {len(found[1])} digits", "data"
            )
        layer = int(found[1])
        seen.add(layer)
        if layer in gone:
            continue
        # Gaps in front of the first layer that goes stay as they are.
        number = numbers.setdefault(layer, layer if layer < first else highest + 1)
        highest = max(highest, number)
        kept[name] = f"{name[: found.start(1)]}{number}{name[found.end(1) :]}"
    if missing := sorted(gone - seen):
        raise ConversionError(
            f"--prune-layers: there is no layer {missing[0]}; the file has {len(seen)} layers",
            "usage",
        )
    return kept, highest + 1
