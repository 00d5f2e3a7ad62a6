"""JSON as people hand it to us, and values of it in words that are not Python's."""

from __future__ import annotations

import json
import math
from typing import Any

_DIGITS = 1000
"""Digits of a number that are looked at: no value type holds more."""


def parse_json(text: str | bytes, *, once: bool = True) -> Any:
    """What a text says; ValueError for what is no JSON, or does not say one thing.

    once: whether an object that has a member twice is refused. Numbers that no FLOAT64 holds
    always are. RecursionError for what is nested too deeply.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValueError("it is not UTF-8") from None
    try:
        return json.loads(
            text, parse_float=finite, parse_int=_whole, object_pairs_hook=_once if once else None
        )
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        raise ValueError(f"{reason} (line {error.lineno}, character {error.colno})") from None


def finite(text: str) -> float:
    """A number; ValueError where it is beyond all that FLOAT64 holds."""
    value = float(text)
    if math.isinf(value) and "inf" not in text.lower():
        raise ValueError(f"{text:.40} is beyond what FLOAT64 holds")
    return value


def brief(plain: Any, limit: int = 40) -> str:
    """A value of a document in a few words."""
    match plain:
        case None:
            return "null"
        case bool():
            return "true" if plain else "false"
        case int():
            if plain.bit_length() > 3 * _DIGITS:
                return "a number of very many digits"
            return f"{plain!s:.{limit}}"
        case float():
            return f"{plain!r:.{limit}}"
        case str():
            return f"{plain!r:.{limit}}"
        case list():
            return "[...]" if plain else "[]"
        case dict():
            return "{...}" if plain else "{}"
    return f"a {type(plain).__name__}"


def _whole(digits: str) -> int:
    if len(digits) > _DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the member {twice!r:.60} twice")
    return members
