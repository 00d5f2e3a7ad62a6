"""Rows cut into sub-blocks, and the weights of their elements.

Sub-blocks are columns, elements the first axis, so that sums run along it in ggml's order.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import Floats, ratio, running_sum
from .constants import MeanOver, Rule


def columns(rows: Floats, length: int) -> Floats:
    """Rows (n, row) as (length, n * row / length), one sub-block a column."""
    return np.ascontiguousarray(rows.reshape(-1, length).T)


def weigh(
    rows: Floats,
    importance: Floats | None,
    rule: Rule,
    length: int,
    elements: int,
    mean_over: MeanOver,
    mean_times: int,
) -> Floats:
    """The weights of all elements, as columns; ``elements`` are those of a block."""
    x = columns(rows, length)
    if rule == "magnitude":
        return np.abs(x)
    if rule == "square":
        return x * x
    if rule == "rms_plus_magnitude":
        return np.sqrt(ratio(running_sum(x * x), np.float32(length))) + np.abs(x)
    assert importance is not None, "only weighted recipes ask for it"
    q = np.tile(columns(importance, length), (1, len(rows)))
    if rule == "importance":
        return q
    over = rows.shape[1] if mean_over == "row" else elements
    blocks = columns(rows, over)
    mean = ratio(np.float32(max(1, mean_times)) * running_sum(blocks * blocks), np.float32(over))
    return q * np.sqrt(np.repeat(mean, over // length) + x * x)
