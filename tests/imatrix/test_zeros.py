"""Whole blocks without importance."""

from __future__ import annotations

import numpy as np
import pytest

from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.imatrix import fixed
from ggufspec.registry import types

WEIGHTED = [name for name, q in QUANTIZERS.items() if q.weighted]
PLAIN = [name for name, q in QUANTIZERS.items() if not q.weighted]


@pytest.mark.parametrize("name", WEIGHTED)
def test_blocks_are_those_of_the_type(name: str) -> None:
    block = types[name].elements
    values = np.ones((2, 3 * block), np.float32)
    ones, count = fixed(values, name)
    assert ones is values
    assert count == 0
    values[0, block // 2 : 2 * block + 1] = 0  # one whole block and parts of two others
    values[1] = -0.0
    expected = values.copy()
    expected[0, block : 2 * block] = 1
    expected[1] = 1
    for given, wanted, zero in ((values, expected, 4), (values[0], expected[0], 1)):
        found, count = fixed(given, name)
        assert count == zero
        assert found.dtype == np.float32
        assert np.array_equal(found, wanted)
        assert fixed(found, name)[1] == 0
    assert values[0, block] == 0, "the argument is left as it is"


@pytest.mark.parametrize("name", PLAIN)
def test_types_without_a_use_for_it(name: str) -> None:
    values = np.zeros((2, 512), np.float32)
    ones, count = fixed(values, name)
    assert ones is values
    assert count == 0


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="unknown type 'Q9'"):
        fixed(np.zeros(256, np.float32), "Q9")
    with pytest.raises(ValueError, match="a row of 300 elements is not a multiple"):
        fixed(np.zeros(300, np.float32), "Q4_K")
