"""`split`, `merge` and `meta set`, killed: no broken file has a final name, and nothing is lost.

By step: the command line in forked processes that end as SIGKILL ends them, in front of each system
call that changes a disk or in the middle of it (`support.kills`). By time: processes of their own,
and the real signal. What edits do at each step is in tests/edits.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from ggufspec.edits import recover
from ggufspec.files.atomic import SUFFIX
from ggufspec.files.undo import undo_path
from ggufspec.jobs.sets import merge, split
from support import kills, realfiles

PROGRAM = """
from ggufspec.cli import main

def work(folder):
    os.chdir(folder)
    sys.argv = ["ggufspec", *arguments]
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
"""

SPLIT = ("split", "m.gguf", "set", "--max-tensors", "2", "--no-tensor-first-split")
MERGE = ("merge", "set-00002-of-00003.gguf", "m.gguf")
SET = ("meta", "set", "m.gguf", "general.name=" + "y" * 100)
IN_PLACE = (*SET[:-1], "general.name=" + "y" * 300, "--in-place")

State = Mapping[str, bytes]


def write_model(folder: Path, seed: int = 1, size: int = 100) -> Path:
    rng = np.random.default_rng(seed)
    tensors = {f"t{n}": rng.standard_normal((7, size), np.float32) for n in range(4)}
    path = folder / "m.gguf"
    ggufspec.write(path, {"general.architecture": "llama", "general.name": "x" * 300}, tensors)
    return path


def write_set(folder: Path, seed: int = 1, size: int = 100) -> None:
    path = write_model(folder, seed, size)
    split(path, folder / "set", max_tensors=2, tensorless_first=True)
    path.unlink()


def state(folder: Path) -> dict[str, bytes]:
    """The files that have their names; of others there are only those in the making."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != SUFFIX}


