"""The command line: ``ggufspec COMMAND``, one module a command."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command of ``sys.argv`` and exit with its code (the console script)."""
    try:
        from .app import run
    except KeyboardInterrupt:
        sys.exit(130)
    run()
