"""Importance matrices of both forms, made byte by byte, and what llama-quantize makes of them.

Nothing is checked. Sums, counts and values are float32; names are those of the weight tensors.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from support import gguf_py
from support.crafted import ARRAY, F32, STRING, UINT32, V3, Form, file, padded

Floats = npt.NDArray[np.float32]

SMOLLM2 = Path(__file__).parents[1] / "data" / "smollm2-135m.imatrix.gguf"
"""What llama-imatrix made of SmolLM2-135M: 210 entries, 12 chunks of `calib.txt`."""


def gguf_form(
    entries: Mapping[str, tuple[Any, Any]],
    datasets: Sequence[str | bytes] = ("calib.txt",),
    chunk_count: int = 12,
    chunk_size: int = 512,
    form: Form = V3,
) -> bytes:
    """A matrix as llama-imatrix writes it now; an entry is sums (experts, columns) and counts."""
    tensors = {}
    for name, (sums, counts) in entries.items():
        tensors[f"{name}.in_sum2"] = np.atleast_2d(np.asarray(sums, np.float32))
        tensors[f"{name}.counts"] = np.asarray(counts, np.float32).reshape(-1, 1)
    return with_tensors(tensors, pairs(datasets, chunk_count, chunk_size, form), form)


def pairs(
    datasets: Sequence[str | bytes] = ("calib.txt",),
    chunk_count: int = 12,
    chunk_size: int = 512,
    form: Form = V3,
) -> list[bytes]:
    """The key-value pairs of a matrix."""
    names = b"".join(form.string(name) for name in datasets)
    return [
        form.pair("general.type", STRING, form.string("imatrix")),
        form.pair("imatrix.datasets", ARRAY, form.array(STRING, len(datasets), names)),
        form.pair("imatrix.chunk_count", UINT32, form.u32(chunk_count)),
        form.pair("imatrix.chunk_size", UINT32, form.u32(chunk_size)),
    ]


def with_tensors(
    tensors: Mapping[str, Floats], keys: Sequence[bytes], form: Form = V3, kind: int = F32
) -> bytes:
    """A GGUF file of float32 arrays; `kind` claims another type."""
    infos, data = [], b""
    for name, array in tensors.items():
        infos.append(form.tensor(name, array.shape[::-1], kind, len(data)))
        stored = array.astype("<f4" if form.order == "little" else ">f4")
        data += padded(stored.tobytes())
    return file(keys, infos, data, form=form)


def dat_form(
    entries: Mapping[str | bytes, tuple[int, Any]],
    chunks: int | None = 12,
    dataset: str | bytes | None = "calib.txt",
) -> bytes:
    """A matrix of the older form; an entry is calls and values. None leaves the trailer out."""
    parts = [_int(len(entries))]
    for name, (calls, values) in entries.items():
        array = np.asarray(values, np.float32)
        parts += [_text(name), _int(calls), _int(array.size), array.tobytes()]
    if chunks is not None:
        parts.append(_int(chunks))
    if dataset is not None:
        parts.append(_text(dataset))
    return b"".join(parts)


def expected(path: Path) -> dict[str, Floats]:
    """The importance of every tensor of a GGUF matrix: read by gguf-py, reckoned as in C."""
    tensors = {tensor.name: np.array(tensor.data) for tensor in gguf_py.read(path).tensors}
    found = {}
    for key, sums in tensors.items():
        name, _, kind = key.rpartition(".")
        if kind == "in_sum2":
            counts = tensors[f"{name}.counts"].reshape(-1)
            found[name] = _means(sums.reshape(len(counts), -1), counts)
    return found


def _means(sums: Floats, counts: Floats) -> Floats:
    """One expert after the other; C's lround is halves away from zero."""
    rows = []
    for row, count in zip(sums, counts, strict=True):
        rounded = np.float32(int(np.floor(np.float64(count) + 0.5)))
        rows.append(row / rounded if rounded > 0 else np.ones_like(row))
    return np.concatenate(rows)


def _int(value: int) -> bytes:
    return struct.pack("=i", value)


def _text(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return _int(len(data)) + data
