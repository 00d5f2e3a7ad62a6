"""Every build of the C quantizers writes the same bytes, whatever the rows and their number.

Small arrays of their own, so that under `make fuzz` the address sanitizer sees what is read or
written beside them.
"""

from __future__ import annotations

import numpy as np
import pytest

from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.quantizers import compiled
from ggufspec.registry import types
from support.rows import LENGTH, Floats, hostile_rows, importances, row_samples
from support.variants import VARIANTS, using

ROWS = (1, 2, 3, 5, 7)
"""Groups of blocks that are not full, whatever the width of the vectors."""

Answer = tuple[object, bytes]


def _quantized(variant: str, name: str, x: Floats, importance: Floats | None) -> Answer:
    """What became of it, and all blocks before the first that cannot be stored."""
    kind = types[name]
    out = np.zeros((len(x), kind.row_bytes(x.shape[1])), np.uint8)
    with using(variant):
        fault = compiled.quantize(kind, x, out, importance)
    whole = out.size if fault is None else fault.element // kind.elements * kind.bytes
    return fault, out.tobytes()[:whole]


def _check(name: str, x: Floats, importance: Floats | None) -> None:
    found = [_quantized(variant, name, x, importance) for variant in VARIANTS]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", [name for name, q in QUANTIZERS.items() if q.plain])
def test_rows(name: str) -> None:
    samples = row_samples(seed=2, rows=max(ROWS)).values()
    for number, x in enumerate(samples):
        rows = ROWS[number % len(ROWS)]
        width = types[name].elements * (number % 3 + 1)
        _check(name, x[:rows, :width].copy(), None)


@pytest.mark.parametrize("name", [name for name, q in QUANTIZERS.items() if q.weighted])
def test_rows_with_importance(name: str) -> None:
    samples = row_samples(seed=3, rows=max(ROWS)).values()
    for number, x in enumerate(samples):
        rows = ROWS[number % len(ROWS)]
        width = types[name].elements * (number % 3 + 1)
        for importance in importances(number).values():
            _check(name, x[:rows, :width].copy(), importance[:width].copy())
    for seed in range(2):
        hostile, importance = hostile_rows(seed)
        _check(name, hostile, importance)


@pytest.mark.parametrize("name", QUANTIZERS)
def test_not_finite(name: str) -> None:
    """A number that is not finite is found wherever it stands, and nothing else happens."""
    x = row_samples(rows=1)["normal"]
    importance = np.ones(LENGTH, np.float32)
    for column, value in ((0, np.nan), (LENGTH - 1, np.inf), (LENGTH // 2, -np.inf)):
        broken = x.copy()
        broken[0, column] = value
        found = [_quantized(variant, name, broken, importance)[0] for variant in VARIANTS]
        assert found[0] == found[1]
        assert getattr(found[0], "element", None) == column
