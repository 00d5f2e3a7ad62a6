"""ggml's own C, from the prebuilt libggml-python wheel, as the oracle of bits and bytes.

Types are named by their ggml id throughout. Some inputs make ggml abort the process: Q8_1 and
Q8_K in `ggml_quantize_chunk` (here they take the reference functions), types that need an
importance matrix without one, and some hostile files (`verdicts` reads those in a child process).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_bool, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint32, c_void_p
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

_TYPE_COUNT = 43
_Q8_1, _Q8_K = 9, 15
_STRING, _ARRAY = 8, 9
_VALUE_TYPES: dict[int, Any] = {
    0: np.uint8,
    1: np.int8,
    2: np.uint16,
    3: np.int16,
    4: np.uint32,
    5: np.int32,
    6: np.float32,
    7: np.bool_,
    10: np.uint64,
    11: np.int64,
    12: np.float64,
}
# Functions of a file, and of a file and the index of a key or tensor: what they return.
_OF_FILE: dict[str, Any] = {
    "gguf_free": None,
    "gguf_get_version": c_uint32,
    "gguf_get_alignment": c_size_t,
    "gguf_get_data_offset": c_size_t,
    "gguf_get_n_kv": c_int64,
    "gguf_get_n_tensors": c_int64,
}
_OF_ITEM: dict[str, Any] = {
    "gguf_get_key": c_char_p,
    "gguf_get_kv_type": c_int,
    "gguf_get_arr_type": c_int,
    "gguf_get_arr_n": c_size_t,
    "gguf_get_arr_data": c_void_p,
    "gguf_get_val_data": c_void_p,
    "gguf_get_val_str": c_char_p,
    "gguf_get_tensor_name": c_char_p,
    "gguf_get_tensor_type": c_int,
    "gguf_get_tensor_offset": c_size_t,
    "gguf_get_tensor_size": c_size_t,
    "gguf_get_tensor_ne": POINTER(c_int64 * 4),
}
_ToFloat = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64)
_Log = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
# Takes the place of ggml's logger, which writes every refusal to stderr.
_SILENT = _Log(lambda _level, _text, _data: None)


class _TypeTraits(ctypes.Structure):
    _fields_ = (
        ("type_name", c_char_p),
        ("blck_size", c_int64),
        ("blck_size_interleave", c_int64),
        ("type_size", c_size_t),
        ("is_quantized", c_bool),
        ("to_float", _ToFloat),
        ("from_float_ref", c_void_p),
    )


class _InitParams(ctypes.Structure):
    _fields_ = (("no_alloc", c_bool), ("ctx", c_void_p))


@dataclass(frozen=True)
class TypeTraits:
    """What ggml knows about a type: a block of `elements` values in `bytes` bytes."""

    id: int
    name: str
    elements: int
    bytes: int
    is_quantized: bool
    has_to_float: bool


@dataclass(frozen=True)
class TensorInfo:
    """One tensor of a file as ggml's reader sees it; `shape` has the row length first."""

    name: str
    type: int
    shape: tuple[int, int, int, int]
    offset: int
    nbytes: int


@dataclass(frozen=True)
class File:
    """What ggml's reader found in a file: values are bytes, ndarrays, scalars or lists of bytes."""

    version: int
    alignment: int
    data_offset: int
    metadata: dict[bytes, Any]
    tensors: tuple[TensorInfo, ...]


def types() -> dict[int, TypeTraits]:
    """Every type ggml knows by its id; the removed ones have no elements."""
    found = {}
    for type_id in range(_TYPE_COUNT):
        traits = _traits(type_id)
        found[type_id] = TypeTraits(
            id=type_id,
            name=(traits.type_name or b"").decode(),
            elements=traits.blck_size,
            bytes=traits.type_size,
            is_quantized=traits.is_quantized,
            has_to_float=bool(traits.to_float),
        )
    return found


