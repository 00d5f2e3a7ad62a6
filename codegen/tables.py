"""Codebooks and sign rules: small integer tables, kept reviewable and pinned by hash."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import reduce
from operator import mul
from pathlib import Path

from .names import fault
from .schema import load_checked
from .source import Source


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


def load_tables(root: Path, schemas: Path | None = None) -> dict[str, Table]:
    """The tables of a spec folder by name; schemas: the folder of the schemas if it is elsewhere.

    Raises SpecError.
    """
    schema = (schemas or root / "schema") / "table.schema.json"
    tables = {}
    for path in sorted((root / "tables").glob("*.yaml")):
        source = load_checked(path, root, schema)
        table = _table(source)
        source.check_file_name(table.name)
        problem = fault(table.name, {})
        if problem:
            source.fail(("name",), problem)
        tables[table.name] = table
    return tables


def _table(source: Source) -> Table:
    entry = source.data
    if ("rows" in entry) == ("data" in entry):
        source.fail((), "the numbers are either data, or rows of digits with their values")
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
    if min(data) < 0 and max(data) > 127:
        source.fail(where, f"no type of one byte holds {min(data)} and {max(data)}")
    digest = hashlib.sha256(bytes(value & 0xFF for value in data)).hexdigest()
    if digest != entry["sha256"]:
        source.fail(("sha256",), f"the numbers hash to {digest}: one of the two is wrong")
    return Table(entry["name"], shape, data, entry.get("doc", ""))


def _from_digits(source: Source, values: list[int], rows: str) -> tuple[int, ...]:
    known = {str(digit): value for digit, value in enumerate(values)}
    digits = "".join(rows.split())
    stray = next((digit for digit in digits if digit not in known), None)
    if stray is not None:
        source.fail(("rows",), f"{stray!r} is no digit below {len(values)}")
    return tuple(known[digit] for digit in digits)
