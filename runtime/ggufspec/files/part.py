"""One file of a model: its bytes and where everything in them is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..container.scan import Scan
from .arrays import Form
from .source import Source


@dataclass(frozen=True)
class Part:
    """`number` is the file's place in its set, from 0."""

    source: Source
    scan: Scan
    number: int = 0

    @property
    def form(self) -> Form:
        """The version and byte order the file is written in."""
        return Form(self.scan.version, self.scan.byte_order)

    @property
    def file(self) -> str:
        """What to call it in messages."""
        return Path(self.source.path).name if self.source.path else "the buffer"
