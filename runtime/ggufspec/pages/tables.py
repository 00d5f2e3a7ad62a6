"""Tables of a page: roles, tensors, types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ..cli import text
from ..cli.bitbar import bar
from .places import Grid, shown

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from ..jobs.comparing import Sums

_TENSORS = 5_000  # rows of the table of tensors
_ROLES = 200
_CHARACTERS = 600_000  # of the table of tensors


@dataclass(frozen=True)
class Column:
    """A column's head; numbers stand at the right."""

    name: str
    right: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells; ``more`` says what is not in them."""

    columns: Sequence[Column]
    rows: list[Sequence[str]]
    more: str = ""


@dataclass(frozen=True)
class Kind:
    """A type's layout."""

    name: str
    size: str
    doc: str
    picture: str


def roles(grid: Grid) -> Table:
    """What each role takes."""
    whole = sum(cell.nbytes for cell in grid.roles.values())
    rows = [
        (
            shown(role),
            f"{len(cell.tensors):,}",
            ", ".join(
                name if len(cell.types) == 1 else f"{name} \N{MULTIPLICATION SIGN} {count:,}"
                for name, count in cell.types.items()
            ),
            f"{cell.weights:,}",
            f"{cell.nbytes:,}",
            f"{100 * cell.nbytes / whole:.2f} %" if whole else "",
            f"{cell.bits:.3f}",
        )
        for role, cell in list(grid.roles.items())[:_ROLES]
    ]
    columns = (
        Column("Role"),
        Column("Tensors", right=True),
        Column("Types"),
        Column("Weights", right=True),
        Column("Bytes", right=True),
        Column("Share", right=True),
        Column("Bits per weight", right=True),
    )
    left = len(grid.roles) - len(rows)
    return Table(
        columns, list(rows), f"{text.plural(left, 'role')} more are not shown." if left else ""
    )


def tensors(every: Sequence[Tensor], errors: Mapping[str, Sums] | None) -> Table:
    """All tensors, or as many as a page can hold."""
    from .plots import decibels

    columns = [
        Column("Name"),
        Column("Type"),
        Column("Shape"),
        Column("Bytes", right=True),
        Column("Bits per weight", right=True),
        Column("Offset in the file", right=True),
    ]
    if errors is not None:
        columns.insert(5, Column("SNR in dB", right=True))
    rows: list[Sequence[str]] = []
    room = _CHARACTERS
    for tensor in every[:_TENSORS]:
        weights = prod(tensor.shape)
        row = [
            shown(tensor.name),
            tensor.type,
            text.shape(tensor.shape),
            f"{tensor.nbytes:,}",
            f"{8 * tensor.nbytes / weights:.4g}" if weights else "",
            f"{tensor.file_offset:,}",
        ]
        if errors is not None:
            found = errors.get(tensor.name)
            row.insert(5, decibels(found.snr).removesuffix(" dB") if found else "")
        room -= sum(map(len, row)) + 60
        if room < 0:
            break
        rows.append(row)
    left = len(every) - len(rows)
    more = f"{text.plural(left, 'tensor')} more: ggufspec info FILE lists all." if left else ""
    return Table(columns, rows, more)


def kinds(names: Iterable[str]) -> list[Kind]:
    """How the types store their weights, those of the file."""
    from ..generated.describe import DESCRIPTIONS
    from ..registry import types

    made = []
    for name in names:
        if name not in types or name not in DESCRIPTIONS:
            continue
        kind, told = types[name], DESCRIPTIONS[name]
        size = (
            f"{text.plural(kind.elements, 'weight')} in {text.plural(kind.bytes, 'byte')}, "
            f"{kind.bits_per_weight:.5g} bits per weight"
            if kind.elements
            else kind.status
        )
        lines = [
            f"byte {offset:>3}  {word:<18} {scalar:<5} {bar(scalar, cuts)}"
            for offset, word, scalar, _, cuts in told.picture
        ]
        formulas = [f"{left} = {right}" for left, right in told.decode]
        picture = "\n".join([*lines, "", *formulas]) if not kind.plain else ""
        made.append(Kind(kind.name, size, f"{told.doc}; since {told.since}", picture))
    return made
