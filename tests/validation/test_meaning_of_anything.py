"""Keys of any type and shapes of any size: nothing but reports, whatever they are."""

from __future__ import annotations

import math
import random
import time

import pytest

import ggufspec
from ggufspec import Value
from ggufspec.generated.metadata import KEYS
from support.meaning import ARCHITECTURES, made, toy

VALUES = [
    Value("UINT32", 0),
    Value("UINT32", 2**32 - 1),
    Value("UINT64", 2**64 - 1),
    Value("INT32", -1),
    Value("FLOAT32", math.nan),
    Value("FLOAT64", 1e300),
    Value("BOOL", True),
    Value("STRING", "x"),
    Value("STRING", b"\xff"),
    Value("ARRAY[INT32]", []),
    Value("ARRAY[INT32]", [-1, 5]),
    Value("ARRAY[UINT32]", [2**32 - 1] * 3),
    Value("ARRAY[UINT8]", [1, 2]),
    Value("ARRAY[FLOAT32]", [math.inf]),
    Value("ARRAY[BOOL]", [True]),
    Value("ARRAY[STRING]", []),
    Value("ARRAY[STRING]", ["", b"\xff", "a\0"]),
]
NAMES = [
    "x.lora_a",
    "x.lora_b",
    "a.in_sum2",
    "a.counts",
    "direction.1",
    "blk.7.x",
    "blk.99999999999.x",
    "blk.².x",
]
FIXED = ("split.", "general.alignment")


def mutated(seed: int) -> bytes:
    """A small model with some keys and shapes that it should not have."""
    chance = random.Random(seed)
    model = toy(chance.choice(ARCHITECTURES))
    shapes = dict(model.shapes)
    keys = {
        name: Value("UINT32", value) if isinstance(value, int) else value
        for name, value in model.keys.items()
    }
    known = [key.key for key in KEYS if not key.key.startswith(FIXED)]
    for _ in range(chance.randint(1, 6)):
        name = chance.choice(known if chance.random() < 0.5 else list(keys))
        name = name.replace("{arch}", model.keys["general.architecture"])
        keys[name.replace("{id}", "0").replace("{name}", "n")] = chance.choice(VALUES)
    for _ in range(chance.randint(0, 3)):
        dims = tuple(chance.choice([0, 1, 2, 7, 33]) for _ in range(chance.randint(1, 4)))
        shapes[chance.choice([*shapes, *NAMES])] = dims
    return made(keys, shapes)


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_nothing_but_reports(first: int) -> None:
    for seed in range(first, first + 20):
        data = mutated(seed)
        start = time.process_time()
        for profile in ("spec", "strict", "lenient"):
            ggufspec.validate(data, profile, checks=("meaning",), base=data if seed % 4 else None)
        assert time.process_time() - start < 10  # a hang, not a speed
