"""Importance matrices: reading them, and what they say about a tensor."""

from __future__ import annotations

from .entry import Entry
from .error import ImatrixError
from .keys import imatrix_metadata
from .matrix import Imatrix, Importance
from .read import read_imatrix
from .zeros import fixed

__all__ = [
    "Entry", "Imatrix", "ImatrixError", "Importance", "fixed", "imatrix_metadata", "read_imatrix",
]  # fmt: skip