def uninterrupted(start: Path, folder: Path, arguments: tuple[str, ...]) -> State:
    """The state that a command leads to, alone."""
    shutil.copytree(start, folder)
    done = subprocess.run(
        [sys.executable, "-m", "ggufspec", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not [path.name for path in folder.iterdir() if path.suffix == SUFFIX]
    return state(folder)


def check_split(found: State, before: State, after: State) -> None:
    """Each file is whole, and where the first is, all are, of one set."""
    first = "set-00001-of-00003.gguf"
    assert found["m.gguf"] == before["m.gguf"]
    assert found.keys() <= after.keys()
    for name, data in found.items():
        assert data in (before.get(name), after[name])
    if first in found:
        assert found in (before, after)


def check_whole(found: State, before: State, after: State) -> None:
    """One file is written: it is as before or as it shall be, and the others are as they were."""
    assert found in (before, after)


def check_in_place(folder: Path, before: State, after: State) -> None:
    """With an undo file both states can be had, byte for byte; without, it is one of them."""
    path = folder / "m.gguf"
    if not undo_path(path).exists():
        check_whole(state(folder), before, after)
        return
    with pytest.raises(ggufspec.GGUFError, match="has not been removed"):
        ggufspec.open(path)
    other = folder.with_name(f"{folder.name}-other")
    shutil.copytree(folder, other)
    recover(path, "old")
    recover(other / "m.gguf", "new")
    assert state(folder) == before
    assert state(other) == after


def start_with(folder: Path, kind: str) -> Path:
    """The files that a run starts with: a model, a set, or with old outputs too."""
    folder.mkdir()
    if kind == "model":
        write_model(folder)
    elif kind == "set":
        write_set(folder)
    elif kind == "model and old set":
        write_set(folder, seed=2)
        write_model(folder)
    else:
        write_set(folder)
        write_model(folder, seed=2)
    return folder


JOBS: dict[str, tuple[str, tuple[str, ...], Callable[[State, State, State], None]]] = {
    "split": ("model", SPLIT, check_split),
    "split over a set": ("model and old set", (*SPLIT, "--force"), check_split),
    "merge": ("set", MERGE, check_whole),
    "merge over a model": ("set and old model", (*MERGE, "--force"), check_whole),
    "meta set": ("model", SET, check_whole),
}


@pytest.mark.parametrize("job", JOBS)
def test_every_step(job: str, tmp_path: Path) -> None:
    kind, arguments, check = JOBS[job]
    start = start_with(tmp_path / "start", kind)
    before, after = state(start), uninterrupted(start, tmp_path / "after", arguments)
    runs = kills.sweep(tmp_path / "runs", start, PROGRAM, *arguments)
    states = [state(run) for run in runs]
    for found in states:
        check(found, before, after)
    assert states[0] == before
    assert states[-1] == after
    assert len(runs) > 15
    if "split" in job:  # some runs end between the names
        assert [found for found in states if found not in (before, after)]
    assert {path.name for path in runs[-1].iterdir()} == after.keys()
    # What a killed run left keeps the next from nothing, and is left alone.
    for run in runs[:-1:9]:
        again(run, job)
        assert state(run) == after


def again(run: Path, job: str) -> None:
    left = {path.name for path in run.iterdir() if path.suffix == SUFFIX}
    if job.startswith("split"):
        split(run / "m.gguf", run / "set", max_tensors=2, tensorless_first=True, replace=True)
    elif job.startswith("merge"):
        merge(run / "set-00001-of-00003.gguf", run / "m.gguf", replace=True)
    else:
        done = subprocess.run(
            [sys.executable, "-m", "ggufspec", *SET],
            cwd=run, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert ("was left by a run that was killed" in done.stderr) == bool(left)
    assert {path.name for path in run.iterdir() if path.suffix == SUFFIX} == left


def test_every_step_in_place(tmp_path: Path) -> None:
    start = start_with(tmp_path / "start", "model")
    before, after = state(start), uninterrupted(start, tmp_path / "after", IN_PLACE)
    runs = kills.sweep(tmp_path / "runs", start, PROGRAM, *IN_PLACE)
    undone = [undo_path(run / "m.gguf").exists() for run in runs]
    for run in runs:
        check_in_place(run, before, after)
    assert True in undone
    assert not undone[-1]


def test_the_first_of_a_set_comes_last(tmp_path: Path) -> None:
    """Nothing has a name before all are on the disk, and an old first file goes before any."""
    start = start_with(tmp_path / "start", "model and old set")
    runs = kills.sweep(tmp_path / "runs", start, PROGRAM, *SPLIT, "--force", start=kills.MOST - 1)
    steps = [
        step for step in kills.steps_of(runs[-1])
        if step not in ("write", "flush", "ioctl", "copy_file_range", "pwrite")
    ]  # fmt: skip
    assert steps[:6] == ["ftruncate", "fsync"] * 3
    assert steps[6:8] == ["rename", "fsync"]  # the first is set aside
    assert steps[8:-3].count("replace") + steps[8:-3].count("rename") == 5
    assert set(steps[8:-3]) <= {"replace", "rename", "fsync"}
    assert steps[-3:] == ["unlink"] * 3


def killed(folder: Path, arguments: tuple[str, ...], seconds: float) -> bool:
    """Start a command and kill it after that time, if it is not done."""
    with subprocess.Popen(
        [sys.executable, "-m", "ggufspec", *arguments],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            _, complaint = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return True
        assert process.returncode == 0, complaint
        return False


def kill_by_time(
    start: Path, folder: Path, arguments: tuple[str, ...], count: int,
    check: Callable[[Path, State, State], None],
) -> None:  # fmt: skip
    """Kill at `count` points spread over the time that a command takes."""
    began = time.monotonic()
    before, after = state(start), uninterrupted(start, folder / "after", arguments)
    whole = time.monotonic() - began
    for number in range(count):
        run = folder / f"run{number}"
        shutil.copytree(start, run)
        killed(run, arguments, 0.1 + whole * 1.2 * number / count)
        check(run, before, after)
        shutil.rmtree(run)


def by_state(check: Callable[[State, State, State], None]) -> Callable[[Path, State, State], None]:
    return lambda folder, before, after: check(state(folder), before, after)


@pytest.mark.parametrize("job", ["split over a set", "merge over a model", "meta set"])
def test_some_moments(job: str, tmp_path: Path) -> None:
    kind, arguments, check = JOBS[job]
    start = start_with(tmp_path / "start", kind)
    kill_by_time(start, tmp_path, arguments, 3, by_state(check))


def test_some_moments_in_place(tmp_path: Path) -> None:
    start = start_with(tmp_path / "start", "model")
    kill_by_time(start, tmp_path, IN_PLACE, 3, check_in_place)


@pytest.mark.sweep
@pytest.mark.parametrize("job", JOBS)
def test_many_moments_of_a_real_model(job: str, tmp_path: Path) -> None:
    kind, arguments, check = JOBS[job]
    start = tmp_path / "start"
    start.mkdir()
    real = start / "m.gguf"
    if "old set" in kind:
        write_set(start, seed=2)
    shutil.copy(realfiles.smollm2(), real)
    if "split" in job:
        arguments = (*SPLIT[:3], "--max-size", "60M", SPLIT[-1], *arguments[len(SPLIT) :])
    if job.startswith("merge"):
        plan = split(real, start / "set", max_size=60_000_000, tensorless_first=True)
        assert len(plan.paths) == 3
        real.unlink()
        if "old model" in kind:
            write_model(start, seed=2)
    kill_by_time(start, tmp_path, arguments, 24, by_state(check))


@pytest.mark.sweep
def test_many_moments_in_place_of_a_real_model(tmp_path: Path) -> None:
    start = tmp_path / "start"
    start.mkdir()
    shutil.copy(realfiles.smollm2(), start / "m.gguf")
    arguments = ("meta", "set", "m.gguf", "general.name=y", "--in-place")
    kill_by_time(start, tmp_path, arguments, 24, check_in_place)
