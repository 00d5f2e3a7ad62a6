"""The type table equals the oracles', but for the differences listed here."""

from __future__ import annotations

import hashlib

import pytest

from ggufspec.codegen.tables import load_tables
from ggufspec.registry import types
from support import gguf_py, oracle
from support.project import SPEC

HASHES = {
    "iq2xxs_grid": "05826b5d3e472a3a78f196be62ac78acf81df0f909626e12ab9fa2a5d490dd54",
    "iq2xs_grid": "06e47aaca60b4dc1d9b5a3f34540437058a6b142b4d7a59d5ded769b4d1bf1de",
    "iq2s_grid": "e1aa1473412b0552c2174c30ef22ab4073f6a181b85a17056e8249bd2932fd88",
    "iq3xxs_grid": "46e35f5a997efdee6c99ce57854c8a0d4f0ff8ca57e5e8a60c0793ea580acf5d",
    "iq3s_grid": "bd1af4945a1717c65610b0284e4628b9a1ba3b306fae3a06f6e5f597356e349f",
    "iq1s_grid": "07540ffc1aeaf6ad4d97e96b0fcc765aae39671d4ae4a27bbd0e796fde167c6a",
}


def test_every_id_from_0_to_42() -> None:
    assert sorted(t.id for t in types.values() if t.id is not None) == list(range(43))


def test_equals_ggml() -> None:
    for kind in types.values():
        if kind.status == "removed" or kind.id is None:
            continue
        theirs = oracle.types()[kind.id]
        assert (theirs.name.upper(), theirs.elements, theirs.bytes) == (
            kind.name.upper(), kind.elements, kind.bytes,
        )  # fmt: skip


def test_removed_ids_have_no_block_in_ggml() -> None:
    removed = {t.id for t in types.values() if t.status == "removed"}
    assert removed == {4, 5, 31, 32, 33, 36, 37, 38}
    assert removed == {number for number, t in oracle.types().items() if t.elements == 0}


def test_equals_gguf_py_but_for_known_differences() -> None:
    """Gguf 0.19 does not know 42 (Q2_0) and has Q8_1 with 40 bytes."""
    live = [t for t in types.values() if t.elements and t.id is not None]
    ours = {t.id: (t.elements, t.bytes) for t in live}
    theirs = gguf_py.type_sizes()
    assert set(ours) - set(theirs) == {42}
    assert set(theirs) <= set(ours)
    assert {n: theirs[n] for n in theirs if theirs[n] != ours[n]} == {9: (32, 40)}
    names = {t.id: t.name for t in live if t.id != 42}
    assert names == gguf_py.type_names()


@pytest.mark.parametrize("name", HASHES)
def test_codebooks_are_ggmls(name: str) -> None:
    """The hashes are of ggml's C tables as little-endian bytes."""
    table = load_tables(SPEC)[name]
    data = bytes(value & 0xFF for value in table.data)
    assert hashlib.sha256(data).hexdigest() == HASHES[name]
