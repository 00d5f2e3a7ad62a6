"""Neighbour tables equal ggml's, whose hashes stand here; what is pruned can never win."""

from __future__ import annotations

import ctypes
import hashlib
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ggufspec import native
from ggufspec.blocks import kernels
from ggufspec.quantizers.neighbours import neighbours


@dataclass(frozen=True)
class _Grid:
    """A grid as its type's quantizer uses it, and SHA-256 of ggml's map and lists."""

    table: str
    bits: int
    distances: int
    map: str
    lists: str


GRIDS = {
    "IQ2_XXS": _Grid(
        "IQ2XXS_GRID", 2, 2,
        "709b1f45e8457bc27656b3bc37ea881ffc567fe71540df5aae912097b77e2fd1",
        "fb8727a3ecbf6124f63c263d0c1b05925d580426a1d732df1d91514b84a21724",
    ),
    "IQ2_XS": _Grid(
        "IQ2XS_GRID", 2, 2,
        "d6b796100158d2c7de48d0a2d5c38efc400471f822f874f631ab71dd47454326",
        "b94f3f7601b0130674b6e0b7fdccc240b7234d31db4d60601dfc0ff6872a129e",
    ),
    "IQ2_S": _Grid(
        "IQ2S_GRID", 2, 1,
        "bdd7645b9d68dcd282605e039b72ed729c4252e518c5d6ffb12282135a8c37c8",
        "7e06788dce7035c2d4fdc983be81429c26fc3106db8d76a2771b285f9c2eb8ed",
    ),
    "IQ1_S": _Grid(
        "IQ1S_GRID", 2, 3,
        "732ed77320813d3250cbecd7235db1a2d0a661ee4b54fa2a0b5d1cd4e08c5ef0",
        "9a5d4a8807610d7ecdb328c531a60a6e10a202801f9290a6ed17daf3b9a4b054",
    ),
    "IQ3_XXS": _Grid(
        "IQ3XXS_GRID", 3, 2,
        "2384bfe6ea71e4257727bfd5ec66d358995a2f0600bd8b6ef16a83559390e751",
        "4b54395c1c3e9766e6cbb7f2f84a3ebb43d9ca391bd344e517577c3c3c3fa01a",
    ),
    "IQ3_S": _Grid(
        "IQ3S_GRID", 3, 3,
        "53eb24b689961eea61a0a46257a182ac58fe414a9d52163e67ee4a9fc5322659",
        "662208b0d2ce2fa3346c5fb672db4be13bc06f87c78775acfc435550935b5d89",
    ),
}  # fmt: skip


class _Tables(ctypes.Structure):
    """``ggufspec_neighbours`` of runtime/c/neighbours.h."""

    _fields_ = (
        ("codes", ctypes.c_int32),
        ("map", ctypes.POINTER(ctypes.c_int32)),
        ("lists", ctypes.POINTER(ctypes.c_uint16)),
        ("list_words", ctypes.c_size_t),
        ("first", ctypes.POINTER(ctypes.c_uint32)),
        ("near", ctypes.POINTER(ctypes.c_uint16)),
        ("near_vectors", ctypes.c_size_t),
    )


def _compiled(name: str) -> _Tables:
    library = native.lib()
    if library is None:
        pytest.skip("no compiled part")
    find = library.ggufspec_type_neighbours
    find.argtypes, find.restype = [ctypes.c_int], ctypes.POINTER(_Tables)
    tables: _Tables = find(kernels.number(name)).contents
    return tables


def _digest(values: npt.NDArray[Any]) -> str:
    return hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes()).hexdigest()


@pytest.mark.parametrize("name", GRIDS)
def test_numpy_form(name: str) -> None:
    grid = GRIDS[name]
    found = neighbours(grid.table, grid.bits, grid.distances)
    assert found.map.dtype == np.int32
    assert found.lists.dtype == np.uint16
    assert (_digest(found.map), _digest(found.lists)) == (grid.map, grid.lists)


@pytest.mark.parametrize("name", [*GRIDS, "IQ1_M"])
def test_compiled_form(name: str) -> None:
    grid, found = GRIDS["IQ1_S" if name == "IQ1_M" else name], _compiled(name)
    assert _digest(np.ctypeslib.as_array(found.map, (found.codes,))) == grid.map
    assert _digest(np.ctypeslib.as_array(found.lists, (found.list_words,))) == grid.lists


@pytest.mark.parametrize("name", GRIDS)
def test_pruned_lists(name: str) -> None:
    """In the order of the list, without what another neighbour lies between it and the code."""
    grid, tables = GRIDS[name], _compiled(name)
    full = neighbours(grid.table, grid.bits, grid.distances)
    first = np.ctypeslib.as_array(tables.first, (tables.codes + 1,))
    near = np.ctypeslib.as_array(tables.near, (tables.near_vectors, 8))
    length = 8 if grid.bits == 2 else 4
    levels = np.arange(tables.codes)[:, None] >> grid.bits * np.arange(length)
    levels &= (1 << grid.bits) - 1
    possible = (levels <= levels[full.codes].max()).all(axis=1) & (full.map < 0)
    assert np.array_equal(near[first[full.codes]], np.repeat(full.codes[:, None], 8, axis=1))
    assert not np.diff(first)[~possible & (full.map < 0)].any()
    for code in np.random.default_rng(0).choice(np.flatnonzero(possible), 200, replace=False):
        at = -full.map[code]
        listed = full.codes[full.lists[at : at + full.lists[at - 1]]]
        away = levels[listed] - levels[code]
        between = (away[:, None] * away >= 0) & (abs(away[:, None]) <= abs(away))
        between = between.all(axis=2) & ~np.eye(len(listed), dtype=bool)
        kept = listed[~between.any(axis=0)]
        found = near[first[code] : first[code + 1]].reshape(-1)
        assert np.array_equal(found[: len(kept)], kept)
        assert (found[len(kept) :] == kept[-1]).all()
        assert len(found) - len(kept) < 8


_BUILD = """
import ctypes, time
from concurrent.futures import ThreadPoolExecutor
from ggufspec import native
from ggufspec.blocks import kernels

names = ["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_S", "IQ3_XXS", "IQ3_S"]
numbers = [kernels.number(name) for name in names]
lib = native.lib()
lib.ggufspec_type_neighbours.restype = ctypes.c_void_p
start = time.process_time()
with ThreadPoolExecutor(8) as pool:
    assert not any(pool.map(lib.ggufspec_prepare, numbers * 4))
    built = time.process_time() - start
    assert len(set(pool.map(lib.ggufspec_type_neighbours, numbers * 4))) == len(names)
assert lib.ggufspec_prepare(10**6) == -1
print(built)
"""


def test_all_are_built_once_and_in_little_time() -> None:
    if native.lib() is None:
        pytest.skip("no compiled part")
    run = subprocess.run(
        [sys.executable, "-c", _BUILD], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 10  # a hang, not a speed
