"""What reading a file costs, measured in processes with limits of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from support.project import ROOT

WORKERS = 2


class Cost(NamedTuple):
    """The answer of each action, the peak of memory in bytes, the slowest action's seconds."""

    answers: dict[str, str]
    peak: int
    seconds: float
    at: str

    @property
    def failures(self) -> dict[str, str]:
        """Actions that ended with another exception than GGUFError."""
        errors = {action: said for action, said in self.answers.items() if ":" in said}
        return {action: said for action, said in errors.items() if said[:10] != "GGUFError:"}


def measure(paths: Sequence[Path], *options: str) -> list[Cost | None]:
    """The cost of each file; None for the one that ended its process and those behind it."""
    shares = [paths[number::WORKERS] for number in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS) as pool:
        costs = list(pool.map(lambda share: _measure(share, options), shares))
    found: dict[Path, Cost | None] = {}
    for share, known in zip(shares, costs, strict=True):
        found.update(zip(share, known, strict=True))
    return [found[path] for path in paths]


def _measure(paths: Sequence[Path], options: Sequence[str]) -> list[Cost | None]:
    if not paths:
        return []
    done = subprocess.run(
        [sys.executable, "-m", "corpus.worker", *options, *map(str, paths)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    costs = [Cost(**json.loads(line)) for line in done.stdout.splitlines()]
    return [*costs, *[None] * (len(paths) - len(costs))]
