"""Killed at every step: never a broken file under the final name, nothing lost.

Each run is forked from one process, which makes the system calls of the edit one by one and ends
itself, as SIGKILL does, in front of the call of a given number or in the middle of a write.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, EditError, carry_out, plan_edit, recover
from ggufspec.files.undo import undo_path

DRIVER = """
import json, os, shutil, signal, sys
from pathlib import Path
import ggufspec
from ggufspec import Value
from ggufspec.edits import Draft, carry_out, plan_edit, recover
import ggufspec.edits.transfer, ggufspec.edits.beside, ggufspec.edits.in_place
import io, fcntl

folder, original, key, kind, value, way, action = sys.argv[1:]
value = json.loads(value)

def work(path, stop_at, log):
    count = 0
    def step(name, act, *arguments, half=None):
        nonlocal count
        count += 1
        log(name)
        if count == stop_at:
            if half is not None:
                half()
            os.kill(os.getpid(), signal.SIGKILL)
        return act(*arguments)
    def wrap(holder, name, half=None):
        original = getattr(holder, name)
        def wrapped(*arguments, **options):
            act = lambda: original(*arguments, **options)
            middle = (lambda: half(original, *arguments)) if half else None
            return step(name, act, half=middle)
        setattr(holder, name, wrapped)
    def half_pwrite(original, file, data, at):
        original(file, bytes(data[: max(1, len(data) // 2)]), at)
    for name in ("fsync", "ftruncate", "replace", "rename", "unlink", "link", "truncate"):
        wrap(os, name)
    wrap(os, "pwrite", half_pwrite)
    wrap(os, "copy_file_range", lambda original, s, t, n, a, b: original(s, t, n // 2, a, b))
    wrap(fcntl, "ioctl")
    real_fdopen = os.fdopen
    class Watched(io.BufferedWriter):
        def write(self, data):
            def half():
                io.BufferedWriter.write(self, bytes(data[: len(data) // 2]))
                self.flush()
            return step("write", lambda: io.BufferedWriter.write(self, data), half=half)
        def flush(self):
            return step("flush", lambda: io.BufferedWriter.flush(self))
    def fdopen(descriptor, mode="r", *arguments, **options):
        if mode == "wb":
            return Watched(io.FileIO(descriptor, "wb"))
        return real_fdopen(descriptor, mode, *arguments, **options)
    os.fdopen = fdopen
    if action == "recover":
        recover(path, "old" if value == "old" else "new")
        return
    with Draft.open(path) as draft:
        draft.set(key, Value(kind, value))
        plan = plan_edit(draft, in_place=way == "in place")
        assert plan.way == way, (plan.way, plan.why_not)
        carry_out(plan)

results = []
for number in range(1, 400):
    target = Path(folder) / f"{number}"
    if action != "recover":
        target.mkdir()
        shutil.copy(original, target / "m.gguf")
    else:
        shutil.copytree(original, target)
    names = os.open(Path(folder) / f"{number}.log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    child = os.fork()
    if not child:
        try:
            work(target / "m.gguf", number, lambda name: os.write(names, name.encode() + b" "))
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(names)
    results.append(status)
    if status == 0:
        break
print(json.dumps(results))
"""


def sweep(
    folder: Path, original: Path, way: str, *, value: object = "y" * 40, action: str = "edit"
) -> list[Path]:
    """Folders of runs that were killed at step 1, 2, ..., and of one that came to its end."""
    arguments = [
        str(folder), str(original), "general.name", "STRING", json.dumps(value), way, action,
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, *arguments],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert results[-1] == 0, done.stderr
    assert set(results[:-1]) == {9}, done.stderr
    return [folder / str(number) for number in range(1, len(results) + 1)]


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
    steps = (folder / f"{last.name}.log").read_text().split()
    steps = [name for name in steps if name not in ("write", "flush")]
    assert steps in (
        ["fsync", "link", "unlink", "fsync", "pwrite", "fsync", "unlink", "fsync"],
        ["fsync", "rename", "fsync", "pwrite", "fsync", "unlink", "fsync"],
    )
