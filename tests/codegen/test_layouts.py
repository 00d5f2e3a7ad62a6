"""Random layouts: each loads, is proved, and packs and decodes as the interpreter says."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from ggufspec.blocks.view import Blocks
from ggufspec.codegen.blocks import load_type
from ggufspec.codegen.model import BlockType
from ggufspec.codegen.picture import picture
from ggufspec.codegen.source import parse_yaml
from ggufspec.codegen.spec import Spec
from support import interpreter
from support.layouts import random_layout
from support.project import SPEC
from support.samples import first_difference
from support.specs import numpy_module, real_spec

COUNT = 2


def load(text: str) -> tuple[BlockType, Spec]:
    spec = replace(real_spec(), tables={})
    return load_type(parse_yaml(text, "types/any.yaml"), SPEC, spec.scalars, {}), spec


def claimed_bytes(kind: BlockType) -> npt.NDArray[np.bool_]:
    """Which bytes of a block a field holds; the others are pad."""
    held = np.zeros(kind.bytes, np.bool_)
    for field in kind.fields:
        places = [field.offset]
        for count, stride in zip(field.counts, field.strides, strict=True):
            places = [place + stride * index for place in places for index in range(count)]
        for place in places:
            held[place : place + field.scalar.bytes] = True
    return held


@settings(max_examples=40)
@given(st.randoms(use_true_random=False), st.sampled_from(["little", "big"]))
def test_layout(rng: Random, order: str) -> None:
    text = random_layout(rng, "ANY")
    kind, spec = load(text)
    plain = interpreter.parse(text, SPEC)
    module = numpy_module(kind, spec)
    mark = "<" if order == "little" else ">"

    def random_bytes(size: int) -> npt.NDArray[np.uint8]:
        data = rng.getrandbits(8 * COUNT * size).to_bytes(COUNT * size, "little")
        return np.frombuffer(data, np.uint8).reshape(COUNT, size)

    blocks, prefix = random_bytes(kind.bytes), random_bytes(kind.prefix_bytes)
    suffix = random_bytes(kind.suffix_bytes)
    stored = [
        interpreter.Stored(*(part.tobytes() for part in parts), order)
        for parts in zip(blocks, prefix, suffix, strict=True)
    ]

    codes = module.unpack(Blocks(blocks, mark))
    expected = [interpreter.unpack(plain, block) for block in stored]
    assert list(codes) == list(expected[0])
    for name, values in codes.items():
        assert interpreter.integers(values) == [block[name] for block in expected], name

    extra = {}
    if kind.prefix:
        extra["prefix"] = Blocks(prefix, mark)
    if kind.suffix:
        extra["suffix"] = Blocks(suffix, mark)
    with np.errstate(all="ignore"):
        values = np.ascontiguousarray(module.dequantize(Blocks(blocks, mark), **extra))
    elements = np.stack([interpreter.decode(plain, block) for block in stored])
    assert first_difference(values, elements) is None

    packed = module.pack(codes, mark)
    held = claimed_bytes(kind)
    assert not packed[:, ~held].any(), "pad is written as zeros"
    if "trit(" not in text:
        assert np.array_equal(packed[:, held], blocks[:, held])
    again = module.unpack(Blocks(packed, mark))
    for name, values in codes.items():
        assert interpreter.integers(values) == interpreter.integers(again[name]), name
    assert sum(line.count for line in picture(kind)) == sum(field.total for field in kind.fields)
