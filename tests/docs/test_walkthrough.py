"""Adding a type by docs/tutorials/add-a-type.md, from start to end.

Here: a made-up type is generated, printed and quantized to; Q2_0 is taken out of the spec, found
missing, drafted, finished as the page does it, generated and proved against a built ggml. That all
languages and the compiled kernels decode both types as the interpreter does is asked in
tests/languages/test_made_up.py and tests/codegen/test_made_up.py, whose trees hold them, too.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from ggufspec.codegen import generate
from ggufspec.codegen.commands import register
from ggufspec.codegen.errors import SpecError
from ggufspec.codegen.recipes import load_recipes
from ggufspec.codegen.spec import Spec, load_spec
from ggufspec.codegen.tools import load_tools
from support import interpreter, oracle, realfiles
from support.project import ROOT, SPEC
from support.specs import run_in
from support.walkthrough import NAMING, PAGE, fenced, given, put_back, q2_0, spec_without_q2_0, t3_0
from vectors import blocks
from vectors.storage import kinds

Run = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    """`ggufspec WORDS...` in this process."""
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)

    def command(*words: str | Path) -> Any:
        return CliRunner().invoke(app, [str(word) for word in words])

    return command


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout without Q2_0 and with T3_0, all targets generated."""
    folder = tmp_path_factory.mktemp("walk")
    root = spec_without_q2_0(folder)
    (root / "types/t3_0.yaml").write_text(t3_0(), encoding="utf-8")
    generate.write(folder / "generated", generate.make_all(folder))
    return folder


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of llama.cpp, as far as it is read."""
    return realfiles.llama_checkout(tmp_path_factory.mktemp("llama.cpp"))


@pytest.fixture(scope="module")
def library() -> Path:
    """The folder of a built libggml."""
    return oracle.library_path().parent


# ---- a made-up type


def test_the_readme_says_the_same() -> None:
    assert given("name: T3_0") in fenced(ROOT / "README.md", "yaml")


def test_every_target_has_it(tree: Path) -> None:
    """The files of a type, in every folder that has files of types."""
    made = json.loads((tree / "generated/MANIFEST.json").read_text())["files"]
    ours = json.loads((ROOT / "generated/MANIFEST.json").read_text())["files"]
    named = {path for path in ours if re.search(r"(?i)(?<![a-z])q8_0|BlockQ8_0", path)}
    expected = {path.replace("q8_0", "t3_0").replace("Q8_0", "T3_0") for path in named}
    assert len(expected) > 6
    assert expected <= set(made)


def test_the_python_prints_what_the_page_says(tree: Path) -> None:
    (program,) = (text for text in fenced(PAGE, "python") if "T3_0" in text)
    (printed,) = (text for text in fenced(PAGE, "text") if text.startswith("[-2."))
    assert run_in(tree, program, GGUFSPEC_NATIVE="0") == printed


def test_both_quantizers_write_it(tree: Path) -> None:
    """NumPy's and the compiled one's bytes are the rule of the page, carried out here."""
    compiler = next((name for name in ("cc", "gcc", "clang") if shutil.which(name)), None)
    if compiler is None:
        pytest.skip("no C compiler")
    made, library = tree / "generated/c", tree / "t3_0.so"
    options = ["-std=c11", "-O1", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Werror"]
    include = [f"-I{made}", f"-I{ROOT / 'runtime/c'}", "-DGGUFSPEC_VARIANT=one"]
    source = made / "kernels/quantize/t3_0.c"
    command = [compiler, *options, *include, source, "-lm", "-o", library]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    x = np.random.default_rng(0).standard_normal((50, 32), np.float32)
    native = np.zeros((50, 14), np.uint8)
    run = ctypes.CDLL(str(library)).ggufspec_quantize_t3_0_one
    run.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float]
    run(x.ctypes.data, native.ctypes.data, len(x), None, 0)

    np.save(tree / "x.npy", x)
    script = """
