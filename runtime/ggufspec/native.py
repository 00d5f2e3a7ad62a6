"""Finds and loads libggufspec, the compiled part: plain C, reached through ctypes.

The environment variable GGUFSPEC_NATIVE decides at run time as it does at build time:
`0` ignores the library, `1` makes its absence an error, unset takes it if it is there.
GGUFSPEC_LIBRARY names another build of it, say one with sanitizers.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ggufspec
from ggufspec.generated import SPEC_VERSION

_FILE_NAMES = {"win32": "ggufspec.dll", "darwin": "libggufspec.dylib"}
_OFF = frozenset({"0", "false", "off", "no"})
_REQUIRED = frozenset({"1", "true", "on", "yes"})


class _Outcome(NamedTuple):
    """The loaded library, or why there is none."""

    library: ctypes.CDLL | None
    description: str


def lib() -> ctypes.CDLL | None:
    """Return the loaded library, or None where the NumPy kernels have to serve.

    Calls through it release the interpreter lock. Raises ImportError when GGUFSPEC_NATIVE=1
    asks for a library that is missing, broken or built from another specification.
    """
    return _load().library


def describe() -> str:
    """Say in one line which compiled part runs, or why none does."""
    return _load().description


@cache
def _load() -> _Outcome:
    wish = os.environ.get("GGUFSPEC_NATIVE", "").lower()
    if wish in _OFF:
        return _Outcome(None, "none (switched off by GGUFSPEC_NATIVE)")
    outcome = _open_library()
    if outcome.library is None and wish in _REQUIRED:
        raise ImportError(f"GGUFSPEC_NATIVE asks for the compiled part: {outcome.description}")
    return outcome


def _open_library() -> _Outcome:
    path = _find()
    if path is None:
        return _Outcome(None, "none (built without a C compiler)")
    try:
        library = ctypes.CDLL(str(path))
        version = _text(library, "ggufspec_spec_version")
        variant = _text(library, "ggufspec_variant")
        compiler = _text(library, "ggufspec_compiler")
    except (OSError, AttributeError) as error:
        return _Outcome(None, f"none ({path.name} does not load: {error})")
    if version != SPEC_VERSION:
        return _Outcome(
            None,
            f"none ({path.name} was built from specification {version}, "
            f"this package has {SPEC_VERSION}: install again)",
        )
    return _Outcome(library, f"{path.name} ({variant}, {compiler}), specification {version}")


def _find() -> Path | None:
    named = os.environ.get("GGUFSPEC_LIBRARY")
    if named:
        return Path(named)
    name = _FILE_NAMES.get(sys.platform, "libggufspec.so")
    # An editable install keeps the sources and the built library in two folders.
    candidates = (Path(folder) / "_native" / name for folder in ggufspec.__path__)
    return next((path for path in candidates if path.is_file()), None)


def _text(library: ctypes.CDLL, function: str) -> str:
    call = getattr(library, function)
    call.argtypes = []
    call.restype = ctypes.c_char_p
    return str(call().decode())
