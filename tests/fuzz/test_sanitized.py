"""The cursor in C, alone, and the quantizers, under address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.crafted_cases import all_cases
from support.damaged import FORMS, everything
from support.project import ROOT

SECONDS = int(os.environ.get("GGUFSPEC_FUZZ_SECONDS", "10"))
FLAGS = "-std=c11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -fno-sanitize-recover"
QUANTIZERS = (
    "tests/fuzz/test_quantizers.py",
    "tests/oracle/test_quantize.py",
    "tests/oracle/test_quantize_iq1_m.py",
)
LARGEST = 4096  # bytes of a crafted file that is worth sweeping
IN_CI = bool(os.environ.get("CI"))


@pytest.mark.skipif(not IN_CI and shutil.which("gcc") is None, reason="needs gcc")
def test_damaged_files(tmp_path: Path) -> None:
    files = [everything(form) for form in FORMS.values()]
    files += [case.data for case in all_cases() if 0 < len(case.data) < LARGEST]
    paths = [tmp_path / f"{number}.gguf" for number in range(len(files))]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)
    done = _run([str(_compiled(tmp_path)), str(SECONDS), *map(str, paths)])
    walked, records = map(int, done.split())
    assert walked > 1000
    assert records > 1000


@pytest.mark.skipif("GGUFSPEC_FUZZ_SECONDS" not in os.environ, reason="part of `make fuzz`")
def test_quantizers() -> None:
    """Their tests, but those of the NumPy form, with a library that has the sanitizers in it."""
    python = [sys.executable, "-m", "support.sanitized"]
    pytest_run = ["-m", "pytest", "-q", "-x", "-k", "not numpy", *QUANTIZERS]
    paths = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [*python, *pytest_run],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert " passed" in done.stdout


def _compiled(folder: Path) -> Path:
    sources = [ROOT / "runtime/c/scan.c", ROOT / "runtime/c/scan_text.c"]
    target = folder / "scan_fuzz"
    includes = [f"-I{ROOT / 'runtime/c'}", f"-I{ROOT / 'generated/c'}"]
    own = Path(__file__).with_name("scan_fuzz.c")
    _run(["gcc", *FLAGS.split(), *includes, str(own), *map(str, sources), "-o", str(target)])
    return target


def _run(command: list[str]) -> str:
    # Under `make fuzz` a sanitizer is preloaded into Python, which is not for other programs.
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "ASAN_OPTIONS")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout
