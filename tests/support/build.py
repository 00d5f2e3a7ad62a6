"""Builds of the native library beside the installed one: sanitizers, other processors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from support.lock import locked
from support.project import ROOT


def native_library(folder: str, *options: str) -> Path:
    """Build libggufspec in build/`folder` with more CMake options, every warning an error."""
    cmake = program("cmake")
    build = ROOT / "build" / folder
    configure = [cmake, "-S", str(ROOT), "-B", str(build), "-G", "Ninja", "-DGGUFSPEC_WERROR=ON"]
    with locked(build.with_suffix(".lock")):
        run([*configure, f"-DCMAKE_MAKE_PROGRAM={program('ninja')}", *options])
        run([cmake, "--build", str(build)])
    return build / "libggufspec.so"


def program(name: str) -> str:
    """Path of a program of this environment or the system."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed")
    return found


def run(command: list[str], data: bytes | None = None) -> bytes:
    """Run a command and return what it prints; its errors become the exception's message."""
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace")
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}\n{said}")
    return done.stdout
