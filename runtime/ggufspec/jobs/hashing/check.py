"""What tells the hashes of a model from those that a manifest names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Literal

from .compute import LEFT_OUT, Scope
from .hashes import FileHashes, Hashes, TensorHashes

Kind = Literal["differs", "missing", "extra"]


@dataclass(frozen=True)
class Difference:
    """One thing that is not as the manifest says.

    subject: `tensor`, `key`, `metadata`, `data`, `header`, `file`, `set`; name: which of them.
    kind: it `differs`, is `missing` from the model, or `extra` there. detail: in what it differs.
    """

    subject: str
    name: str
    kind: Kind
    detail: str = ""


def scope_of(expected: Hashes) -> Scope:
    """What has to be hashed to check a manifest."""
    return Scope(
        header=any(file.header for file in expected.files),
        keys=bool(expected.keys or expected.metadata),
        tensors=bool(expected.tensors),
        data=bool(expected.data),
        files=any(file.whole for file in expected.files),
        sizes=bool(expected.files),
    )


def differences(expected: Hashes, found: Hashes, scope: Scope) -> list[Difference]:
    """All that differs, of what the scope names. Hashes are compared that both have."""
    made: list[Difference] = []
    if scope.tensors:
        made += _tensors(expected, found)
    if scope.data and expected.data:
        made += _data(expected, found)
    if scope.keys:
        made += _keys(expected, found)
    if scope.header or scope.files or scope.sizes:
        made += _files(expected, found, scope)
    return made


def _tensors(expected: Hashes, found: Hashes) -> Iterator[Difference]:
    there = {tensor.name: tensor for tensor in found.tensors}
    named = {tensor.name for tensor in expected.tensors}
    for tensor in expected.tensors:
        other = there.get(tensor.name)
        if other is None:
            yield Difference("tensor", tensor.name, "missing")
        elif detail := _tensor_detail(tensor, other):
            yield Difference("tensor", tensor.name, "differs", detail)
    if expected.tensors:
        silent = () if expected.tensors[0].type else LEFT_OUT  # gguf-py's lists do not name them
        for name in there:
            if name not in named and not name.endswith(silent):
                yield Difference("tensor", name, "extra")


def _tensor_detail(expected: TensorHashes, found: TensorHashes) -> str:
    if expected.type and expected.type != found.type:
        return f"type {found.type}, not {expected.type}"
    if expected.shape is not None and expected.shape != found.shape:
        return f"shape {_shape(found.shape)}, not {_shape(expected.shape)}"
    if expected.nbytes is not None and expected.nbytes != found.nbytes:
        return f"{found.nbytes} bytes, not {expected.nbytes}"
    return _unequal(expected.hashes, found.hashes)


def _shape(shape: tuple[int, ...] | None) -> str:
    return " x ".join(map(str, shape or ())) or "scalar"


def _data(expected: Hashes, found: Hashes) -> Iterator[Difference]:
    """All data together: with the tensors that gguf-py leaves out, as llama-gguf-hash has it.

    Only a list may be of either; a manifest says what it is of.
    """
    detail = _unequal(expected.data, found.data)
    if expected.data_size is None:
        if found.all_data and not _unequal(expected.data, found.all_data):
            detail = ""
    elif expected.data_size != found.data_size:
        detail = f"{found.data_size} bytes, not {expected.data_size}"
    elif expected.left_out != found.left_out:
        detail = "other tensors are left out"
    else:
        detail = detail or _unequal(expected.all_data, found.all_data)
    if detail:
        yield Difference("data", "", "differs", detail)


def _keys(expected: Hashes, found: Hashes) -> Iterator[Difference]:
    there = {key.key: key for key in found.keys}
    named = {key.key for key in expected.keys}
    count = 0
    for key in expected.keys:
        other = there.get(key.key)
        if other is None:
            count += 1
            yield Difference("key", key.key, "missing")
        elif key.type != other.type:
            count += 1
            yield Difference("key", key.key, "differs", f"type {other.type}, not {key.type}")
        elif detail := _unequal(key.hashes, other.hashes):
            count += 1
            yield Difference("key", key.key, "differs", detail)
    for name in there:
        if name not in named:
            count += 1
            yield Difference("key", name, "extra")
    if not count and (detail := _unequal(expected.metadata, found.metadata)):
        yield Difference("metadata", "", "differs", f"{detail}: the keys stand in another order")


def _files(expected: Hashes, found: Hashes, scope: Scope) -> Iterator[Difference]:
    if len(expected.files) != len(found.files):
        detail = f"{len(found.files)} files, not {len(expected.files)}"
        yield Difference("set", "", "differs", detail)
    for one, other in zip_longest(expected.files, found.files):
        if one is None or other is None:
            continue
        yield from _file(one, other, scope)


def _file(one: FileHashes, other: FileHashes, scope: Scope) -> Iterator[Difference]:
    if scope.header and one.header:
        if one.header_size != other.header_size:
            detail = f"{other.header_size} bytes, not {one.header_size}"
            yield Difference("header", other.name, "differs", detail)
        elif detail := _unequal(one.header, other.header):
            yield Difference("header", other.name, "differs", detail)
    if (scope.files or scope.sizes) and one.size != other.size:
        yield Difference("file", other.name, "differs", f"{other.size} bytes, not {one.size}")
    elif scope.files and (detail := _unequal(one.whole, other.whole)):
        yield Difference("file", other.name, "differs", detail)


def _unequal(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The algorithms whose hashes differ; "" where none does."""
    other = [name for name, text in expected.items() if found.get(name, text) != text]
    return f"another {' and '.join(other)}" if other else ""
