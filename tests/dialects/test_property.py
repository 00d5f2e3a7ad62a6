"""Any tensors of types that dialects differ about: a dialect under which they tile, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec.dialects import dialects
from support import crafted
from support.crafted import V3
from support.strategies import files_of_a_dialect

CONTESTED = sorted({number for dialect in dialects.values() for number in dialect.kinds})


@settings(max_examples=300)
@given(files_of_a_dialect([1, 8, 32, 64]))
def test_the_true_dialect_is_found_or_among_those_told(made: tuple[str, bytes]) -> None:
    """Never another reading without a word: names and sizes are the true ones, or disputed."""
    name, data = made
    with ggufspec.open(data) as found, ggufspec.open(data, dialect=name) as true:
        choice = found.parts[0].choice
        disputed = choice.disputed if choice else frozenset()
        for tensor in true.tensors.values():
            other = found.tensors[tensor.name]
            if tensor.type_id not in disputed:
                assert (other.type, other.nbytes) == (tensor.type, tensor.nbytes)
        if disputed:
            assert len(found.fitting) > 1
            assert any(note.rule == "GG1601" for note in found.notes)


@st.composite
def hostile(draw: st.DrawFn) -> bytes:
    """Infos that claim anything, over a few bytes."""
    numbers = st.one_of(st.integers(0, 600), st.integers(0, 2**63), st.just(2**64 - 1))
    infos = []
    for row in range(draw(st.integers(1, 5))):
        dims = draw(st.lists(numbers, max_size=4))
        number = draw(st.sampled_from([*CONTESTED, 0, 99, 2**32 - 1]))
        infos.append(V3.tensor(f"t{row}", dims, number, draw(numbers)))
    return crafted.file([], infos, bytes(draw(st.integers(0, 700))))


@settings(max_examples=300)
@given(hostile(), st.sampled_from(["lenient", "strict", "ggml"]))
def test_a_result_or_an_error(data: bytes, profile: str) -> None:
    options: list[dict[str, Any]] = [{}, {"dialect": "tencent"}, {"dialect": "ik_llama.cpp"}]
    for option in options:
        ggufspec.validate(data, profile, **option)
        try:
            with ggufspec.open(data, profile=profile, **option) as f:
                for tensor in f.tensors.values():
                    assert tensor.nbytes >= 0
                    assert isinstance(tensor.data, np.ndarray)
                assert f.fitting
                assert isinstance(f.findings, tuple)
        except ggufspec.GGUFError:
            pass
