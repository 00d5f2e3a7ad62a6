"""Codebooks and sign rules: small integer tables, kept reviewable and pinned by hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import reduce
from operator import mul
from pathlib import Path

from .schema import check_schema
from .source import Source, load_yaml


@dataclass(frozen=True)
class Table:
    """``data`` in row-major order; one byte an entry is enough for every codebook of ggml."""

    name: str
    shape: tuple[int, ...]
    data: tuple[int, ...]
    doc: str

    @property
    def low(self) -> int:
        return min(self.data)

    @property
    def high(self) -> int:
        return max(self.data)

    @property
    def signed(self) -> bool:
        return self.low < 0


def load_tables(root: Path) -> dict[str, Table]:
    tables = {}
    for path in sorted((root / "tables").glob("*.yaml")):
        source = load_yaml(path, root)
        check_schema(source, root / "schema" / "table.schema.json")
        table = _table(source)
        if path.stem != table.name:
            source.fail(("name",), f"file {path.name} must be named {table.name}.yaml")
        tables[table.name] = table
    return tables


def _table(source: Source) -> Table:
    entry = source.data
    shape = tuple(entry["shape"])
    if "rows" in entry:
        data = _from_digits(source, entry["values"], entry["rows"])
        where = ("rows",)
    else:
        data = tuple(entry["data"])
        where = ("data",)
    count = reduce(mul, shape, 1)
    if len(data) != count:
        source.fail(where, f"{len(data)} numbers, but the shape {list(shape)} holds {count}")
    digest = hashlib.sha256(bytes(value & 0xFF for value in data)).hexdigest()
    if digest != entry["sha256"]:
        source.fail(("sha256",), f"the numbers' bytes hash to {digest}")
    return Table(entry["name"], shape, data, entry.get("doc", ""))


def _from_digits(source: Source, values: list[int], rows: str) -> tuple[int, ...]:
    digits = "".join(rows.split())
    try:
        return tuple(values[int(digit)] for digit in digits)
    except (ValueError, IndexError):
        stray = next(d for d in digits if not d.isdigit() or int(d) >= len(values))
        source.fail(("rows",), f"{stray!r} is no digit below {len(values)}")
