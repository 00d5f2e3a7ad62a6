"""pip of the running environment, and how to tell that the registry does not answer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


class UnreachableError(Exception):
    """The package registry does not answer."""


def pip(
    *arguments: str | Path, python: Path | None = None, variables: Mapping[str, str] | None = None
) -> str:
    """Run pip, for another environment's `python` if given, and return what it says.

    Raises UnreachableError where the registry does not answer, else RuntimeError for a failure.
    """
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if python is not None:
        command += ["--python", str(python)]
    command += [str(argument) for argument in arguments]
    environment = os.environ | (variables or {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode == 0:
        return done.stdout
    if "Retrying (" in done.stderr:
        raise UnreachableError(f"{' '.join(command)}: the package registry does not answer")
    raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
