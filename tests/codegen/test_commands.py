"""``ggufspec generate``: what it writes, reports and refuses, and its exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from ggufspec.codegen import generate
from ggufspec.codegen.commands import register
from ggufspec.codegen.generate import SUPPORT
from ggufspec.codegen.targets import TARGETS
from support.project import ROOT, SPEC
from support.specs import small_tree

DONE, FAILED, USAGE = 0, 1, 2


def run(*arguments: str | Path) -> Any:
    app = typer.Typer()
    app.callback()(lambda: None)
    register(app)
    return CliRunner().invoke(app, ["generate", *map(str, arguments)])


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A checkout of four types and three targets, small so that the tests are quick."""
    folder = tmp_path_factory.mktemp("tree")
    names = ("q4_0", "q4_1", "q5_0", "q8_0")
    small_tree(folder, {f"types/{n}.yaml": (SPEC / f"types/{n}.yaml").read_bytes() for n in names})
    targets = {name: TARGETS[name] for name in ("c", "numpy", "registry")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "TARGETS", targets)
        generate.write(folder / "generated", generate.make_all(folder))
        yield folder


@pytest.fixture
def stale(tree: Path) -> Any:
    """The tree with one file edited, one lost, one too many, one with other line ends."""
    generated = tree / "generated"
    edited, lost, ends = (generated / f"numpy/{n}.py" for n in ("q4_0", "q8_0", "q5_0"))
    kept = {path: path.read_bytes() for path in (edited, lost, ends)}
    edited.write_bytes(kept[edited].replace(b"q", b"Q", 1))
    ends.write_bytes(kept[ends].replace(b"\n", b"\r\n"))
    lost.unlink()
    (generated / "numpy/stray.py").write_bytes(b"\xff\x00")
    yield tree
    (generated / "numpy/stray.py").unlink(missing_ok=True)
    for path, content in kept.items():
        path.write_bytes(content)


def test_fresh_tree(tree: Path) -> None:
    result = run("--check", "--root", tree)
    assert (result.exit_code, result.stdout) == (DONE, "everything is fresh\n")
    result = run("--fix", "--root", tree)
    assert (result.exit_code, result.stdout) == (DONE, "0 files written\n")


def test_check_reports_and_changes_nothing(stale: Path) -> None:
    before = {path: path.read_bytes() for path in stale.rglob("*") if path.is_file()}
    result = run("--check", "--root", stale)
    assert result.exit_code == FAILED
    for line in (
        "--- numpy/q4_0.py (on disk)",
        "+++ numpy/q4_0.py (from spec)",
        "--- numpy/q8_0.py (on disk)",
        "numpy/q5_0.py: differs in line ends",
        "numpy/stray.py: nothing generates it",
        "To mend it: ggufspec generate --fix",
    ):
        assert line in result.stdout.splitlines(), line
    assert "q4_1" not in result.stdout
    assert before == {path: path.read_bytes() for path in stale.rglob("*") if path.is_file()}


def test_fix_mends_only_what_is_stale(stale: Path) -> None:
    untouched = stale / "generated/numpy/q4_1.py"
    time = untouched.stat().st_mtime_ns
    result = run("--root", stale)
    assert result.exit_code == DONE
    assert result.stdout.splitlines() == [
        *(f"numpy/{name}.py" for name in ("q4_0", "q5_0", "q8_0", "stray")),
        "4 files written",
    ]
    assert untouched.stat().st_mtime_ns == time
    assert not (stale / "generated/numpy/stray.py").exists()
    assert run("--check", "--root", stale).exit_code == DONE


def test_json(stale: Path) -> None:
    result = run("--check", "--json", "--root", stale)
    report = json.loads(result.stdout)
    assert result.exit_code == FAILED
    assert report["fresh"] is False
    assert len(report["found"]) == 4
    written = json.loads(run("--json", "--root", stale).stdout)
    assert len(written["written"]) == 4
    assert json.loads(run("--check", "--json", "--root", stale).stdout)["fresh"] is True


def test_nearest_checkout(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "spec/types")
    assert run("--check").stdout == "everything is fresh\n"


