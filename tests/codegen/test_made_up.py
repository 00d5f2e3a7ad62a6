"""A type that nobody has: one YAML file, one ``generate``, and every back end has it.

The spec is copied, made-up and random types are added to the copy, everything is generated from
it, and the runtime of this checkout runs on the result, in NumPy and in compiled C. The judge
is the interpreter that reads the YAML element by element. No Python and no C is edited.
GGUFSPEC_LAYOUTS=100:200 takes other random types.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ggufspec.codegen import generate
from ggufspec.codegen.spec import Spec, load_spec
from support import interpreter, walkthrough
from support.layouts import random_layout
from support.project import ROOT
from support.samples import first_difference
from support.specs import MADE_UP, checkout, run_in

TYPES = {path.name: path.read_text(encoding="utf-8") for path in (MADE_UP / "types").iterdir()}
SEEDS = range(*map(int, os.environ.get("GGUFSPEC_LAYOUTS", "0:16").split(":")))
TYPES |= {f"random_{n}.yaml": random_layout(Random(n), f"RANDOM_{n}") for n in SEEDS}
TYPES["t3_0.yaml"] = walkthrough.t3_0()
NAMES = sorted(name.removesuffix(".yaml").upper() for name in TYPES)

ROWS, BLOCKS = 2, 3

VARIANTS = {"baseline": [], "v3": ["-mavx2", "-mf16c", "-mbmi2"]}
if platform.machine() not in {"x86_64", "AMD64"}:
    del VARIANTS["v3"]

Results = Mapping[str, Mapping[str, npt.NDArray[Any]]]
"""Type -> what was computed -> the array."""

RUN = """
import sys
import numpy as np
from ggufspec import blocks
from ggufspec.blocks import checks, kernels
from ggufspec.registry import types

def _unpack(data, name, how):
    return {k: np.ascontiguousarray(v) for k, v in blocks.unpack(data, name, **how).items()}

def parts(rows, inner, suffix, info):
    found = {"block": inner}
    if info.row_prefix:
        found["row"] = np.ascontiguousarray(rows[:, : info.row_prefix])
    if suffix is not None:
        found["tensor"] = suffix.reshape(1, -1)
    return found

given, made, (source, target, backend) = {}, {}, sys.argv[1:]
with np.load(source) as file:
    given = dict(file)
if backend != "numpy":
    try:
        kernels.use_variant(backend)
    except ValueError:
        sys.exit("no such variant here")
    backend = "native"
names = sorted({key.split(".")[0] for key in given})
for name in names:
    rows, suffix = given[f"{name}.rows"], given.get(f"{name}.suffix")
    inner = np.ascontiguousarray(rows[:, types[name].info.row_prefix :])
    inner = inner.reshape(-1, types[name].bytes)
    for order in ("little", "big"):
        how = {"backend": backend, "byte_order": order}
        made[f"{name}.{order}.x"] = blocks.dequantize(rows, name, suffix=suffix, **how)
        codes = _unpack(inner, name, how)
        for key, values in codes.items():
            made[f"{name}.{order}.codes.{key}"] = values
        packed = blocks.pack(codes, name, **how)
        made[f"{name}.{order}.packed"] = packed
        again = _unpack(packed, name, how)
        made[f"{name}.{order}.kept"] = np.array(
            all(np.array_equal(codes[key].view("u1"), again[key].view("u1")) for key in codes)
        )
        for part, stored in parts(rows, inner, suffix, types[name].info).items():
            counts = checks.count_broken(stored, types[name], part, **how)
            for text, count in counts.items():
                found = checks.find_broken(stored, types[name], text, 99, part, **how)
                made[f"{name}.{order}.broken.{part}.{text}"] = np.array([(count, 0), *found])
    made[f"{name}.swapped"] = blocks.byteswap(rows, name)
np.savez(target, **made)
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with all the types added to its spec."""
    folder = tmp_path_factory.mktemp("made_up")
    return checkout(folder, TYPES, (MADE_UP / "tables").iterdir())


@pytest.fixture(scope="module")
def spec(tree: Path) -> Spec:
    return load_spec(tree / "spec")


@pytest.fixture(scope="module")
def stored(tree: Path, spec: Spec) -> Path:
    """Random rows of every type, and tensors' suffixes."""
    rng = np.random.default_rng(0)
    arrays = {}
    for name in NAMES:
        kind = spec.type(name)
        width = kind.prefix_bytes + BLOCKS * kind.bytes
        arrays[f"{name}.rows"] = rng.integers(0, 256, (ROWS, width), np.uint8)
        if kind.suffix_bytes:
            arrays[f"{name}.suffix"] = rng.integers(0, 256, kind.suffix_bytes, np.uint8)
    np.savez(tree / "stored.npz", **arrays)
    return tree / "stored.npz"


