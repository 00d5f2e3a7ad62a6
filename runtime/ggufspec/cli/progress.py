"""A progress bar with rate and time left, for work that takes longer than a second."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 1.0
"""Seconds before a bar appears."""


class Progress:
    """Counts bytes of work done; shows nothing unless both outputs are terminals."""

    def __init__(self, label: str, total: int, *, quiet: bool = False) -> None:
        self.label = label
        self.total = total
        self.done = 0
        self.started = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._quiet = quiet or not (sys.stderr.isatty() and sys.stdout.isatty())

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def seconds(self) -> float:
        """How long the work has taken."""
        return time.monotonic() - self.started

    def describe(self, label: str) -> None:
        """Say what comes."""
        self.label = label
        if self._bar is not None:
            self._bar.update(self._task, description=label)

    def advance(self, count: int) -> None:
        """Say that ``count`` more bytes are done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(self._task, completed=self.done)
        elif not self._quiet and self.seconds > PATIENCE:
            self._show()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self.label, total=self.total, completed=self.done)
        self._bar.start()
