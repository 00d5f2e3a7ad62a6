"""Coverage-guided fuzzing for some seconds: libFuzzer for the cursor in C, atheris for Python.

`make fuzz` gives each FUZZ_SECONDS; without that they run just long enough to show that they do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from corpus import small
from support.project import ROOT

SECONDS = int(os.environ.get("GGUFSPEC_FUZZ_SECONDS", "5"))
MEMORY = 256
FLAGS = "-std=c11 -O1 -g -Wall -Wextra -Werror -fno-sanitize-recover=all"
SANITIZERS = "-fsanitize=fuzzer,address,undefined"
SOURCES = ("tests/fuzz/cursor_fuzzer.c", "runtime/c/scan.c", "runtime/c/scan_text.c")
INCLUDES = ("runtime/c", "generated/c", "generated/fuzz", "tests/fuzz")
IN_CI = bool(os.environ.get("CI"))


@pytest.mark.skipif(not IN_CI and shutil.which("clang") is None, reason="needs clang")
def test_cursor_in_c(tmp_path: Path) -> None:
    program = tmp_path / "cursor_fuzzer"
    _run(
        *("clang", *FLAGS.split(), SANITIZERS, *(f"-I{ROOT / path}" for path in INCLUDES)),
        *(*(str(ROOT / path) for path in SOURCES), "-o", str(program)),
    )
    said = _fuzz(tmp_path, str(program), f"-dict={ROOT / 'generated/fuzz/gguf.dict'}")
    assert _executions(said) > 50 * SECONDS


@pytest.mark.skipif(not IN_CI and find_spec("atheris") is None, reason="needs atheris")
def test_reader_in_python(tmp_path: Path) -> None:
    said = _fuzz(tmp_path, sys.executable, str(ROOT / "tests/fuzz/reader_fuzzer.py"))
    assert _executions(said) > 2 * SECONDS


def _fuzz(folder: Path, *command: str) -> str:
    """Run a fuzzer on the small files of the corpus; what it says."""
    seeds, found = folder / "seeds", folder / "found"
    for path in (seeds, found):
        path.mkdir()
    for number, data in enumerate(small()):
        (seeds / f"{number:03}").write_bytes(data)
    limits = (f"-max_total_time={SECONDS}", f"-rss_limit_mb={MEMORY}", "-timeout=10")
    options = (*limits, "-max_len=4096", "-print_final_stats=1", f"-artifact_prefix={folder}/")
    return _run(*command, *options, str(found), str(seeds))


def _run(*command: str) -> str:
    # Under the sanitized Python of `make fuzz` a library is preloaded that others cannot have.
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    environment["ASAN_OPTIONS"] = "quarantine_size_mb=4:malloc_context_size=6"
    environment["PYTHONPATH"] = str(ROOT / "tests")
    # A process counts the memory of the one it was forked from: the shell's, not pytest's.
    forked = ("sh", "-c", '"$0" "$@"; exit $?', *command)
    done = subprocess.run(forked, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-6000:]
    return done.stderr


def _executions(said: str) -> int:
    lines = (line for line in said.splitlines() if line.startswith("stat::number_of_executed"))
    return int(next(lines).split()[-1])
