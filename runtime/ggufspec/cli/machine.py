"""Strict JSON: what any parser reads, without losing a bit of what a file holds."""

from __future__ import annotations

import json
import math
import sys
from binascii import b2a_base64
from collections.abc import Mapping, Sequence
from typing import Any


def emit(value: object) -> None:
    """Print a value as one line of JSON."""
    json.dump(plain(value), sys.stdout, ensure_ascii=True, allow_nan=False)
    sys.stdout.write("\n")


def plain(value: Any) -> Any:
    """The value in JSON's own terms.

    Integers stay integers digit for digit, NaN and infinities become strings, text that is
    not UTF-8 becomes ``{"base64": ...}``.
    """
    match value:
        case None | bool() | int():
            return value
        case float():
            return value if math.isfinite(value) else _special(value)
        case str():
            return _text(value)
        case bytes() | bytearray() | memoryview():
            return {"base64": b2a_base64(value, newline=False).decode()}
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case Sequence() | set():
            return [plain(item) for item in value]
    if hasattr(value, "tolist"):  # an array or a scalar of NumPy, which need not be loaded
        return plain(value.tolist())
    return str(value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _text(value: str) -> Any:
    try:
        value.encode()
    except UnicodeEncodeError:
        return plain(value.encode("utf-8", "surrogateescape"))
    return value
