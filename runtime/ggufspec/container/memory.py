"""The address of a buffer's bytes, for the compiled part."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_void_p
from functools import cache
from typing import Any


class _Buffer(ctypes.Structure):
    """CPython's Py_buffer: the only way to the address of read-only memory without NumPy."""

    _fields_ = (
        ("buf", c_void_p),
        ("obj", ctypes.py_object),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", c_void_p),
        ("strides", c_void_p),
        ("suboffsets", c_void_p),
        ("internal", c_void_p),
    )


class Held:
    """Keeps a buffer's bytes where they are, from its making until `release`."""

    def __init__(self, view: memoryview) -> None:
        self._buffer = _Buffer()
        _python("PyObject_GetBuffer")(ctypes.py_object(view), byref(self._buffer), 0)

    @property
    def address(self) -> int:
        """Of the first byte; 0 when released."""
        return self._buffer.buf or 0

    def release(self) -> None:
        """Let go of it."""
        _python("PyBuffer_Release")(byref(self._buffer))
        self._buffer.buf = None


@cache
def _python(function: str) -> Any:
    """A function of the interpreter itself."""
    call = getattr(ctypes.pythonapi, function)
    call.argtypes = {
        "PyObject_GetBuffer": [ctypes.py_object, POINTER(_Buffer), c_int],
        "PyBuffer_Release": [POINTER(_Buffer)],
    }[function]
    call.restype = c_int if function == "PyObject_GetBuffer" else None
    return call
