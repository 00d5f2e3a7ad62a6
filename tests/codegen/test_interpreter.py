"""The NumPy back end of every type against an interpreter that reads the YAML by itself."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from ggufspec.blocks.view import Blocks
from ggufspec.registry import types
from support import interpreter
from support.project import SPEC
from support.samples import LAYOUTS, first_difference, suffix_of

ORDERS = {"little": "<", "big": ">"}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_type(name: str, order: str) -> None:
    kind = interpreter.read(SPEC / f"types/{name.lower()}.yaml", SPEC)
    module = import_module(f"ggufspec.generated.numpy.{name.lower()}")
    blocks = np.random.default_rng(1).integers(0, 256, (2, kind.data["bytes"]), np.uint8)
    tail = suffix_of(types[name])
    extra = {} if tail is None else {"suffix": Blocks(np.stack([tail, tail]), ORDERS[order])}
    behind = b"" if tail is None else tail.tobytes()
    stored = [interpreter.Stored(b.tobytes(), suffix=behind, order=order) for b in blocks]

    unpacked = module.unpack(Blocks(blocks, ORDERS[order]))
    expected = [interpreter.unpack(kind, block) for block in stored]
    assert list(unpacked) == list(expected[0])
    for key, values in unpacked.items():
        assert interpreter.integers(values) == [block[key] for block in expected], key

    with np.errstate(all="ignore"):
        values = module.dequantize(Blocks(blocks, ORDERS[order]), **extra).astype(np.float32)
    elements = np.stack([interpreter.decode(kind, block) for block in stored])
    assert first_difference(values, elements) is None
