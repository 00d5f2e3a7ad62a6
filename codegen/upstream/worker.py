"""The process that calls a built ggml: what it does wrong there ends it and not us.

Run as a script of its own, with the library's path; it reads requests from standard input and
answers on standard output (`library` is the other end). Nothing of ggufspec is imported here.

A request is a header (operation, type id, two numbers, bytes that follow) and those bytes; an
answer is a status (0 good, 1 a message follows), a length, and bytes.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from ctypes import c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any, BinaryIO

REQUEST = struct.Struct("<BiQQQ")
ANSWER = struct.Struct("<BQ")
DESCRIBE, TYPE, VALUE_TYPE, DEQUANTIZE, QUANTIZE = range(5)

_WORDS = 8
"""Machine words of a type's traits that are looked through."""
_LARGEST = 1 << 16
"""Elements and bytes of a block that are believed."""
_ROWS = {"f16": "ggml_fp16_to_fp32_row", "bf16": "ggml_bf16_to_fp32_row"}


class _InitParams(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("buffer", c_void_p), ("no_alloc", ctypes.c_bool))


class RefusedError(Exception):
    """What the library cannot be asked."""


class Ggml:
    """The functions of a library, whatever its version."""

    def __init__(self, path: Path) -> None:
        self.lib = _load(path)
        for name, result in (
            ("ggml_type_name", c_char_p),
            ("ggml_blck_size", c_int64),
            ("ggml_type_size", c_size_t),
            ("ggml_version", c_char_p),
            ("gguf_type_name", c_char_p),
            ("ggml_get_type_traits", c_void_p),
            ("ggml_quantize_requires_imatrix", ctypes.c_bool),
            ("ggml_quantize_chunk", c_size_t),
        ):
            if self.has(name):
                getattr(self.lib, name).restype = result
        self._start()

    def has(self, name: str) -> bool:
        return hasattr(self.lib, name)

    def _start(self) -> None:
        """Older versions fill their tables of halves when a context is made."""
        if not (self.has("ggml_init") and self.has("ggml_free")):
            return
        self.lib.ggml_init.restype = c_void_p
        self.lib.ggml_init.argtypes = [_InitParams]
        self.lib.ggml_free.argtypes = [c_void_p]
        context = self.lib.ggml_init(_InitParams(1 << 16, None, True))
        if context:
            self.lib.ggml_free(context)

    def describe(self) -> dict[str, Any]:
        version = self.lib.ggml_version() if self.has("ggml_version") else None
        return {"version": (version or b"").decode("utf-8", "replace")}

    def type(self, number: int) -> dict[str, Any] | None:
        """Name, sizes and functions of a type; None past the end or for one that is gone."""
        elements, size = self.lib.ggml_blck_size(number), self.lib.ggml_type_size(number)
        if not (0 < elements <= _LARGEST and 0 < size <= _LARGEST):
            return None
        name = (self.lib.ggml_type_name(number) or b"").decode("ascii", "replace")
        if not (name.isprintable() and name.isascii() and name):
            return None
        decoder = self._decoder(number, name, elements, size)
        return {
            "name": name,
            "elements": elements,
            "bytes": size,
            "decodes": decoder is not None,
            "quantizer": self._quantizer(name),
            "needs_importance": bool(
                self.has("ggml_quantize_requires_imatrix")
                and self.lib.ggml_quantize_requires_imatrix(number)
            ),
        }

    def value_type(self, number: int) -> str | None:
        if not self.has("gguf_type_name"):
            return None
        name = self.lib.gguf_type_name(number)
        return name.decode("ascii", "replace") if name else None

    def dequantize(self, number: int, count: int, data: bytes) -> bytes:
        """So many elements of a type from their bytes."""
        kind = self.type(number)
        if kind is None:
            raise RefusedError(f"the library has no type {number}")
        if kind["name"] == "f32":
            return data
        run = self._decoder(number, kind["name"], kind["elements"], kind["bytes"])
        if run is None:
            raise RefusedError(f"the library does not decode {kind['name']}")
        if len(data) * kind["elements"] != count * kind["bytes"]:
            raise RefusedError(f"{len(data)} bytes are not {count} elements of {kind['name']}")
        source = ctypes.create_string_buffer(data, max(1, len(data)))
        target = ctypes.create_string_buffer(max(1, 4 * count))
        run(ctypes.addressof(source), ctypes.addressof(target), count)
        return target.raw[: 4 * count]

    def quantize(self, number: int, rows: int, length: int, data: bytes) -> bytes:
        """Rows of floats, behind them perhaps an importance of a row, to the type's bytes."""
        kind = self.type(number)
        if kind is None or length % kind["elements"]:
            raise RefusedError(f"no rows of {length} elements for type {number}")
        size = rows * length // kind["elements"] * kind["bytes"]
        source = ctypes.create_string_buffer(data, max(1, len(data)))
        target = ctypes.create_string_buffer(max(1, size))
        at = ctypes.addressof(source)
        weights = at + 4 * rows * length if len(data) > 4 * rows * length else None
        if kind["quantizer"] == "chunk":
            self.lib.ggml_quantize_chunk.argtypes = [
                c_int, c_void_p, c_void_p, c_int64, c_int64, c_int64, c_void_p,
            ]  # fmt: skip
            if weights is None and kind["needs_importance"]:
                raise RefusedError(f"{kind['name']} needs an importance")
            self.lib.ggml_quantize_chunk(
                number, at, ctypes.addressof(target), 0, rows, length, weights
            )
        elif kind["quantizer"]:
            run = getattr(self.lib, kind["quantizer"])
            run.argtypes = [c_void_p, c_void_p, c_int64]
            run(at, ctypes.addressof(target), rows * length)
        else:
            raise RefusedError(f"the library does not quantize to {kind['name']}")
        return target.raw[:size]

    def _quantizer(self, name: str) -> str:
        """How to quantize: the general function, but it aborts on types for activations."""
        if name.lower() in {"q8_1", "q8_k"}:
            own = f"quantize_row_{name}_ref"
            return own if self.has(own) else ""
        plain = name in {"f32", "f16", "bf16"} or self.has(f"quantize_{name}")
        return "chunk" if plain and self.has("ggml_quantize_chunk") else ""

    def _decoder(self, number: int, name: str, elements: int, size: int) -> Any:
        """The function that decodes rows: by its name, else out of the type's traits."""
        own = _ROWS.get(name, f"dequantize_row_{name}")
        if self.has(own):
            run = getattr(self.lib, own)
            run.restype = None
            run.argtypes = [c_void_p, c_void_p, c_int64]
            return run
        address = self._to_float(number, elements, size)
        form = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_int64)
        return form(address) if address else None

    def _to_float(self, number: int, elements: int, size: int) -> int:
        """The pointer behind the sizes and the flag in the traits, in any version's order."""
        if not self.has("ggml_get_type_traits"):
            return 0
        traits = self.lib.ggml_get_type_traits(number)
        if not traits:
            return 0
        words = (c_size_t * _WORDS).from_address(traits)
        for place in range(2, _WORDS - 2):
            flag = words[place + 1] & 0xFF
            if words[1] == elements and words[place] == size and flag in {0, 1}:
                return int(words[place + 2])
        return 0


