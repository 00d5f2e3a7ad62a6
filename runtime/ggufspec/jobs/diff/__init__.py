"""How two files differ: in metadata, tensors and data, or only in how they are laid out."""

from __future__ import annotations

from .data import DataChange
from .layout import Fact
from .models import SECTIONS, Difference, Section, TensorChange, diff

__all__ = [
    "SECTIONS", "DataChange", "Difference", "Fact", "Section", "TensorChange", "diff",
]  # fmt: skip
