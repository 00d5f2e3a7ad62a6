"""Runs that end in front of one system call, or in the middle of one, as SIGKILL ends them.

`arm` puts steps around the calls by which files are written and named; the process ends itself in
front of the step of a given number. `sweep` forks a run for step 1, 2, ... until one comes to its
end, from a process that has loaded everything once. The program is Python text that defines
``work(folder)``; it is run in a folder that is a copy of `original`.
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MOST = 2000
"""Steps of a run, at most."""

_DRIVER = """
import json, os, shutil, sys
from pathlib import Path
from support.kills import arm

folder, original, start, stride, most = sys.argv[1:6]
arguments = sys.argv[6:]
sys.argv = sys.argv[:1]
{program}
first = Path(folder) / "first"  # what it loads, no run has to load again
shutil.copytree(original, first, symlinks=True)
work(first)
shutil.rmtree(first)
results = []
for number in range(int(start), int(most), int(stride)):
    target = Path(folder) / str(number)
    shutil.copytree(original, target, symlinks=True)
    steps = os.open(target.with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    child = os.fork()
    if not child:
        try:
            arm(number, lambda name: os.write(steps, name.encode() + b" "))
            work(target)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    os.close(steps)
    results.append([number, status])
    if status == 0:
        break
print(json.dumps(results))
"""


def sweep(
    folder: Path, original: Path, program: str, *arguments: str, start: int = 1, stride: int = 1
) -> list[Path]:
    """Folders of runs that were killed at step `start` and every `stride`-th after it.

    The last one came to its end. `program` finds `arguments` under that name.
    """
    folder.mkdir(exist_ok=True)
    script = _DRIVER.replace("{program}", program)
    numbers = (str(start), str(stride), str(MOST))
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder), str(original), *numbers, *arguments],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert results[-1][1] == 0, done.stderr
    assert {status for _, status in results[:-1]} <= {signal.SIGKILL}, done.stderr
    return [folder / str(number) for number, _ in results]


def steps_of(run: Path) -> list[str]:
    """The steps that a run came to, the one it was killed at included."""
    return run.with_suffix(".log").read_text().split()


def arm(stop_at: int, log: Callable[[str], object]) -> None:
    """Count the steps of this process from now on, and end it at one of them."""
    count = 0

    def step(name: str, act: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        nonlocal count
        count += 1
        log(name)
        if count == stop_at:
            if half is not None:
                half()
            os.kill(os.getpid(), signal.SIGKILL)
        return act()

    for name in ("fsync", "ftruncate", "replace", "rename", "unlink", "link", "truncate"):
        _wrap(os, name, step)
    _wrap(os, "pwrite", step, _half_pwrite)
    _wrap(os, "copy_file_range", step, _half_copy)
    import fcntl

    _wrap(fcntl, "ioctl", step)
    _watch_writes(step)


def _wrap(holder: Any, name: str, step: Any, half: Any = None) -> None:
    if not hasattr(holder, name):
        return
    original = getattr(holder, name)

    def wrapped(*arguments: Any, **options: Any) -> Any:
        middle = (lambda: half(original, *arguments)) if half else None
        return step(name, lambda: original(*arguments, **options), middle)

    setattr(holder, name, wrapped)


def _half_pwrite(original: Any, file: int, data: Sequence[int], at: int) -> None:
    original(file, bytes(data[: max(1, len(data) // 2)]), at)


def _half_copy(original: Any, source: int, target: int, count: int, first: int, at: int) -> None:
    original(source, target, max(1, count // 2), first, at)


def _watch_writes(step: Any) -> None:
    """Steps around what buffered files that are opened for writing do."""
    real_fdopen = os.fdopen

    class Watched(io.BufferedWriter):
        def write(self, data: Any) -> int:
            def half() -> None:
                io.BufferedWriter.write(self, bytes(data[: len(data) // 2]))
                io.BufferedWriter.flush(self)

            written: int = step("write", lambda: io.BufferedWriter.write(self, data), half)
            return written

        def flush(self) -> None:
            step("flush", lambda: io.BufferedWriter.flush(self))

    def fdopen(descriptor: int, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if mode == "wb":
            return Watched(io.FileIO(descriptor, "wb"))
        return real_fdopen(descriptor, mode, *arguments, **options)

    os.fdopen = fdopen  # type: ignore[assignment]