import sys
import numpy as np
import ggufspec
np.save(sys.argv[2], ggufspec.quantize(np.load(sys.argv[1]), "T3_0"))
"""
    run_in(tree, script, str(tree / "x.npy"), str(tree / "y.npy"), GGUFSPEC_NATIVE="0")
    assert np.array_equal(np.load(tree / "y.npy"), native)

    kind = interpreter.read(tree / "spec/types/t3_0.yaml", tree / "spec")
    scale = np.abs(x).max(axis=1, keepdims=True) / np.float32(3)
    levels = np.rint(x / scale).astype(int) + 4
    for block, d, row in zip(native, scale[:, 0], levels, strict=True):
        assert block[:2].tobytes() == np.float16(d).tobytes()
        codes = interpreter.unpack(kind, interpreter.Stored(block.tobytes()))
        assert codes["q"] == row.tolist()


# ---- Q2_0

LOADED: Mapping[str, Callable[[Spec], object]] = {
    "recipes/file_types.yaml": load_recipes,
    "recipes/rules.yaml": load_recipes,
    "tools.yaml": load_tools,
}


def test_what_names_a_type_does_not_load_without_it(tmp_path: Path) -> None:
    """Each in turn, with its place: the recipes, and the types that tools know."""
    root = spec_without_q2_0(tmp_path)
    spec = load_spec(root)
    for name in NAMING:
        before = (root / name).read_text(encoding="utf-8")
        shutil.copy(SPEC / name, root / name)
        with pytest.raises(SpecError, match="Q2_0") as caught:
            LOADED[name](spec)
        assert caught.value.file == name
        (root / name).write_text(before, encoding="utf-8")


def test_walk(run: Run, tmp_path: Path, llama: Path, library: Path) -> None:
    spec = spec_without_q2_0(tmp_path)
    target = spec / "types/q2_0.yaml"

    # 1. See what changed.
    sources = ("--ggml", llama, "--library", library, "--spec-dir", spec)
    checked = run("upstream", "check", *sources, "--json")
    assert checked.exit_code == 1
    first, second = json.loads(checked.stdout)["sources"]
    found = [(one["kind"], one["name"], one["theirs"]) for one in first["drift"]]
    kind = ("type-new", "Q2_0", "id 42, 64 weights in 18 bytes")
    assert found == [kind, ("file-type-new", "Q2_0", "41")]
    assert [(one["kind"], one["name"], one["theirs"]) for one in second["drift"]] == [kind]
    drafted = run("upstream", "draft", "Q2_0", *sources, "-o", target)
    assert drafted.exit_code == 0, drafted.output

    # 2. Finish the draft: take the proposal, fill in the TODO lines with the page's.
    text, done = target.read_text(encoding="utf-8"), q2_0()
    for name in ("order", "codes", "  q"):
        proposed = re.search(rf"(?m)^# ({name}:.*)$", text)
        assert proposed
        assert proposed[1] in done.splitlines()
    kept = [line for line in text.splitlines() if not line.startswith("#") and "TODO" not in line]
    assert set(kept) <= set(done.splitlines())
    target.write_text(done, encoding="utf-8")
    put_back(spec)

    # 3. Generate: that is what this checkout has, but for the names of the axes.
    _same_but_axes(generate.make_all(tmp_path))

    # 5. Hold it against ggml.
    verified = run("upstream", "verify", "Q2_0", "--library", library, "--spec-dir", spec, "--json")
    (verdict,) = json.loads(verified.stdout)
    assert (verified.exit_code, verdict["ok"], verdict["skipped"]) == (0, True, [])
    assert verdict["blocks"] >= 2000
    assert verdict["rows"]
    assert run("upstream", "check", *sources).exit_code == 0

    # The vectors are those that every language has to answer.
    version = (spec / "VERSION").read_text(encoding="utf-8").strip()
    (kind_file,) = (one for one in kinds(spec) if one.name == "Q2_0")
    ours = (SPEC / "conformance/blocks/q2_0.txt").read_text(encoding="utf-8")
    assert blocks.text(kind_file, version) == ours


def _same_but_axes(made: Mapping[str, str]) -> None:
    """Every file is the checked-in one; ours calls the axes of Q2_0 b and j, the draft a and l."""

    def renamed(line: str) -> str:
        return re.sub(r"\b(i_)?([al])\b", lambda m: f"{m[1] or ''}{'bj'['al'.index(m[2])]}", line)

    changed = set()
    for path in sorted(set(made) - {"MANIFEST.json"}):
        ours = (ROOT / "generated" / path).read_text(encoding="utf-8").splitlines()
        theirs = made[path].splitlines()
        assert len(ours) == len(theirs), path
        for old, new in zip(ours, theirs, strict=True):
            if old == new or ", inputs " in old:
                continue  # the hash of the spec's files stands in the header
            changed.add(path)
            assert renamed(old) == renamed(new), path
    assert {"numpy/q2_0.py", "c/kernels/q2_0.c", "rust/src/kernels/q2_0.rs"} <= changed
    assert not {path for path in changed if "kernels" in path and "q2_0" not in path.lower()}
    manifest = json.loads((ROOT / "generated/MANIFEST.json").read_text(encoding="utf-8"))
    assert set(manifest["files"]) == set(made) - {"MANIFEST.json"}
