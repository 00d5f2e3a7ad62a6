"""GG15: not written yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .findings import Collector
    from .model import Model


def check(model: Model, found: Collector) -> None:
    """Add what is wrong."""
