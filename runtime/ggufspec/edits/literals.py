"""Values as people write them on a command line."""

from __future__ import annotations

import os
import re
from typing import Any

from ..files.values import Value, array_element
from ..generated.container import CURRENT_VERSION, LAYOUTS
from .json_text import finite, parse_json
from .plain import Entry, check_type, from_plain

__all__ = [
    "check_type", "parse_float", "parse_integer", "parse_string", "parse_truth", "parse_value",
]  # fmt: skip

_WHOLE = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0+|[1-9][0-9]*)")
_FLOAT = re.compile(
    r"[+-]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|inf|infinity|nan)", re.IGNORECASE
)
_DIGITS = 1000
_BLANK = " \t\r\n"
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
            value = parse_float(text)
        case "bool":
            value = parse_truth(text)
        case _:
            value = parse_string(text)
    return Value(type_name, value)


def _json(text: str) -> Any:
    try:
        return parse_json(text)
    except RecursionError:
        raise ValueError("its arrays are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"the array is not JSON: {error!s:.80}") from None


def parse_integer(text: str) -> int:
    """A whole number in ASCII digits, as ``-5`` or ``0x20``; ValueError for anything else."""
    word = text.strip(_BLANK)
    if not _WHOLE.fullmatch(word) or len(word) > _DIGITS:
        raise ValueError(f"{text!r:.40} is no whole number")
    return int(word, 0)


def parse_float(text: str) -> float:
    """A number in ASCII digits, nan or inf; ValueError for anything else, and beyond FLOAT64."""
    word = text.strip(_BLANK)
    if not _FLOAT.fullmatch(word):
        raise ValueError(f"{text!r:.40} is no number")
    return finite(word)


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
