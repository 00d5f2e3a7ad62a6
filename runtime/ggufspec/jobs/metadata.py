"""The metadata of an output: the source's, and what llama-quantize puts behind them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..files.shards import SET_KEYS
from ..files.values import QUANTIZATION_VERSION, Value
from ..generated.shards import COUNT_KEY, NUMBER_KEY, TENSORS_KEY
from ..recipes import FileType, guess

if TYPE_CHECKING:
    from ..files.reader import File
    from .options import Options

FIXED_KEY = "quantize.imatrix.fixed_blocks"
"""How many blocks without importance got ones (``--fix-imatrix``); nobody else writes it."""


def new_metadata(
    source: File, kind: FileType, options: Options, more: Mapping[str, Value]
) -> dict[str, Any]:
    """The source's keys in their order, without those of split sets; what is set comes last.

    more: keys that follow the overrides.
    """
    metadata = source.metadata
    result: dict[str, Any] = {key: metadata.stored(key) for key in metadata if key not in SET_KEYS}
    own = [
        ("general.quantization_version", Value("UINT32", QUANTIZATION_VERSION)),
        ("general.file_type", Value("UINT32", _number(source, kind, options))),
    ]
    for key, value in [*own, *options.overrides, *more.items()]:
        result.pop(key, None)  # as in ggml, what is set anew moves to the end
        result[key] = value
    return result


def block_count_key(source: File, options: Options) -> str:
    """The key of the number of layers."""
    return f"{overridden(source, options).get('general.architecture', '')}.block_count"


def of_set(number: int, count: int, tensors: int) -> dict[str, Value]:
    """The keys of file ``number``, from 0, of a set."""
    return {
        NUMBER_KEY: Value("UINT16", number),
        COUNT_KEY: Value("UINT16", count),
        TENSORS_KEY: Value("INT32", tensors),
    }


def overridden(source: File, options: Options) -> Mapping[str, Any]:
    """The source's plain values as the overrides make them: what the recipes go by."""
    changed: dict[str, Any] = {key: value.value for key, value in options.overrides}
    return ChainMap(changed, source.metadata)  # type: ignore[arg-type]


def _number(source: File, kind: FileType, options: Options) -> int:
    """The value of general.file_type: of a copy the one that it has, or a guess."""
    if kind.id is not None:
        return kind.id
    own = overridden(source, options).get("general.file_type")
    if isinstance(own, int):
        return own
    return guess(_types(source))


def _types(source: File) -> Iterable[tuple[str, str]]:
    return ((tensor.name, tensor.type) for tensor in source.tensors.values())
