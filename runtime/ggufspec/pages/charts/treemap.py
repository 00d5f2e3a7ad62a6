"""Bytes as areas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..colours import Swatch
from .vega import LETTER, SOFT, WIDE, Size, Spec, filtered, frame, labels, marked

_ON_AREA = {"field": "ink"}


@dataclass(frozen=True)
class Leaf:
    """An area of the treemap."""

    label: str
    kind: str
    nbytes: int
    tip: str
    colour: Swatch


def treemap(groups: Mapping[str, Sequence[Leaf]], loose: Sequence[Leaf], size: Size) -> Spec:
    """Areas as large as the tensors' bytes: one box a group, and those that are in none."""
    height = 560 if size is WIDE else 540
    total = sum(leaf.nbytes for group in (*groups.values(), loose) for leaf in group)
    least = _least(groups, loose, total, size, height)
    nodes: list[dict[str, Any]] = [{"id": 0, "size": 0}]
    # In the order of the layers; what is smaller than they are would spoil the boxes around it.
    mean = sum(leaf.nbytes for group in groups.values() for leaf in group) / max(1, len(groups))
    large = [leaf for leaf in loose if leaf.nbytes >= mean]
    nodes += _areas(large, 0, len(nodes), least)
    for title, leaves in groups.items():
        parent = len(nodes)
        short = title.rpartition(" ")[2]
        nodes.append(
            {"id": parent, "order": parent, "parent": 0, "size": 0, "label": title, "short": short}
        )
        nodes += _areas(leaves, parent, len(nodes), least)
    nodes += _areas([leaf for leaf in loose if leaf.nbytes < mean], 0, len(nodes), least)
    head = size.font + 2
    fits = f"(datum.x1 - datum.x0 - 6) / {LETTER * size.font:g}"
    return frame(size, height) | {
        "data": [
            {
                "name": "nodes",
                "values": nodes,
                "transform": [
                    {"type": "stratify", "key": "id", "parentKey": "parent"},
                    {
                        "type": "treemap",
                        "field": "size",
                        "sort": {"field": "order", "order": "ascending"},
                        "size": [size.width, height + head],
                        "paddingInner": 1,
                        "paddingTop": head,
                        "ratio": 1.4,
                    },
                ],
            },
            filtered("leaves", "nodes", "datum.fill"),
            filtered("groups", "nodes", "datum.depth == 1 && !datum.fill"),
            filtered("titled", "groups", f"length(datum.label) <= {fits}"),
            filtered(
                "numbered", "groups",
                f"length(datum.label) > {fits} && length(datum.short) <= {fits} + 0.5",
            ),
            filtered(
                "named", "leaves", f"datum.y1 - datum.y0 > {1.4 * size.font:g} && "
                f"(length(datum.label) <= {fits} || {fits} >= 6)",
            ),
            filtered(
                "typed", "named", f"datum.y1 - datum.y0 > {2.7 * size.font:g} && "
                f"length(datum.kind) <= {fits}",
            ),
        ],
        "marks": [
            {
                "type": "rect",
                "from": {"data": "leaves"},
                "encode": {
                    "enter": {
                        **_corner(0, -head),
                        "x2": {"field": "x1"},
                        "y2": {"field": "y1", "offset": -head},
                        **marked(),
                    }
                },
            },
            labels("titled", _corner(1, 0.82 * size.font - head), size.font, "label", SOFT),
            labels("numbered", _corner(1, 0.82 * size.font - head), size.font, "short", SOFT),
            labels(
                "named", _corner(3, 1.05 * size.font - head), size.font, "label", _ON_AREA, fits
            ),
            labels("typed", _corner(3, 2.2 * size.font - head), size.font - 1, "kind", _ON_AREA),
        ],
    }  # fmt: skip


def _corner(dx: float, dy: float) -> Spec:
    return {"x": {"field": "x0", "offset": dx}, "y": {"field": "y0", "offset": dy}}


def _least(
    groups: Mapping[str, Sequence[Leaf]],
    loose: Sequence[Leaf],
    total: int,
    size: Size,
    height: int,
) -> int:
    """Bytes of the smallest tensor with an area of its own: some pixels, and not too many."""
    sizes = sorted((leaf.nbytes for g in (*groups.values(), loose) for leaf in g), reverse=True)
    small = 6 * total // (size.width * height) + 1
    return max(small, sizes[size.most] + 1) if len(sizes) > size.most else small


def _areas(leaves: Sequence[Leaf], parent: int, first: int, least: int) -> list[dict[str, Any]]:
    """The large ones by themselves, and of each type one area for the small."""
    large = [leaf for leaf in leaves if leaf.nbytes >= least]
    small: dict[str, list[Leaf]] = {}
    for leaf in leaves:
        if 0 < leaf.nbytes < least:
            small.setdefault(leaf.kind, []).append(leaf)
    for kind, alike in small.items():
        nbytes = sum(leaf.nbytes for leaf in alike)
        tip = f"{len(alike):,} small tensors of {kind} together, {nbytes:,} bytes"
        together = Leaf(f"{len(alike)} small", kind, nbytes, tip, alike[0].colour)
        large.append(together if len(alike) > 1 else alike[0])
    large.sort(key=lambda leaf: -leaf.nbytes)
    return [
        {
            "id": number,
            "order": number,
            "parent": parent,
            "size": leaf.nbytes,
            "label": leaf.label,
            "kind": leaf.kind,
            "tip": leaf.tip,
            "fill": leaf.colour.fill,
            "ink": leaf.colour.ink,
        }
        for number, leaf in enumerate(large, first)
    ]
