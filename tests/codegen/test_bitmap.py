"""The bit map against brute force: each stored bit, flipped, changes one bit of one number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ggufspec.blocks.view import Blocks
from ggufspec.codegen.bitmap import bit_map, claims
from ggufspec.codegen.model import BlockType, Region, Trit
from ggufspec.codegen.spec import load_spec
from support.specs import MADE_UP, numpy_module, real_spec, small_tree

Bits = dict[int, tuple[str, int, int]]
"""Stored bit (8 * byte + bit, little-endian words) -> array of unpack, its item, bit of it."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[BlockType, ModuleType]]:
    """Every type of ggml and every made-up one, with its NumPy back end."""
    files = [*(MADE_UP / "types").iterdir(), *(MADE_UP / "tables").iterdir()]
    added = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in files}
    made_up = load_spec(small_tree(tmp_path_factory.mktemp("spec"), added))
    specs = {kind.name: (kind, spec) for spec in (made_up, real_spec()) for kind in spec.layouts}
    return {name: (kind, numpy_module(kind, spec)) for name, (kind, spec) in specs.items()}


NAMES = [kind.name for kind in real_spec().layouts]
NAMES += sorted(path.stem.upper() for path in (MADE_UP / "types").iterdir())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("background", [0, 255])
def test_flips(name: str, background: int, kinds: Any) -> None:
    kind, module = kinds[name]
    assert flips(kind, module, background) == mapped(kind)


def test_every_bit_is_mapped(kinds: Any) -> None:
    """A block without pad and base-3 digits has a meaning for every bit of its bytes."""
    for name in NAMES:
        kind, _ = kinds[name]
        stored = sum(8 * field.total * field.scalar.bytes for field in kind.fields)
        trits = sum(8 * field.total for field in kind.fields if field.name in trit_fields(kind))
        assert len(mapped(kind)) == stored - trits, name
        own = sum(8 * field.total * field.scalar.bytes for field in kind.claimed)
        digits = [key for key in bit_map(kind) if key[0] in trit_fields(kind)]
        assert len(bit_map(kind)) == stored - trits - own + len(digits), name


def flips(kind: BlockType, module: ModuleType, background: int) -> Bits:
    """What changes in ``unpack`` when one stored bit changes, for every bit of a block."""
    count = 8 * kind.bytes
    blocks = np.full((count + 1, kind.bytes), background, np.uint8)
    bits = np.arange(count)
    blocks[bits, bits // 8] ^= (1 << bits % 8).astype(np.uint8)
    skipped = trit_codes(kind)
    found: Bits = {}
    for name, values in module.unpack(Blocks(blocks)).items():
        if name in skipped:
            continue
        for bit, item, changed in changes(values):
            assert bit not in found, f"stored bit {bit} changes {found[bit]} and {name}[{item}]"
            assert changed & (changed - 1) == 0, f"stored bit {bit} changes two bits of {name}"
            found[bit] = (name, item, changed.bit_length() - 1)
    return found


def changes(values: npt.NDArray[Any]) -> Iterator[tuple[int, int, int]]:
    """(row, item, changed bits) where a row differs from the last, which nothing was flipped in."""
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    flat = flat.view(f"u{flat.dtype.itemsize}")
    changed = flat[:-1] ^ flat[-1]
    for row, item in np.argwhere(changed):
        yield int(row), int(item), int(changed[row, item])


def mapped(kind: BlockType) -> Bits:
    """The same from the claims of codes and the fields that no code cuts up."""
    found: Bits = {}
    for field in kind.claimed:
        for item, place in enumerate(places(field)):
            for bit in range(field.scalar.bits):
                found[8 * place + bit] = (field.name, item, bit)
    starts, trits = code_starts(kind), trit_fields(kind)
    for region in kind.regions:
        for code in region.codes:
            for (field_name, where, bit), claim in claims(region, code):
                if field_name not in trits:
                    item = starts[region.start, code.name] + position(region, claim.at)
                    found[8 * where + bit] = (code.name, item, claim.bit)
    return found


def position(region: Region, at: tuple[tuple[str, int], ...]) -> int:
    """The place of axis values in an array of those axes."""
    index = 0
    for axis, value in at:
        index = index * region.extents[axis] + value
    return index


def code_starts(kind: BlockType) -> dict[tuple[int, str], int]:
    """Where a region's part of a code begins in the code's array."""
    sizes: dict[str, int] = {}
    starts: dict[tuple[int, str], int] = {}
    for region in kind.regions:
        for code in region.codes:
            starts[region.start, code.name] = sizes.get(code.name, 0)
            size = 1
            for axis in code.axes:
                size *= region.extents[axis]
            sizes[code.name] = starts[region.start, code.name] + size
    return starts


def places(field: Any) -> list[int]:
    found = [field.offset]
    for count, stride in zip(field.counts, field.strides, strict=True):
        found = [place + stride * index for place in found for index in range(count)]
    return found


def trit_fields(kind: BlockType) -> set[str]:
    return {piece.word.field.name for _, piece in pieces(kind) if isinstance(piece, Trit)}


def trit_codes(kind: BlockType) -> set[str]:
    return {name for name, piece in pieces(kind) if isinstance(piece, Trit)}


def pieces(kind: BlockType) -> Iterator[tuple[str, Any]]:
    for region in kind.regions:
        for code in region.codes:
            for case in code.cases:
                for piece in case.slices:
                    yield code.name, piece


@pytest.mark.parametrize("name", ["TQ1_0", "TRITS"])
def test_digits(name: str, kinds: Any) -> None:
    """A byte of base-3 digits: each digit is claimed once, from 0 up."""
    kind, _ = kinds[name]
    for field in kind.fields:
        if field.name not in trit_fields(kind):
            continue
        for place in places(field):
            digits = [d for f, where, d in bit_map(kind) if (f, where) == (field.name, place)]
            assert sorted(digits) == list(range(len(digits)))
            assert 1 <= len(digits) <= 5


def test_word_names() -> None:
    """The name of a word, as errors and pictures write it."""
    fields = {field.name: field for field in real_spec().type("IQ2_XXS").fields}
    assert [fields["qs.grid"].word_at(place) for place in (2, 3, 10, 61)] == [
        "qs[0].grid[0]", "qs[0].grid[1]", "qs[1].grid[0]", "qs[7].grid[3]",
    ]  # fmt: skip
    assert fields["qs.aux"].word_at(14) == "qs[1].aux"
    assert fields["d"].word_at(0) == "d"


def test_made_up_types_are_all_here() -> None:
    assert {path.suffix for path in Path(MADE_UP / "types").iterdir()} == {".yaml"}
    assert len(NAMES) == len(set(NAMES)) >= 35 + 10
