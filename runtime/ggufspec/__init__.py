"""Read, write, check and quantize GGUF files, from one specification of the format.

Names are imported when they are first used: opening a file needs no NumPy until a tensor
or a numeric array is touched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .blocks.rows import dequantize
    from .errors import GGUFError
    from .files.reader import File, open  # noqa: A004
    from .files.tensor import Tensor
    from .files.values import TensorData, Value
    from .files.writer import write
    from .quantizers.quantize import quantize
    from .registry import types
    from .report import Finding, Report
    from .validation import validate

__version__ = "0.1.0"

_HOMES = {
    "File": "files.reader",
    "Finding": "report",
    "GGUFError": "errors",
    "Report": "report",
    "Tensor": "files.tensor",
    "TensorData": "files.values",
    "Value": "files.values",
    "dequantize": "blocks",
    "open": "files.reader",
    "quantize": "quantizers.quantize",
    "types": "registry",
    "validate": "validation",
    "write": "files.writer",
}

__all__ = [
    "File", "Finding", "GGUFError", "Report", "Tensor", "TensorData", "Value", "dequantize",
    "open", "quantize", "types", "validate", "write",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
