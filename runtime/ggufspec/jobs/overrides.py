"""The texts ``KEY=TYPE:VALUE`` and ``PATTERN=TYPE`` of the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from ..edits.literals import (
    check_type,
    parse_float,
    parse_integer,
    parse_string,
    parse_truth,
    parse_value,
)
from ..files.values import Value
from ..recipes import pattern_of
from .errors import ConversionError
from .steps import makeable

_LONGEST = 127
"""Bytes of a key or a string that llama-quantize takes at most."""

_ESCAPED_OR_UPPER = re.compile(r"\\.|[A-Z]", re.DOTALL)


def parse_override(text: str) -> tuple[str, Value]:
    """The key and value of ``KEY=TYPE:VALUE``.

    TYPE is one of llama-quantize's: ``int`` (stored as UINT32 of the absolute value), ``float``
    (FLOAT32), ``bool``, ``str``; or a value type of GGUF: ``UINT64:5``, ``ARRAY[STRING]:["a"]``,
    arrays as JSON. ConversionError says what is wrong.
    """
    key, equals, rest = text.partition("=")
    name, colon, value = rest.partition(":")
    if not (key and equals and colon):
        raise _wrong(text, "it is not KEY=TYPE:VALUE", "as in general.name=STRING:Tiny")
    try:
        if name in _OWN:
            return key, _OWN[name](key, value)
        return key, _typed(name.upper(), value)
    except ValueError as error:
        raise _wrong(text, str(error)) from None
    except RecursionError:
        raise _wrong(text, "its arrays are nested too deeply") from None


def parse_tensor_type(text: str) -> tuple[str, str]:
    """The pattern and type of ``PATTERN=TYPE``; as in llama-quantize the pattern is lowered."""
    pattern, equals, name = text.partition("=")
    if not (pattern and equals and name):
        raise ConversionError(
            f"{text!r} is not PATTERN=TYPE", "usage", hint="as in attn_q=Q8_0", file=""
        )
    try:
        pattern_of(lowered(pattern))
    except ValueError as error:
        reason = f"{pattern!r:.80} is no regular expression: {error}"
        raise ConversionError(reason, "usage", file="") from None
    return lowered(pattern), parse_type(name)


def parse_type(name: str) -> str:
    """The type of that name, in any case, that a tensor can be made."""
    if name.upper() not in makeable():
        raise ConversionError(
            f"no tensor can be made {name!r}", "usage",
            hint=f"there are {', '.join(makeable())}", file="",
        )  # fmt: skip
    return name.upper()


def read_tensor_types(path: str | os.PathLike[str]) -> list[tuple[str, str]]:
    """The entries ``PATTERN=TYPE`` of a file, separated by spaces or lines."""
    try:
        words = Path(path).read_text("utf-8").split()
    except UnicodeDecodeError as error:
        raise ConversionError(f"it is no text: {error.reason}", "data", file=str(path)) from None
    return [parse_tensor_type(word) for word in words]


def lowered(pattern: str) -> str:
    r"""The expression in lower case, but for classes such as ``\D``, which would turn around."""
    return _ESCAPED_OR_UPPER.sub(lambda m: m[0] if m[0][0] == "\\" else m[0].lower(), pattern)


def _int(key: str, text: str) -> Value:
    number = abs(parse_integer(text))
    if number >= 1 << 32:
        raise ValueError(f"int is stored as UINT32, which cannot hold {number}; UINT64: can")
    _check_key(key)
    return Value("UINT32", number)


def _float(key: str, text: str) -> Value:
    _check_key(key)
    return Value("FLOAT32", parse_float(text))


def _bool(key: str, text: str) -> Value:
    _check_key(key)
    return Value("BOOL", parse_truth(text))


def _str(key: str, text: str) -> Value:
    _check_key(key)
    if len(text.encode("utf-8", "surrogateescape")) > _LONGEST:
        raise ValueError(
            f"str is at most {_LONGEST} bytes, as in llama-quantize; STRING: has no limit"
        )
    return Value("STRING", parse_string(text))


_OWN: dict[str, Callable[[str, str], Value]] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "str": _str,
}


def _check_key(key: str) -> None:
    if len(key.encode("utf-8", "surrogateescape")) > _LONGEST:
        raise ValueError(
            f"llama-quantize's keys have at most {_LONGEST} bytes; a GGUF type has no limit"
        )


def _typed(name: str, text: str) -> Value:
    """The text as a value of a GGUF type."""
    try:
        check_type(name)
    except ValueError as error:
        raise ValueError(f"{error}, and int, float, bool, str as in llama-quantize") from None
    value = parse_value(name, text)
    if not isinstance(value, Value):
        raise ValueError("it has bits that no number tells")
    return value


def _wrong(text: str, reason: str, hint: str = "") -> ConversionError:
    return ConversionError(f"--override-kv {text!r:.80}: {reason}", "usage", hint=hint, file="")
