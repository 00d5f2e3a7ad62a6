"""Killed at every step: never a broken file under the final name, nothing lost.

Each run ends itself, as SIGKILL does, in front of the system call of a given number or in the
middle of a write; see `support.kills`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, carry_out, plan_edit, recover
from ggufspec.files.undo import undo_path
from support import kills

PROGRAM = """
from ggufspec import Value
from ggufspec.edits import Draft, carry_out, plan_edit, recover

key, kind, value, way, action = arguments
value = json.loads(value)

def work(folder):
    path = folder / "m.gguf"
    if action == "recover":
        recover(path, "old" if value == "old" else "new")
        return
    with Draft.open(path) as draft:
        draft.set(key, Value(kind, value))
        plan = plan_edit(draft, in_place=way == "in place")
        assert plan.way == way, (plan.way, plan.why_not)
        carry_out(plan)
"""


def sweep(
    folder: Path, original: Path, way: str, *, value: object = "y" * 40, action: str = "edit"
) -> list[Path]:
    """Folders of runs that were killed at step 1, 2, ..., and of one that came to its end.

    original: a file, or a folder with one.
    """
    if original.is_file():
        start = folder.with_name(f"{folder.name}-start")
        start.mkdir()
        shutil.copy(original, start / "m.gguf")
        original = start
    arguments = ("general.name", "STRING", json.dumps(value), way, action)
    return kills.sweep(folder, original, PROGRAM, *arguments)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "original.gguf"
    rng = np.random.default_rng(1)
    tensors = {f"blk.{n}.w": rng.standard_normal((8, 33), np.float32) for n in range(4)}
    ggufspec.write(path, {"general.architecture": "llama", "general.name": "x" * 40}, tensors)
    return path


def after(model: Path, way: str, value: str) -> bytes:
    """The file as an edit that nobody interrupts leaves it."""
    path = model.with_name("expected.gguf")
    path.write_bytes(model.read_bytes())
    with Draft.open(path) as draft:
        draft.set("general.name", Value("STRING", value))
        carry_out(plan_edit(draft, in_place=way == "in place"))
    return path.read_bytes()


@pytest.mark.parametrize("value", ["y" * 40, "y" * 400, "y"], ids=len)
def test_beside(model: Path, tmp_path: Path, value: str) -> None:
    old, new = model.read_bytes(), after(model, "beside", value)
    folder = tmp_path / "runs"
    folder.mkdir()
    runs = sweep(folder, model, "beside", value=value)
    states = []
    for run in runs:
        states.append((run / "m.gguf").read_bytes())
        assert states[-1] in (old, new)
        assert not undo_path(run / "m.gguf").exists()
        for other in run.iterdir():
            assert other.name == "m.gguf" or other.suffix == ".ggufspec-tmp"
    assert states[0] == old
    assert states[-1] == new
    assert len(runs) > 8
    assert [path.name for path in runs[-1].iterdir()] == ["m.gguf"]


@pytest.mark.parametrize("value", ["y" * 40, "y" * 7], ids=len)
@pytest.mark.parametrize("state", ["old", "new"])
def test_in_place(model: Path, tmp_path: Path, value: str, state: str) -> None:
    states = {"old": model.read_bytes(), "new": after(model, "in place", value)}
    folder = tmp_path / "runs"
    folder.mkdir()
    seen = []
    for run in sweep(folder, model, "in place", value=value):
        path = run / "m.gguf"
        undo = undo_path(path).exists()
        found = path.read_bytes()
        if undo:
            with pytest.raises(ggufspec.GGUFError, match="has not been removed"):
                ggufspec.open(path)
            recover(path, "old" if state == "old" else "new")
            assert path.read_bytes() == states[state]
            assert not undo_path(path).exists()
        else:
            assert found in states.values()
            with pytest.raises(EditError, match="nothing to recover"):
                recover(path)
        seen.append((undo, found == states["old"], found == states["new"]))
        with ggufspec.open(path) as file:
            assert len(file.tensors) == 4
    assert seen[0] == (False, True, False)  # before the undo file
    assert (True, True, False) in seen  # the undo file alone
    assert (True, False, False) in seen  # neither old nor new
    assert (True, False, True) in seen  # done, and the undo file still there
    assert seen[-1] == (False, False, True)


def test_in_place_without_data(tmp_path: Path) -> None:
    """The file grows or shrinks; killed in between it is neither, and recovers."""
    path = tmp_path / "vocabulary.gguf"
    ggufspec.write(path, {"general.name": "x" * 300, "a.b": "z" * 300})
    for value in ("y" * 5000, "y"):
        states = {"old": path.read_bytes(), "new": after(path, "in place", value)}
        for state, expected in states.items():
            folder = tmp_path / f"runs-{len(value)}-{state}"
            folder.mkdir()
            for run in sweep(folder, path, "in place", value=value):
                if undo_path(run / "m.gguf").exists():
                    recover(run / "m.gguf", "old" if state == "old" else "new")
                    assert (run / "m.gguf").read_bytes() == expected
                assert (run / "m.gguf").read_bytes() in states.values()


@pytest.mark.parametrize("state", ["old", "new"])
def test_recover_is_killed_too(model: Path, tmp_path: Path, state: str) -> None:
    states = {"old": model.read_bytes(), "new": after(model, "in place", "y" * 40)}
    folder = tmp_path / "runs"
    folder.mkdir()
    torn = next(
        run
        for run in sweep(folder, model, "in place")
        if (run / "m.gguf").read_bytes() not in states.values()
    )
    again = tmp_path / "again"
    again.mkdir()
    for run in sweep(again, torn, "in place", value=state, action="recover"):
        path = run / "m.gguf"
        if undo_path(path).exists():
            recover(path, "old" if state == "old" else "new")
        assert path.read_bytes() == states[state]
        assert [entry.name for entry in run.iterdir()] == ["m.gguf"]


def test_order_of_an_edit_in_place(model: Path, tmp_path: Path) -> None:
    """The undo file is on the disk before the file changes, and the file before that goes."""
    folder = tmp_path / "runs"
    folder.mkdir()
    last = sweep(folder, model, "in place")[-1]
    steps = [name for name in kills.steps_of(last) if name not in ("write", "flush")]
    assert steps in (
        ["fsync", "link", "unlink", "fsync", "pwrite", "fsync", "unlink", "fsync"],
        ["fsync", "rename", "fsync", "pwrite", "fsync", "unlink", "fsync"],
    )
