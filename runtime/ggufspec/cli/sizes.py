"""Sizes on the command line."""

from __future__ import annotations

import re

import typer

_UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
_MOST = 2**63
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)B?", re.IGNORECASE)


def size(text: str) -> int:
    """Bytes: ``500M``, ``1.5G``; K, M, G are powers of 1000."""
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise typer.BadParameter(f"{text!r} is no size; sizes are 500M, 2G (powers of 1000)")
    wanted = float(match[1]) * _UNITS[match[2].upper()]
    if wanted >= _MOST:
        raise typer.BadParameter(f"{text:.40} is more than any machine has")
    return round(wanted)
