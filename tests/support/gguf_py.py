"""gguf-py, the NumPy oracle: its dequantizers and its reader. Types are named by their ggml id."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf.quants import _type_traits


def type_sizes() -> dict[int, tuple[int, int]]:
    """Elements and bytes of a block of every type it knows."""
    return {int(kind): sizes for kind, sizes in gguf.GGML_QUANT_SIZES.items()}


def type_names() -> dict[int, str]:
    """Names of the types it knows."""
    return {int(kind): kind.name for kind in gguf.GGMLQuantizationType}


def dequantizable() -> frozenset[int]:
    """Ids of the types it decodes."""
    plain = (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16)
    return frozenset(int(kind) for kind in (*_type_traits, *plain))


def dequantize(data: npt.NDArray[np.uint8], type_id: int) -> npt.NDArray[np.float32]:
    """Decode uint8 `(..., bytes a row)` to float32 `(..., elements a row)`."""
    kind = gguf.GGMLQuantizationType(type_id)
    data = np.ascontiguousarray(data)
    # gguf-py wants the plain types in their own dtype.
    plain = {"F32": np.float32, "F16": np.float16}.get(kind.name)
    with np.errstate(all="ignore"):
        decoded = gguf.dequantize(data if plain is None else data.view(plain), kind)
    return np.asarray(decoded, np.float32)


def read(path: Path) -> gguf.GGUFReader:
    """Open a file with gguf-py's own reader, some times faster than it is."""
    return _Reader(path)


def metadata(reader: gguf.GGUFReader) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Every key's value types (say `("ARRAY", "STRING")`) and value, in the file's order."""
    return {
        name: (tuple(kind.name for kind in field.types), field.contents())
        for name, field in reader.fields.items()
        if not name.startswith("GGUF.")
    }


class _Reader(gguf.GGUFReader):  # type: ignore[misc]
    """Reads each piece with one NumPy call; most of gguf-py's time goes into three."""

    data: npt.NDArray[np.uint8]

    def _get(
        self, offset: int, dtype: Any, count: int = 1, override_order: str | None = None
    ) -> npt.NDArray[Any]:
        if isinstance(self.data, np.memmap):
            self.data = np.asarray(self.data)
        ordered = _ordered(dtype, override_order or self.byte_order)
        return np.frombuffer(self.data, ordered, int(count), int(offset))


@cache
def _ordered(dtype: Any, order: str) -> np.dtype[Any]:
    swapped: np.dtype[Any] = np.dtype(dtype).newbyteorder(order)
    return swapped
