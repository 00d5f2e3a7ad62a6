"""blocks/<type>.txt: bytes, and what decoding, unpacking and packing them gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from support import interpreter

from .rows import samples
from .storage import Kind, Row

Floats = npt.NDArray[np.float32]


def text(kind: Kind, version: str) -> str:
    """The file of a type."""
    records = [_record(kind, row) for row in samples(kind)]
    return f"# {kind.name}, spec {version}\n\n" + "\n".join(records)


def elements(kind: Kind, row: Row, order: str = "little") -> Floats:
    """What the interpreter of the type file makes of a row."""
    blocks = range(len(row.blocks) // kind.size)
    decoded = [interpreter.decode(kind.file, kind.stored(row, n, order)) for n in blocks]
    return np.concatenate([np.zeros(0, np.float32), *decoded])


def codes(kind: Kind, row: Row) -> dict[str, list[int]]:
    """All its codes by name, one block behind the other."""
    found: dict[str, list[int]] = {}
    for number in range(len(row.blocks) // kind.size):
        for name, values in interpreter.unpack(kind.file, kind.stored(row, number)).items():
            found.setdefault(name, []).extend(values)
    return found


def packed(kind: Kind, row: Row) -> bytes:
    """The bytes that packing these codes gives."""
    starts = range(0, len(row.blocks), kind.size)
    return b"".join(kind.packed(row.blocks[start : start + kind.size]) for start in starts)


def bits(values: Floats) -> list[str]:
    """Float32 as text: eight hexadecimal digits, or nan."""
    raw = np.ascontiguousarray(values, np.float32).reshape(-1)
    pairs = zip(raw.view(np.uint32).tolist(), np.isnan(raw).tolist(), strict=True)
    return ["nan" if is_nan else f"{word:08x}" for word, is_nan in pairs]


def _record(kind: Kind, row: Row) -> str:
    return "".join(f"{line}\n" for line in _lines(kind, row))


def _lines(kind: Kind, row: Row) -> Iterator[str]:
    yield f"# {row.what}"
    yield f"type {kind.name}"
    yield f"block {row.blocks.hex()}"
    if row.prefix:
        yield f"prefix {row.prefix.hex()}"
    if row.suffix:
        yield f"suffix {row.suffix.hex()}"
    yield _joined("x", bits(elements(kind, row)))
    if not kind.plain:
        for name, values in codes(kind, row).items():
            yield _joined(f"code {name}", [str(value) for value in values])
        yield f"pack {packed(kind, row).hex()}"


def _joined(name: str, values: Sequence[str]) -> str:
    return f"{name} {' '.join(values)}"
