"""The NumPy back end of every type against an interpreter that reads the YAML by itself."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from ggufspec.blocks.view import Blocks
from support import interpreter
from support.project import SPEC
from support.samples import LAYOUTS, first_difference

ORDERS = {"little": "<", "big": ">"}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_type(name: str, order: str) -> None:
    kind = interpreter.read(SPEC / f"types/{name.lower()}.yaml", SPEC)
    module = import_module(f"ggufspec.generated.numpy.{name.lower()}")
    blocks = np.random.default_rng(1).integers(0, 256, (2, kind.data["bytes"]), np.uint8)
    stored = [interpreter.Stored(block.tobytes(), order=order) for block in blocks]

    unpacked = module.unpack(Blocks(blocks, ORDERS[order]))
    expected = [interpreter.unpack(kind, block) for block in stored]
    assert list(unpacked) == list(expected[0])
    for key, values in unpacked.items():
        assert interpreter.integers(values) == [block[key] for block in expected], key

    with np.errstate(all="ignore"):
        values = module.dequantize(Blocks(blocks, ORDERS[order])).astype(np.float32)
    elements = np.stack([interpreter.decode(kind, block) for block in stored])
    assert first_difference(values, elements) is None
