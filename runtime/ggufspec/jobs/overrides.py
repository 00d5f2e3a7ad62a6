"""The texts ``KEY=TYPE:VALUE`` and ``PATTERN=TYPE`` of the command line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..files.values import Value, array_element
from ..generated.container import CURRENT_VERSION, LAYOUTS
from ..recipes import pattern_of
from .errors import ConversionError
from .steps import makeable

_LONGEST = 127
"""Bytes of a key or a string that llama-quantize takes at most."""

_KINDS = {kind.name: kind.kind for kind in LAYOUTS[CURRENT_VERSION].value_types}
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
        return key, Value(name.upper(), _typed(name.upper(), value))
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
    number = abs(_integer(text))
    if number >= 1 << 32:
        raise ValueError(f"int is stored as UINT32, which cannot hold {number}; UINT64: can")
    _check_key(key)
    return Value("UINT32", number)


def _float(key: str, text: str) -> Value:
    _check_key(key)
    return Value("FLOAT32", float(text))


def _bool(key: str, text: str) -> Value:
    _check_key(key)
    return Value("BOOL", _truth(text))


def _str(key: str, text: str) -> Value:
    _check_key(key)
    if len(text.encode("utf-8", "surrogateescape")) > _LONGEST:
        raise ValueError(
            f"str is at most {_LONGEST} bytes, as in llama-quantize; STRING: has no limit"
        )
    return _string(text)


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


def _typed(name: str, text: str) -> Any:
    """The text as a value of a GGUF type."""
    element = array_element(name)
    if element is not None:
        return _array(element, text)
    match _KINDS.get(name):
        case "uint" | "int":
            return _integer(text)
        case "float":
            return float(text)
        case "bool":
            return _truth(text)
        case "string":
            return _string(text).value
    known = ", ".join(kind for kind in _KINDS if kind != "ARRAY")
    raise ValueError(
        f"there is no type {name!r}; there are {known}, ARRAY[...] of these, "
        "and int, float, bool, str as in llama-quantize"
    )


def _array(element: str, text: str) -> list[Any]:
    try:
        items = json.loads(text)
    except ValueError as error:  # also for numbers of thousands of digits
        raise ValueError(f"the array is not JSON: {error!s:.80}") from None
    if not isinstance(items, list):
        raise ValueError(f"an array is [...], not {text!r:.40}")
    return [_item(element, item) for item in items]


def _item(element: str, item: Any) -> Any:
    """An element of the list that JSON made, as a value of its type."""
    inner = array_element(element)
    if inner is not None:
        if not isinstance(item, list):
            raise ValueError(f"an element is no array: {item!r:.40}")
        return [_item(inner, one) for one in item]
    kind = _KINDS.get(element)
    takes: dict[str, tuple[type, ...]] = {
        "uint": (int,), "int": (int,), "float": (int, float), "bool": (bool,), "string": (str,),
    }  # fmt: skip
    if kind not in takes:
        raise ValueError(f"there is no type {element!r} for elements")
    if not isinstance(item, takes[kind]) or (isinstance(item, bool) and kind != "bool"):
        raise ValueError(f"{item!r:.40} is no {element}")
    return float(str(item)) if kind == "float" else item


def _integer(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise ValueError(f"{text!r:.40} is no whole number") from None


def _truth(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _string(text: str) -> Value:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of the command line that are not UTF-8
        return Value("STRING", os.fsencode(text))
    return Value("STRING", text)


def _wrong(text: str, reason: str, hint: str = "") -> ConversionError:
    return ConversionError(f"--override-kv {text!r:.80}: {reason}", "usage", hint=hint, file="")