def dequantize(data: Bytes, type_id: int) -> Floats:
    """Decode uint8 `(..., bytes a row)` to float32 `(..., elements a row)`."""
    traits = _traits(type_id)
    data = np.ascontiguousarray(data)
    blocks = data.shape[-1] // traits.type_size
    out = np.empty((*data.shape[:-1], blocks * traits.blck_size), np.float32)
    if type_id == 0:
        out.view(np.uint8)[...] = data
        return out
    if not traits.to_float:
        raise ValueError(f"ggml has no to_float for type {type_id}")
    if out.size:
        traits.to_float(data.ctypes.data, out.ctypes.data, out.size)
    return out


def dequantize_into(data: Bytes, type_id: int, out: Floats) -> None:
    """Decode into `out` without allocating, for benchmarks; both contiguous, sizes as in ggml."""
    _traits(type_id).to_float(data.ctypes.data, out.ctypes.data, out.size)


def to_float_address(type_id: int) -> int:
    """The address of ggml's decoder for a type, to be timed from C."""
    return ctypes.cast(_traits(type_id).to_float, c_void_p).value or 0


def quantize(x: Floats, type_id: int, importance: Floats | None = None) -> Bytes:
    """Encode float32 `(rows, n)` to uint8 `(rows, bytes a row)`, as llama-quantize does.

    `importance` has shape `(n,)`. Q8_1 and Q8_K use ggml's reference functions.
    """
    x = np.ascontiguousarray(x, np.float32)
    traits = _traits(type_id)
    out = np.zeros((len(x), x.shape[1] // traits.blck_size * traits.type_size), np.uint8)
    quantize_into(x, type_id, importance, out)
    return out


def quantize_into(x: Floats, type_id: int, importance: Floats | None, out: Bytes) -> None:
    """Encode into `out` without allocating, for benchmarks; both contiguous, sizes as in ggml."""
    rows, n = x.shape
    if type_id in (_Q8_1, _Q8_K):
        name = "quantize_row_q8_1_ref" if type_id == _Q8_1 else "quantize_row_q8_K_ref"
        getattr(_lib(), name)(x.ctypes.data, out.ctypes.data, c_int64(x.size))
        return
    weights = None if importance is None else np.ascontiguousarray(importance, np.float32)
    pointer = None if weights is None else weights.ctypes.data_as(POINTER(c_float))
    if weights is None and _lib().ggml_quantize_requires_imatrix(type_id):
        raise ValueError(f"type {type_id} needs an importance matrix")
    written = _lib().ggml_quantize_chunk(
        type_id, x.ctypes.data, out.ctypes.data, 0, rows, n, pointer
    )
    if written != out.size:
        raise RuntimeError(f"ggml wrote {written} bytes, expected {out.size}")


def prepare(type_id: int) -> None:
    """Make the tables that quantizing a type needs, ten seconds for some; once a process."""
    _lib().ggml_quantize_init(c_int(type_id))


def is_valid(data: Bytes, type_id: int) -> bool:
    """Tell whether ggml accepts the bytes as values of a type (finite scales and the like)."""
    data = np.ascontiguousarray(data)
    return bool(_lib().ggml_validate_row_data(type_id, data.ctypes.data, data.nbytes))


def read(path: Path) -> File | None:
    """Read everything but tensor data as `gguf_init_from_file` with no_alloc; None if refused."""
    with _opened(path) as handle:
        if handle is None:
            return None
        lib = _lib()
        keys = range(lib.gguf_get_n_kv(handle))
        return File(
            version=lib.gguf_get_version(handle),
            alignment=lib.gguf_get_alignment(handle),
            data_offset=lib.gguf_get_data_offset(handle),
            metadata={lib.gguf_get_key(handle, key): _value(handle, key) for key in keys},
            tensors=tuple(_tensor(handle, i) for i in range(lib.gguf_get_n_tensors(handle))),
        )


def opens(path: Path) -> bool:
    """Open and close a file and do nothing else; for benchmarks and verdicts."""
    with _opened(path) as handle:
        return handle is not None


def verdicts(paths: Iterable[Path]) -> dict[Path, str]:
    """Tell for each file whether ggml's reader says "accept", "refuse" or dies ("abort").

    The reading is done by child processes, a new one after each death.
    """
    waiting = list(paths)
    found: dict[Path, str] = {}
    while waiting:
        child = subprocess.run(
            [sys.executable, __file__],
            input="\n".join(str(path) for path in waiting),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        answers = child.stdout.split()
        if len(answers) < len(waiting):
            answers.append("abort")
        found.update(zip(waiting, answers, strict=False))
        waiting = waiting[len(answers) :]
    return found


@cache
def library_path() -> Path:
    """The file of libggml-base in the installed wheel."""
    spec = find_spec("libggml")
    if spec is None or spec.origin is None:
        raise RuntimeError("the oracle libggml-python is not installed: pip install -e .[test]")
    return next(Path(spec.origin).parent.glob("lib*/libggml-base.so"))


@cache
def _lib() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library_path()))
    lib.ggml_get_type_traits.restype = POINTER(_TypeTraits)
    lib.ggml_quantize_requires_imatrix.restype = c_bool
    lib.ggml_quantize_chunk.restype = c_size_t
    lib.ggml_quantize_chunk.argtypes = [
        c_int,
        c_void_p,
        c_void_p,
        c_int64,
        c_int64,
        c_int64,
        POINTER(c_float),
    ]
    for name in ("quantize_row_q8_1_ref", "quantize_row_q8_K_ref"):
        getattr(lib, name).argtypes = [c_void_p, c_void_p, c_int64]
        getattr(lib, name).restype = None
    lib.ggml_validate_row_data.argtypes = [c_int, c_void_p, c_size_t]
    lib.ggml_validate_row_data.restype = c_bool
    lib.ggml_log_set.argtypes = [_Log, c_void_p]
    lib.ggml_log_set(_SILENT, None)
    lib.gguf_init_from_file.argtypes = [c_char_p, _InitParams]
    lib.gguf_init_from_file.restype = c_void_p
    for name, restype in _OF_FILE.items():
        getattr(lib, name).argtypes = [c_void_p]
        getattr(lib, name).restype = restype
    for name, restype in _OF_ITEM.items():
        getattr(lib, name).argtypes = [c_void_p, c_int64]
        getattr(lib, name).restype = restype
    lib.gguf_get_arr_str.argtypes = [c_void_p, c_int64, c_size_t]
    lib.gguf_get_arr_str.restype = c_char_p
    return lib


def _traits(type_id: int) -> _TypeTraits:
    if not 0 <= type_id < _TYPE_COUNT:
        raise ValueError(f"ggml does not know type {type_id}")
    traits: _TypeTraits = _lib().ggml_get_type_traits(type_id).contents
    return traits


@contextmanager
def _opened(path: Path) -> Iterator[c_void_p | None]:
    handle = _lib().gguf_init_from_file(str(path).encode(), _InitParams(True, None))
    try:
        yield handle
    finally:
        if handle is not None:
            _lib().gguf_free(handle)


def _value(handle: c_void_p, key: int) -> Any:
    lib = _lib()
    kind = lib.gguf_get_kv_type(handle, key)
    if kind == _STRING:
        return lib.gguf_get_val_str(handle, key)
    if kind != _ARRAY:
        return _array(lib.gguf_get_val_data(handle, key), _VALUE_TYPES[kind], 1)[0]
    count = lib.gguf_get_arr_n(handle, key)
    item = lib.gguf_get_arr_type(handle, key)
    if item == _STRING:
        return [lib.gguf_get_arr_str(handle, key, i) for i in range(count)]
    return _array(lib.gguf_get_arr_data(handle, key), _VALUE_TYPES[item], count)


def _array(address: int, dtype: Any, count: int) -> npt.NDArray[Any]:
    return np.frombuffer(ctypes.string_at(address, count * np.dtype(dtype).itemsize), dtype)


def _tensor(handle: c_void_p, index: int) -> TensorInfo:
    lib = _lib()
    return TensorInfo(
        name=lib.gguf_get_tensor_name(handle, index).decode(errors="surrogateescape"),
        type=lib.gguf_get_tensor_type(handle, index),
        shape=tuple(lib.gguf_get_tensor_ne(handle, index).contents),
        offset=lib.gguf_get_tensor_offset(handle, index),
        nbytes=lib.gguf_get_tensor_size(handle, index),
    )


if __name__ == "__main__":
    for line in sys.stdin:
        print("accept" if opens(Path(line.rstrip("\n"))) else "refuse", flush=True)
