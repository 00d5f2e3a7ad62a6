"""Block types and codebooks as Rust tables."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from ...loops import packing
from ...model import BlockType, Field, wide_words
from ...scalars import Scalar
from ...tables import Table

_WIDTH = 96


def codebook(table: Table) -> dict[str, str]:
    """A table of spec/tables: an array, or an array of rows; large ones as digits."""
    rust = "i8" if table.signed else "u8"
    shape, entries = f"[{rust}; {table.shape[0]}]", list(map(str, table.data))
    values = sorted(set(table.data))
    if len(table.shape) == 2:
        width = table.shape[1]
        shape = f"[[{rust}; {width}]; {table.shape[0]}]"
        if len(values) <= 10:
            return _digits(table, shape, values)
        rows = (entries[first : first + width] for first in range(0, len(entries), width))
        entries = [f"[{','.join(row)}]" for row in rows]
    return _array(f"TABLE_{table.name.upper()}", shape, entries, table.doc)


def _digits(table: Table, shape: str, values: list[int]) -> dict[str, str]:
    """A digit an entry, which says the place of its value; the compiler makes the table of them."""
    digits = "".join(str(values.index(value)) for value in table.data)
    rows = [digits[first : first + _WIDTH] for first in range(0, len(digits), _WIDTH)]
    sign = "signed" if table.signed else "unsigned"
    lines = "\n".join(['    b"\\', *(f"{row}\\" for row in rows), '",'])
    made = f"{sign}(\n{lines}\n    &{values},\n)"
    return {"name": f"TABLE_{table.name.upper()}", "rust": shape, "made": made, "doc": table.doc}


def small_float(scalar: Scalar) -> dict[str, str]:
    """The value of each byte of an 8-bit float, exact in float32."""
    entries = [_shortest(value) for value in scalar.values()]
    return _array(f"SCALAR_{scalar.name.upper()}", "[f32; 256]", entries, scalar.doc)


def _shortest(value: float) -> str:
    """The fewest digits that mean a float32."""
    wanted = struct.pack("<f", value)
    texts = (repr(float(f"{value:.{digits}g}")) for digits in range(1, 18))
    return next(text for text in texts if struct.pack("<f", float(text)) == wanted)


def _array(name: str, rust: str, entries: Iterable[str], doc: str) -> dict[str, str]:
    lines = [""]
    for entry in entries:
        if len(lines[-1]) + len(entry) + 1 > _WIDTH:
            lines.append("")
        lines[-1] += f"{entry},"
    made = "\n".join(["[", *lines, "]"])
    return {"name": name, "rust": rust, "made": made, "doc": doc}


def type_info(kind: BlockType) -> dict[str, object]:
    """A row of `TYPES`."""
    return {
        "kind": kind,
        "id": "None" if kind.id is None else f"Some({kind.id})",
        "status": kind.status.capitalize(),
        "module": kind.name.lower(),
        "codes": codes(kind),
        "words": _words(kind.fields),
        "prefix_words": _words(kind.prefix),
        "suffix_words": _words(kind.suffix),
    }


def codes(kind: BlockType) -> list[str]:
    """What `unpack` gives; of stored floats the bits."""
    if kind.plain or not kind.regions:
        return []
    made = []
    for array in packing.arrays(kind):
        low, high = array.low, array.high
        if array.scalar is not None and array.is_float:
            low, high = 0, (1 << array.scalar.bits) - 1
        made.append(f'code("{array.name}", {array.count}, {low}, {high})')
    return made


def _words(fields: Sequence[Field]) -> list[str]:
    return [f"word({', '.join(map(str, run))})" for run in wide_words(fields)]
