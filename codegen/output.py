"""One generated file before it is written."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Output:
    """``path`` is relative to generated/; ``inputs`` are spec files it depends on."""

    path: str
    body: str
    inputs: tuple[str, ...]