def test_outside_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--check looks at the installed package; --fix has nothing to work on."""
    monkeypatch.chdir(tmp_path)
    assert run("--check").exit_code in {DONE, FAILED}
    result = run("--fix")
    assert result.exit_code == USAGE
    assert "no checkout around this folder" in _plain(result.stderr)


def test_fault_in_the_spec(tree: Path) -> None:
    path = tree / "spec/types/q4_0.yaml"
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text(text.replace("bytes: 18", "bytes: 20"), encoding="utf-8")
        message = "types/q4_0.yaml:7: bytes: the fields add up to 18, not 20"
        for option in ("--check", "--fix"):
            result = run(option, "--root", tree)
            assert (result.exit_code, result.stdout) == (FAILED, "")
            assert result.stderr == f"error: {message}\n"
        report = json.loads(run("--json", "--root", tree).stdout)["error"]
        assert report == {
            "message": "the fields add up to 18, not 20",
            "file": "types/q4_0.yaml",
            "line": 7,
            "path": "bytes",
        }
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--check", "--fix"], "--check and --fix exclude each other"),
        (["--target", "numpy"], "need --out DIR"),
        (["--types", "Q4_0"], "need --out DIR"),
        (["--spec-dir", "."], "need --out DIR"),
        (["--out", "copy"], "has no MANIFEST.json of an earlier"),
        (["--check", "--out", "copy"], "has no MANIFEST.json of an earlier"),
        (["--out", "copy", "--target", "cobol"], "--target is one of"),
        (["--out", "copy", "--target", "numpy", "--types", "Q4_0,Q9_9"], "no type Q9_9"),
        (["--out", "copy", "--root", "."], "--root and --out exclude each other"),
        (["--root", "nowhere"], "nowhere has no spec/VERSION"),
    ],
)
def test_wrong_usage(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == USAGE
    assert message in _plain(result.stderr)
    assert not list(tmp_path.iterdir()), "wrong usage writes nothing"


def test_copy_for_another_project(tmp_path: Path, tree: Path) -> None:
    """One target of some types; the copy's manifest knows how it was made."""
    out = tmp_path / "copy"
    spec = tree / "spec"
    of = ("--spec-dir", spec)
    result = run("--target", "numpy", "--out", out, "--types", "Q4_0,q8_0", *of)
    assert result.exit_code == DONE
    made = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    assert [name for name in made if name.startswith("numpy/q")] == [
        "numpy/q4_0.py",
        "numpy/q8_0.py",
    ]
    assert "MANIFEST.json" in made
    (out / "mine.txt").write_text("a file of the project", encoding="utf-8")
    assert run("--check", "--out", out, *of).stdout == "everything is fresh\n"

    types = spec / "types/q8_0.yaml"
    text = types.read_text(encoding="utf-8")
    try:
        types.write_text(text.replace("8-bit, one scale", "another word"), encoding="utf-8")
        stale = run("--check", "--out", out, *of)
        assert stale.exit_code == FAILED
        assert "--- numpy/q8_0.py (on disk)" in stale.stdout
        assert "q4_0.py (" not in stale.stdout
        assert stale.stdout.endswith(f"To mend it: ggufspec generate --out {out}\n")
        assert run("--out", out, *of).exit_code == DONE
        assert run("--check", "--out", out, *of).exit_code == DONE
    finally:
        types.write_text(text, encoding="utf-8")
    assert run("--check", "--out", out, *of).exit_code == FAILED
    assert (out / "mine.txt").is_file(), "files of the project stay"


@pytest.mark.parametrize("name", ["c", "numpy"])
def test_target_equals_the_checkout(name: str, tmp_path: Path, tree: Path) -> None:
    """What a copy of a whole target holds is byte for byte what stands in generated/."""
    assert run("--target", name, "--out", tmp_path, "--spec-dir", tree / "spec").exit_code == DONE
    made = [p for p in tmp_path.rglob("*") if p.is_file() and p.name != "MANIFEST.json"]
    assert made
    for path in made:
        there = tree / "generated" / path.relative_to(tmp_path)
        if path.name in SUPPORT.get(name, ()):
            there = ROOT / "runtime" / path.relative_to(tmp_path)
        assert path.read_bytes() == there.read_bytes(), path.name


def test_copy_of_the_c_target_compiles_by_itself(tmp_path: Path) -> None:
    """With the options that the README gives, it decodes a row."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    assert run("--target", "c", "--out", tmp_path, "--types", "Q4_0,F16").exit_code == DONE
    main = tmp_path / "main.c"
    main.write_text(
        """#include <stdio.h>
        #include "dispatch.h"
        int main(void) {
            const uint8_t row[18] = {0x00, 0x3c, 0x0f};
            float x[32];
            for (int i = 0; i < ggufspec_type_count; i++)
                if (ggufspec_types[i].id == 2 && ggufspec_dequantize(i, 0, row, x, 1, 1, NULL) == 0)
                    printf("%g %g %g\\n", x[0], x[1], x[16]);
            return 0;
        }
        """
    )
    sources = [str(path) for path in (tmp_path / "c").rglob("*.c")]
    options = ["-std=c11", "-O3", "-ffp-contract=off", "-DGGUFSPEC_VARIANT=baseline"]
    options += ["-DGGUFSPEC_HAVE_BASELINE=1", f"-I{tmp_path / 'c'}", "-Wall", "-Wextra", "-Werror"]
    program = tmp_path / "program"
    subprocess.run([compiler, *options, str(main), *sources, "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, check=True, text=True)
    assert done.stdout == "7 -8 -8\n"


def _plain(text: str) -> str:
    """A usage error without the frame and line breaks that rich puts around it."""
    return " ".join("".join(" " if c in "│╭╮╰╯─|" else c for c in text).split())
