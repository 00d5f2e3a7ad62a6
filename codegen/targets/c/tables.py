"""Codebooks and small floats as C tables, shared by all kernels and variants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...scalars import Scalar
from ...tables import Table

_WIDTH = 96


@dataclass(frozen=True)
class CTable:
    """``const ctype name[count]``, with its numbers as C text."""

    name: str
    ctype: str
    values: tuple[str, ...]
    doc: str

    @property
    def declaration(self) -> str:
        return f"const {self.ctype} {self.name}[{len(self.values)}]"

    @property
    def lines(self) -> list[str]:
        """The numbers in lines of readable length."""
        lines = [""]
        for value in self.values:
            if len(lines[-1]) + len(value) + 2 > _WIDTH:
                lines.append("")
            lines[-1] += f"{value}, "
        return [line.rstrip() for line in lines]


def codebook(table: Table) -> CTable:
    """A table of spec/tables, row-major, a byte an entry."""
    ctype = "int8_t" if table.signed else "uint8_t"
    return CTable(f"table_{table.name}", ctype, tuple(map(str, table.data)), table.doc)


def small_float(scalar: Scalar) -> CTable:
    """The value of each byte of an 8-bit float: cheaper than taking it apart."""
    values = tuple(f"{hex_float(value)}f" for value in scalar.values())
    return CTable(f"scalar_{scalar.name}", "float", values, scalar.doc)


def hex_float(value: float) -> str:
    """A float as exact, short C text."""
    if value == int(value) and abs(value) < 1 << 20:
        return f"{value:.1f}"
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.')}p{exponent}"


def collect(
    codebooks: Mapping[str, Table], scalars: Mapping[str, Scalar], derived: Iterable[CTable]
) -> list[CTable]:
    """Every table, each once, in an order that does not depend on who asked first."""
    made = [codebook(table) for table in codebooks.values()]
    made += [small_float(s) for s in scalars.values() if s.is_float and s.bits == 8]
    unique = {table.name: table for table in derived}
    return made + [unique[name] for name in sorted(unique)]
