"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def command(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `ggufspec`, under more environment variables; its output is text."""
    done = subprocess.run(
        [sys.executable, "-m", "ggufspec", *map(str, arguments)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
