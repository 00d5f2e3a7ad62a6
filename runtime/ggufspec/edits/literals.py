"""Values as people write them on a command line."""

from __future__ import annotations

import json
import os
from typing import Any

from ..files.values import Value, array_element
from ..generated.container import CURRENT_VERSION, LAYOUTS
from .plain import Entry, check_type, from_plain

__all__ = ["check_type", "parse_integer", "parse_string", "parse_truth", "parse_value"]

_KINDS = {kind.name: kind.kind for kind in LAYOUTS[CURRENT_VERSION].value_types}


def parse_value(type_name: str, text: str) -> Entry:
    """The text as a value of a GGUF type; ValueError says what is wrong.

    Arrays are JSON, a BOOL is ``true`` or ``false``, whole numbers may be ``0x20``, floats ``nan``
    and ``inf``.
    """
    check_type(type_name)
    if array_element(type_name) is not None:
        return from_plain(type_name, _json(text))
    match _KINDS[type_name]:
        case "uint" | "int":
            value: Any = parse_integer(text)
        case "float":
            value = float(text)
        case "bool":
            value = parse_truth(text)
        case _:
            value = parse_string(text)
    return Value(type_name, value)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its arrays are nested too deeply") from None
    except ValueError as error:  # also for numbers of thousands of digits
        raise ValueError(f"the array is not JSON: {error!s:.80}") from None


def parse_integer(text: str) -> int:
    """A whole number; ValueError for anything else."""
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{text!r:.40} is no whole number") from None


def parse_truth(text: str) -> bool:
    """``true`` or ``false``; ValueError for anything else."""
    if text not in ("true", "false"):
        raise ValueError(f"{text!r:.40} is neither true nor false")
    return text == "true"


def parse_string(text: str) -> str | bytes:
    """A word of the command line; bytes where it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of the command line that are not UTF-8
        return os.fsencode(text)
    return text