def _load(path: Path) -> ctypes.CDLL:
    """The library, or the one beside it that holds the types."""
    folders = [path.parent]
    if path.is_dir():
        below = ("", "lib64", "lib", "bin", "*/lib64", "*/lib")
        folders = [f for name in below for f in (sorted(path.glob(name)) if name else [path])]
    tried = [] if path.is_dir() else [path]
    for pattern in ("*ggml-base.*", "*ggml-base*", "*ggml.*", "*ggml*"):
        for folder in folders:
            tried += sorted(p for p in folder.glob(pattern) if p.is_file() and p not in tried)
    reasons = []
    for one in tried:
        try:
            lib = ctypes.CDLL(str(one.resolve()), mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            reasons.append(f"{one}: {error}".replace(f"{one}: {one.resolve()}", str(one), 1))
            continue
        if hasattr(lib, "ggml_type_size") and hasattr(lib, "ggml_type_name"):
            return lib
        reasons.append(f"{one} has no ggml_type_size")
    raise RefusedError(reasons[0] if reasons else f"{path} holds no ggml library")


def _answer(ggml: Ggml, operation: int, number: int, a: int, b: int, data: bytes) -> bytes:
    match operation:
        case 0:
            return json.dumps(ggml.describe()).encode()
        case 1:
            return json.dumps(ggml.type(number)).encode()
        case 2:
            return json.dumps(ggml.value_type(number)).encode()
        case 3:
            return ggml.dequantize(number, a, data)
        case 4:
            return ggml.quantize(number, a, b, data)
    raise RefusedError(f"operation {operation}")


def _exactly(stream: BinaryIO, count: int) -> bytes:
    parts = []
    while count:
        part = stream.read(count)
        if not part:
            raise EOFError
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _say(stream: BinaryIO, status: int, data: bytes) -> None:
    stream.write(ANSWER.pack(status, len(data)) + data)
    stream.flush()


def main() -> None:
    """Serve requests until there are no more."""
    source = sys.stdin.buffer
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints must not stand between answers
    try:
        ggml = Ggml(Path(sys.argv[1]))
    except RefusedError as error:
        _say(target, 1, str(error).encode())
        return
    _say(target, 0, b"")
    while True:
        try:
            operation, number, a, b, length = REQUEST.unpack(_exactly(source, REQUEST.size))
            data = _exactly(source, length)
        except EOFError:
            return
        try:
            _say(target, 0, _answer(ggml, operation, number, a, b, data))
        except RefusedError as error:
            _say(target, 1, str(error).encode())


if __name__ == "__main__":
    main()