@pytest.fixture(scope="module")
def library(tree: Path, spec: Spec) -> Path:
    """The C of the added types, compiled as CMakeLists.txt does it; warnings are errors."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("no C compiler")
    generate.write(tree / "native/generated", generate.make_copy(spec, "c", NAMES))
    here, runtime = tree / "native/generated/c", ROOT / "runtime/c"
    kernels = sorted([*here.glob("kernels*.c"), *here.glob("kernels/*.c")])
    others = sorted({*here.glob("*.c"), runtime / "version.c"} - {*kernels})
    have = [f"-DGGUFSPEC_HAVE_{name.upper()}=1" for name in VARIANTS]
    parts = {"others": (others, [*have, f'-DGGUFSPEC_SPEC_VERSION="{spec.version}"'])}
    for name, flags in VARIANTS.items():
        parts[name] = (kernels, [f"-DGGUFSPEC_VARIANT={name}", *flags])
    options = ["-std=c11", "-O1", "-ffp-contract=off", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    objects = []
    for name, (sources, flags) in parts.items():
        # One translation unit a variant: the headers' vectors cost more than the kernels.
        whole = tree / f"native/{name}.c"
        whole.write_text("".join(f'#include "{path}"\n' for path in sources), encoding="utf-8")
        objects.append(whole.with_suffix(".o"))
        command = [compiler, *options, *flags, f"-I{here}", f"-I{runtime}"]
        compiled = [*command, "-c", str(whole), "-o", str(objects[-1])]
        done = subprocess.run(compiled, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    target = tree / "native/libmade_up.so"
    subprocess.run([compiler, "-shared", *objects, "-lm", "-o", target], check=True)
    return target


def run(tree: Path, stored: Path, backend: str, **environment: str) -> Results:
    target = tree / f"{backend}.npz"
    run_in(tree, RUN, str(stored), str(target), backend, **environment)
    found: dict[str, dict[str, npt.NDArray[Any]]] = {}
    with np.load(target) as file:
        for key, array in file.items():
            name, _, rest = key.partition(".")
            found.setdefault(name, {})[rest] = array
    return found


@pytest.fixture(scope="module")
def numpy_results(tree: Path, stored: Path) -> Results:
    return run(tree, stored, "numpy", GGUFSPEC_NATIVE="0")


@pytest.fixture(scope="module")
def run_native(tree: Path, stored: Path, library: Path) -> Callable[[str], Results]:
    def run_variant(name: str) -> Results:
        environment = {"GGUFSPEC_NATIVE": "1", "GGUFSPEC_LIBRARY": str(library)}
        try:
            return run(tree, stored, name, **environment)
        except AssertionError as error:
            if "no such variant here" in str(error):
                pytest.skip(f"this processor does not run {name}")
            raise

    return run_variant


def blocks_of(spec: Spec, name: str, stored: Path, order: str) -> Iterator[interpreter.Stored]:
    kind = spec.type(name)
    with np.load(stored) as file:
        rows = file[f"{name}.rows"]
        suffix = file[f"{name}.suffix"].tobytes() if kind.suffix_bytes else b""
    for row in rows:
        prefix, inner = row[: kind.prefix_bytes], row[kind.prefix_bytes :]
        for block in inner.reshape(-1, kind.bytes):
            yield interpreter.Stored(block.tobytes(), prefix.tobytes(), suffix, order)


def test_numpy(tree: Path, spec: Spec, stored: Path, numpy_results: Results) -> None:
    """Elements, codes and packed bytes are the interpreter's, in both byte orders."""
    for name in NAMES:
        path = tree / f"spec/types/{name.lower()}.yaml"
        kind = interpreter.read(path, tree / "spec")
        for order in ("little", "big"):
            blocks = list(blocks_of(spec, name, stored, order))
            results = numpy_results[name]
            elements = np.stack([interpreter.decode(kind, block) for block in blocks])
            elements = elements.reshape(ROWS, -1)
            assert first_difference(results[f"{order}.x"], elements) is None, name

            expected = [interpreter.unpack(kind, block) for block in blocks]
            start = f"{order}.codes."
            codes = {key: array for key, array in results.items() if key.startswith(start)}
            assert list(codes) == [start + code for code in expected[0]], name
            for key, array in codes.items():
                code = key.removeprefix(start)
                found = interpreter.integers(array)
                assert found == [block[code] for block in expected], (name, key)

            broken = [interpreter.broken(kind, block) for block in blocks]
            steps = {"block": 1, "row": BLOCKS, "tensor": len(blocks)}
            start, told = f"{order}.broken.", set[str]()
            for key in (key for key in results if key.startswith(start)):
                part, text = key.removeprefix(start).split(".", 1)
                expected_count = sum(counts.pop(text) for counts in broken[:: steps[part]])
                assert results[key][0, 0] == expected_count, (name, key)
                assert len(results[key]) == 1 + min(99, expected_count)
                told.add(text)
            left = {text for counts in broken for text, count in counts.items() if count} - told
            assert not left, f"broken and not told: {left}"

            assert results[f"{order}.kept"], f"packing keeps every code of {name}"
            if exact(spec, name):
                packed = [row.tobytes() for row in results[f"{order}.packed"]]
                assert packed == [block.block for block in blocks], name


def exact(spec: Spec, name: str) -> bool:
    """Whether every byte is claimed bit by bit: no pad, no base-3 digits."""
    kind = spec.type(name)
    claimed = sum(field.total * field.scalar.bytes for field in kind.fields)
    return claimed == kind.bytes and "trit(" not in TYPES[f"{name.lower()}.yaml"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_native(variant: str, numpy_results: Results, run_native: Callable[[str], Results]) -> None:
    """The compiled kernels give the same arrays, bit for bit."""
    results = run_native(variant)
    assert list(results) == list(numpy_results)
    for name, arrays in numpy_results.items():
        assert list(results[name]) == list(arrays), name
        for key, expected in arrays.items():
            found = results[name][key]
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (name, key)
            if key.endswith(".x"):
                assert first_difference(found, expected) is None, (name, key)
            else:
                assert found.tobytes() == expected.tobytes(), (name, key)


def test_other_types_stay(tree: Path) -> None:
    """Adding types changes no file of the types that were there."""
    before, added = ROOT / "generated", {Path(name).stem for name in TYPES}
    own = {path.stem for path in (ROOT / "spec/types").glob("*.yaml")}
    for folder in ("numpy", "c/kernels"):
        files = {path.name: path for path in (tree / "generated" / folder).glob("*.*")}
        assert added <= {path.stem for path in files.values()}
        for path in (before / folder).glob("*.*"):
            if path.stem in own:
                assert files[path.name].read_bytes() == path.read_bytes(), path.name
