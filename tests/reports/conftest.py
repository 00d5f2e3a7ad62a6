"""What the tests of reports share: the verdict on bytes, and the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command() -> Command:
    """Run `ggufspec` in a process of its own; its output is text."""

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "ggufspec", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    return call
