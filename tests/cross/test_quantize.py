"""The quantizers in C write the same bytes on other processors, big-endian ones too.

This machine's C is the reference, which tests/oracle holds against ggml.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.quantizers import compiled
from ggufspec.registry import types
from support.build import run
from support.machines import Machine
from support.machines import compiled as built
from support.rows import LENGTH, Floats, hostile_rows, importances, row_samples

pytestmark = pytest.mark.slow

DONE, NOT_FINITE, OVERFLOW = 0, 1, 2
"""What becomes of rows, as runtime/c/quantize.h numbers it."""

PLAIN = [name for name, quantizer in QUANTIZERS.items() if quantizer.plain]
WEIGHTED = [name for name, quantizer in QUANTIZERS.items() if quantizer.weighted]

NARROW = {"IQ1_S": 256, "IQ1_M": 256}
"""The width of rows, where it is not LENGTH: these would take an emulator half a minute."""

Answer = tuple[int, int, bytes]
"""What became of a row, which of its blocks cannot be stored, and the blocks before that."""


def _here(name: str, row: Floats, importance: Floats | None) -> Answer:
    kind = types[name]
    out = np.zeros((1, kind.row_bytes(len(row))), np.uint8)
    fault = compiled.quantize(kind, row[None], out, importance)
    if fault is None:
        return DONE, 0, out.tobytes()
    assert fault.what == "overflow"
    block = fault.element // kind.elements
    return OVERFLOW, block, out.tobytes()[: block * kind.bytes]


def _request(name: str, row: Floats, importance: Floats | None) -> bytes:
    weights = b"" if importance is None else importance.tobytes()
    blocks = len(row) // types[name].elements
    return struct.pack("<32s3I", name.encode(), 1, blocks, bool(weights)) + weights + row.tobytes()


def _there(program: list[str], name: str, x: Floats, importance: Floats | None) -> list[Answer]:
    """Each row by itself, so that one that cannot be stored hides no other."""
    kind, length = types[name], x.shape[1]
    said = run(program, b"".join(_request(name, row, importance) for row in x))
    answers: list[Answer] = []
    for at in range(0, len(said), 8 + kind.row_bytes(length)):
        status, block = struct.unpack_from("<2I", said, at)
        size = block * kind.bytes if status else kind.row_bytes(length)
        answers.append((status, block, said[at + 8 : at + 8 + size]))
    return answers


def _check(program: list[str], name: str, x: Floats, importance: Floats | None) -> None:
    width = NARROW.get(name, LENGTH)
    x, importance = x[:, :width], None if importance is None else importance[:width]
    expected = [_here(name, row, importance) for row in x]
    assert _there(program, name, x, importance) == expected


@pytest.mark.parametrize("name", PLAIN)
def test_same_bytes(machine: Machine, here: Path, name: str) -> None:
    rows = np.concatenate(list(row_samples(rows=1).values()))
    _check(built(machine, here / "quantize.c"), name, rows, None)


@pytest.mark.parametrize("name", WEIGHTED)
def test_same_bytes_with_importance(machine: Machine, here: Path, name: str) -> None:
    program = built(machine, here / "quantize.c")
    samples = list(row_samples(seed=1, rows=1).values())
    weights = list(importances().values())
    for number, importance in enumerate(weights):
        _check(program, name, np.concatenate(samples[number :: len(weights)]), importance)
    x, importance = hostile_rows()
    _check(program, name, x[:2], importance)
