"""What `write` takes: values and tensor data with their types, and the types of plain values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..generated.metadata import Key

QUANTIZATION_VERSION = 2
"""ggml's number for the meaning of the block layouts (``general.quantization_version``)."""

_NUMBERS = {"u": "UINT", "i": "INT", "f": "FLOAT"}
_ARRAY = re.compile(r"ARRAY(?:\[(.*)\])?", re.DOTALL)
_NUMBER_SEGMENT = re.compile(r"\.[0-9]+(?=\.)")


@dataclass(frozen=True)
class Value:
    """A metadata value with its GGUF type: `Value("UINT32", 4)`, `Value("ARRAY[INT32]", [1])`.

    `ARRAY[ARRAY]` leaves the types of the inner arrays to themselves.
    """

    type: str
    value: Any

    def __post_init__(self) -> None:
        if not isinstance(self.type, str):
            raise TypeError(f"a value type is a name, not {type(self.type).__name__}")


@dataclass(frozen=True)
class TensorData:
    """Stored bytes of a tensor: bytes-like, or uint8 of shape (rows, bytes a row).

    `type` is a name (`Q4_K`) or a number, for types that nobody knows; `shape` is in NumPy
    order; `byte_order` is that of the bytes.
    """

    data: Any
    type: str | int
    shape: tuple[int, ...]
    byte_order: Literal["little", "big"] = "little"


def typed(key: str, value: Any, known: Key | None = None) -> Value:
    """The value with its type.

    A `Value` and an array of an opened file keep theirs. str and bytes are STRING, bool BOOL,
    float FLOAT32, NumPy scalars and arrays what their dtype says. A plain int, or a list of
    them, has the type of the well-known key that it stands under. ValueError, naming the key,
    where there is no type, or where a plain value contradicts the well-known key.
    """
    if isinstance(value, Value):
        return value
    if isinstance(getattr(value, "type", None), str):  # a lazy array
        return Value(value.type, value)
    if hasattr(value, "dtype"):
        return _of_numpy(key, value)
    types = known.types if known else ()
    kind = _of_list(key, value, types) if _is_list(value) else _of_scalar(key, value, types)
    if kind is None:
        raise ValueError(_untyped(key, value, types))
    if types and kind not in types:
        raise ValueError(_contradiction(key, value, types, kind))
    return Value(kind, value)


def array_element(type_name: str) -> str | None:
    """`ARRAY[X]` gives X, `ARRAY` "" and any other type None."""
    match = _ARRAY.fullmatch(type_name)
    return (match[1] or "") if match else None


def known_key(key: str, architecture: str | None = None) -> Key | None:
    """What the specification says about a key; None for a key it does not know.

    architecture: the one the file names; any first word is taken for it if None.
    """
    first, _, rest = key.partition(".")
    of_architecture = architecture in (None, first) and first not in _own_prefixes()
    forms = (
        key,
        "{arch}." + rest if of_architecture else "",
        _NUMBER_SEGMENT.sub(".{id}", key),
        key.rpartition(".")[0] + ".{name}",
    )
    keys = _known_keys()
    return next((keys[form] for form in forms if form in keys), None)


def architecture_of(metadata: Mapping[str, Any]) -> str | None:
    """The architecture that the metadata name."""
    value = metadata.get("general.architecture")
    value = value.value if isinstance(value, Value) else value
    return value if isinstance(value, str) else None


@cache
def _known_keys() -> dict[str, Key]:
    from ..generated.metadata import KEYS

    return {key.key: key for key in KEYS}


@cache
def _own_prefixes() -> frozenset[str]:
    """First words of keys that no architecture owns."""
    return frozenset(key.partition(".")[0] for key in _known_keys())


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def _of_scalar(key: str, value: Any, types: Sequence[str]) -> str | None:
    if isinstance(value, bool):
        return "BOOL"
    if isinstance(value, (str, bytes, bytearray)):
        return "STRING"
    if isinstance(value, float):
        return "FLOAT32"
    if isinstance(value, int):
        return next((kind for kind in types if _takes_int(kind)), None)
    raise TypeError(f"{key} is {_short(value)}: GGUF has no type for a {type(value).__name__}")


def _of_list(key: str, value: Sequence[Any], types: Sequence[str]) -> str | None:
    elements = [element for kind in types if (element := array_element(kind)) is not None]
    if not value:
        return f"ARRAY[{elements[0]}]" if elements else None
    kinds = {_of_element(key, item) for item in value}
    if kinds == {"int", "FLOAT32"}:
        kinds = {"FLOAT32"}
    if len(kinds) > 1:
        raise ValueError(
            f"{key} mixes elements of type {' and '.join(sorted(kinds))}: {_short(value)}"
        )
    if kinds == {"int"}:
        fitting = next((element for element in elements if _takes_int(element)), None)
        return fitting and f"ARRAY[{fitting}]"
    return f"ARRAY[{kinds.pop()}]"


def _of_element(key: str, item: Any) -> str:
    """The element's type, "int" for a plain integer, "ARRAY" for any array."""
    if _is_list(item):
        return "ARRAY"
    if isinstance(item, Value) or hasattr(item, "dtype"):
        kind = typed(key, item).type
        return kind if array_element(kind) is None else "ARRAY"
    return _of_scalar(key, item, ()) or "int"


def _of_numpy(key: str, value: Any) -> Value:
    letter, size = value.dtype.kind, value.dtype.itemsize
    if letter in "USO":
        return typed(key, value.tolist(), None)
    if letter == "b":
        kind = "BOOL"
    elif letter in _NUMBERS and not (letter == "f" and size not in (4, 8)):
        kind = f"{_NUMBERS[letter]}{8 * size}"
    else:
        raise ValueError(f"{key} has the dtype {value.dtype}, for which GGUF has no type")
    for _ in range(value.ndim):
        kind = f"ARRAY[{kind}]"
    return Value(kind, value.item() if value.ndim == 0 else value)


def _takes_int(kind: str) -> bool:
    return kind.startswith(("UINT", "INT", "FLOAT"))


def _untyped(key: str, value: Any, types: Sequence[str]) -> str:
    if types:
        return _contradiction(key, value, types, "UINT32")
    example = "ARRAY[INT32]" if _is_list(value) else "UINT32"
    return (
        f"{key} is not a well-known key, so {_short(value)} needs a type: "
        f'ggufspec.Value("{example}", ...)'
    )


def _contradiction(key: str, value: Any, types: Sequence[str], kind: str) -> str:
    return (
        f"{key} is {_or(types)}, not {type(value).__name__} ({_short(value)}); "
        f'ggufspec.Value("{kind}", ...) stores it all the same'
    )


def _or(names: Sequence[str]) -> str:
    return " or ".join(names)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
