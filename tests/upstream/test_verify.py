"""``upstream verify``: all types are ggml's bit for bit; a fault is shown by the smallest block."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ggufspec.cli.failures import CommandError
from ggufspec.codegen.blocks import load_type
from ggufspec.codegen.source import load_yaml
from ggufspec.codegen.spec import Spec
from ggufspec.codegen.upstream.known import Quantizer
from ggufspec.codegen.upstream.library import Library, LibraryError
from ggufspec.codegen.upstream.verify import smallest, verify
from ggufspec.registry import types
from support import oracle
from support.project import SPEC
from support.specs import real_spec

GRIDS = ("IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ1_S", "IQ1_M")
"""ggml makes the tables of their quantizers in 20 seconds."""
UNTOUCHED = ("I8", "I16", "I32", "I64", "F64")
"""The library neither decodes nor quantizes them."""
OTHERS = [kind.name for kind in real_spec().layouts if kind.id is not None]


@pytest.mark.parametrize("name", OTHERS)
def test_all_types_are_alike(library: Library, name: str) -> None:
    kind = real_spec().type(name)
    quantizers = name not in GRIDS
    found = verify(real_spec(), kind, library, blocks=300, quantizers=quantizers)
    assert not found.failures
    assert found.ok == found.compared == (name not in UNTOUCHED)
    decodes = oracle.types()[kind.id or 0].has_to_float or name == "Q8_K"
    assert (found.blocks > 300) == decodes
    assert (found.rows > 40) == (quantizers and bool(kind.quantize))


@pytest.mark.sweep
@pytest.mark.parametrize("name", GRIDS)
def test_quantizers_of_grids(library: Library, name: str) -> None:
    found = verify(real_spec(), real_spec().type(name), library, blocks=10)
    assert found.ok
    # IQ1_M: the library writes what ggml wrote before 0.25, and that is known.
    assert bool(found.meant) == bool(found.why) == (name == "IQ1_M")


def test_what_is_known_of_old_versions() -> None:
    known = Quantizer("0.21.0", "a reason")
    for version in ("0.20.2", "0.21.0", "0.9.11", "0.20.2-dirty"):
        assert known.covers(version)
    for version in ("0.21.1", "0.25.3", "1.0", "", "unknown"):
        assert not known.covers(version)


# ---- a doctored spec

Doctored = Callable[[str, str, str], Spec]


@pytest.fixture
def doctored(tmp_path: Path) -> Doctored:
    """The spec with one type file changed."""

    def make(name: str, old: str, new: str) -> Spec:
        root = tmp_path / "spec"
        shutil.copytree(SPEC, root)
        path = root / f"types/{name.lower()}.yaml"
        text = path.read_text()
        assert text.count(old) == 1
        path.write_text(text.replace(old, new))
        spec = real_spec()
        kind = load_type(load_yaml(path, root), root, spec.scalars, spec.tables)
        kinds = tuple(kind if one.name == name else one for one in spec.types)
        return replace(spec, root=root, types=kinds, every=kinds)

    return make


@pytest.mark.parametrize(
    ("name", "old", "new", "most"),
    [
        ("Q4_0", "x: d * (q - 8)", "x: d * (q - 7)", 3),
        ("Q5_0", "bits(qh, 16*h + l, 1)", "bits(qh, 2*l + h, 1)", 3),
        ("Q4_K", "bits(scales[2*u + h], 6, 2)", "bits(scales[3 - 2*u - h], 6, 2)", 4),
        ("Q6_K", "x: dl * (q - 32)", "x: dl * (q - 33)", 3),
        ("TQ1_0", "trit(qs[m], n)", "trit(qs[31 - m], n)", 3),
    ],
)
def test_wrong_layout(
    library: Library, doctored: Doctored, name: str, old: str, new: str, most: int
) -> None:
    """The block that is shown fails by the oracle too, and nothing can be taken from it."""
    spec = doctored(name, old, new)
    kind = spec.type(name)
    found = verify(spec, kind, library, blocks=200, quantizers=False)
    (failure,) = found.failures
    assert not found.ok
    assert (failure.way, len(failure.block)) == ("dequantize", kind.bytes)
    assert sum(byte.bit_count() for byte in failure.block) <= most
    block = np.frombuffer(failure.block, np.uint8)
    theirs = oracle.dequantize(block, kind.id or 0)[failure.element]
    assert failure.theirs == f"{float(theirs):.9g} (0x{int(theirs.view(np.uint32)):08x})"
    assert failure.ours != failure.theirs
    # The numbers that the element is made of are told.
    code = next(region for region in kind.regions if region.start <= failure.element).codes[-1]
    assert any(told.startswith(code.name) for told in failure.values)


def test_wrong_quantizer(library: Library, doctored: Doctored) -> None:
    """A recipe with another constant: the row is made small, the bytes are those of both."""
    spec = doctored("Q8_0", "reach: 127", "reach: 126")
    before = types["Q8_0"]
    found = verify(spec, spec.type("Q8_0"), library, blocks=50)
    (failure,) = found.failures
    assert failure.way == "quantize"
    x = np.array(failure.row, np.float32)[None]
    assert np.count_nonzero(x) == 1
    assert failure.other == oracle.quantize(x, 8).tobytes()
    assert failure.block != failure.other
    assert set(failure.values) >= {"d"}
    # The package quantizes as before.
    assert types["Q8_0"] is before
    import ggufspec

    assert ggufspec.quantize(x, "Q8_0", backend="numpy").tobytes() == failure.other


def test_wrong_codebook_quantizer(library: Library, doctored: Doctored) -> None:
    spec = doctored("IQ4_NL", "trials: 7}\n  weighted", "trials: 6}\n  weighted")
    found = verify(spec, spec.type("IQ4_NL"), library, blocks=50)
    assert {failure.way for failure in found.failures} == {"quantize"}
    assert not any(failure.importance for failure in found.failures)


def test_other_sizes(library: Library) -> None:
    kind = replace(real_spec().type("Q4_0"), bytes=19)
    with pytest.raises(LibraryError, match="19 bytes, and 32 in 18"):
        verify(real_spec(), kind, library)
    with pytest.raises(LibraryError, match="has no type Q9_0"):
        verify(real_spec(), replace(kind, name="Q9_0"), library)


def test_smallest() -> None:
    """What is left cannot lose a bit: a block that fails for bits 3 and 17 keeps these two."""
    rng = np.random.default_rng(5)

    def fails(blocks: Any) -> Any:
        return (blocks[:, 0] & 8 != 0) & (blocks[:, 2] & 2 != 0)

    for _ in range(20):
        block = rng.integers(0, 256, 40, np.uint8)
        block[0] |= 8
        block[2] |= 2
        found = smallest(block, fails)
        assert (found[0], found[2], int(found.sum())) == (8, 2, 10)


# ---- the command


def test_command(upstream: Any, library_path: Path, doctored: Doctored) -> None:
    folder = library_path.parent
    good = upstream("verify", "q4_k", "Q8_1", "--library", folder, "--blocks", "40")
    assert good.exit_code == 0
    assert good.output.startswith("Q4_K: alike: ")
    assert "the library does not decode it" in good.output
    spec = doctored("Q4_0", "x: d * (q - 8)", "x: d * (q - 7)")
    from ggufspec.codegen.upstream import commands

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "_spec", lambda _folder: spec)
        bad = upstream("verify", "Q4_0", "--library", folder, "--no-quantize")
        assert bad.exit_code == 1
        assert "Q4_0: DIFFERENT" in bad.output
        assert "element " in bad.output
        machine = upstream("verify", "Q4_0", "--library", folder, "--no-quantize", "--json")
        assert machine.exit_code == 1
        (record,) = json.loads(machine.output)
        assert record["ok"] is False
        assert len(bytes.fromhex(record["failures"][0]["block"])) == 18


def test_command_refuses(upstream: Any, library_path: Path) -> None:
    for arguments, code in (
        (("Q4_0",), 2),
        (("Q9_0", "--library", library_path), 2),
        (("Q4_2", "--library", library_path), 2),
        (("I2_S", "--library", library_path), 2),
        (("PQ2_0", "--library", library_path), 3),
    ):
        done = upstream("verify", *arguments)
        assert isinstance(done.exception, CommandError), arguments
        assert done.exception.exit == code
