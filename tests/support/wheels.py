"""Wheels of the checkout and fresh environments that have nothing else of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from support.lock import locked
from support.pip import pip
from support.project import ROOT

Run = Callable[..., str]


def build_wheel(folder: Path, **variables: str) -> Path:
    """Build a wheel of the checkout, with environment variables of its own.

    The usual build folder has the objects already, but remembers a compiler that works.
    """
    apart = ["--config-settings", f"build-dir={folder / 'build'}"] if "CC" in variables else []
    options: list[str | Path] = [
        "--no-deps",
        "--no-build-isolation",
        *apart,
        "--wheel-dir",
        folder / "dist",
    ]
    with locked(ROOT / "build/wheel.lock"):
        pip("wheel", *options, ROOT, variables=variables)
    return next((folder / "dist").glob("*.whl"))


def environment(wheel: Path, folder: Path) -> Run:
    """Install a wheel and what it requires into a new environment; return how to run it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    programs = folder / "env" / "bin"
    pip("install", "--quiet", "--no-compile", wheel, python=programs / "python")

    def run(program: str, *arguments: str, **variables: str) -> str:
        """Run a program of the environment outside the checkout; return what it prints."""
        done = subprocess.run(
            [str(programs / program), *arguments],
            cwd=folder,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
