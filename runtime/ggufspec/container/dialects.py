"""Whose type numbers a file uses: the dialect under which its tensors tile the data section.

Forks give one number different layouts. A tensor's room, up to the next tensor or the end of the
data, must be the padded size of its layout: that decides. What it leaves open stays open.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from .front import Front
from .layout import pad_up
from .scan import Buffer, Scan, scan

if TYPE_CHECKING:
    from ..dialects import Dialect
    from ..registry import TensorType

INFERRING = frozenset({"strict", "lenient"})
"""Profiles that find out about dialects; the others speak of ggml's own numbers."""


MOST_ROOMS = 1 << 14
"""Tensors that are looked at: a few would do, and a hostile file may have millions."""


@dataclass(frozen=True)
class Choice:
    """The dialect of a file.

    `stated`: the caller named it. `fitting`: the names of all dialects that fit as well as this
    one and mean something else by the numbers in `disputed`; both are empty where all is clear.
    """

    dialect: Dialect
    stated: bool = False
    fitting: tuple[str, ...] = ()
    disputed: frozenset[int] = frozenset()

    def kind_of(self, number: int) -> TensorType | None:
        """The type of a number; the first of several readings where it is disputed."""
        return self.dialect.kind_of(number)


class _Room(NamedTuple):
    """What a tensor tells: its dimensions (fastest first) and the bytes up to the next one.

    The last tensor of a file may lack its padding, or be followed by other bytes.
    """

    number: int
    dims: tuple[int, ...]
    bytes: int
    alignment: int
    last: bool


@dataclass(frozen=True)
class _Fit:
    """How a dialect fits that no tensor contradicts.

    sized: tensors that it gives a size. filled: those that fill their room. gaps: whether others,
    the last one aside, leave some of it empty.
    """

    sized: int
    filled: int
    gaps: bool

    @property
    def tiles(self) -> bool:
        """Whether the tensors lie as this dialect's sizes make them lie."""
        return self.filled > 0 and not self.gaps


def scan_as(
    view: Buffer | Front, *, profile: str, dialect: str | None = None, backend: str = "auto"
) -> tuple[Scan, Choice | None]:
    """Scan a file under its dialect: the named one, or in INFERRING profiles the one that tiles.

    No choice: the file uses no number that dialects differ about, or nobody asks; it is ggml's.
    Never raises for the file's content. ValueError for an unknown profile or dialect.
    """
    if dialect is not None:
        from ..dialects import find_dialect

        choice = Choice(find_dialect(dialect), stated=True)
        return scan_under(view, choice, profile=profile, backend=backend), choice
    return settled(view, scan(view, profile=profile, backend=backend), profile, backend)


def settled(
    view: Buffer | Front, found: Scan, profile: str, backend: str = "auto"
) -> tuple[Scan, Choice | None]:
    """What `scan_as` gives for a file that was scanned with ggml's types and names no dialect."""
    if profile not in INFERRING or not len(found.tensors) or not _contested([found]):
        return found, None
    choice = infer([found])
    if choice.dialect.kinds:
        found = scan_under(view, choice, profile=profile, backend=backend)
    return found, choice


def scan_under(
    view: Buffer | Front, choice: Choice, *, profile: str, backend: str = "auto"
) -> Scan:
    """Scan with the sizes that a dialect gives to types."""
    return scan(view, profile=profile, backend=backend, types=choice.dialect.sizes())


def infer(scans: Sequence[Scan]) -> Choice:
    """The dialect of the files of a set (one file: a set of one), whatever it was scanned as.

    Where none tiles it is ggml, whose own reading is left open if others fit no worse.
    """
    from ..dialects import BASE, dialects

    contested = _contested(scans)
    rooms = _rooms_of(scans, contested)
    fits = {dialect: _fit(dialect, rooms) for dialect in _readings(contested)}
    fitting = {dialect: fit for dialect, fit in fits.items() if fit is not None and fit.sized}
    most = max((fit.filled for fit in fitting.values() if fit.tiles), default=0)
    if most:
        best = [one for one, fit in fitting.items() if fit.tiles and fit.filled == most]
        return _of_winners(best, rooms)
    if dialects[BASE] in fitting:
        return _of_winners(list(fitting), rooms)
    return Choice(dialects[BASE])


def tiles(dialect: Dialect, scans: Sequence[Scan]) -> bool:
    """Whether the tensors lie as a dialect's sizes make them lie."""
    fit = _fit(dialect, _rooms_of(scans, _contested(scans)))
    return fit is not None and fit.tiles


def _of_winners(winners: Sequence[Dialect], rooms: Sequence[_Room]) -> Choice:
    """The first of dialects that fit equally well, and what they disagree about."""
    numbers = {room.number for room in rooms}
    disputed = frozenset(number for number in numbers if _disputed(number, winners))
    names = tuple(_differing(winners, disputed)) if disputed else ()
    return Choice(winners[0], fitting=names, disputed=disputed)


def _contested(scans: Sequence[Scan]) -> set[int]:
    """The numbers of files' types that dialects differ about."""
    from ..dialects import dialects

    used = {number for found in scans for number in set(found.tensors.type)}
    return {n for n in used if any(n in dialect.kinds for dialect in dialects.values())}


def _readings(contested: Collection[int]) -> list[Dialect]:
    """The first dialect of those that mean the same by all contested numbers."""
    from ..dialects import dialects

    found: dict[tuple[TensorType | None, ...], Dialect] = {}
    for dialect in dialects.values():
        found.setdefault(tuple(map(dialect.kind_of, sorted(contested))), dialect)
    return list(found.values())


def _rooms_of(scans: Sequence[Scan], contested: Collection[int]) -> list[_Room]:
    """The rooms of the files' first MOST_ROOMS tensors of contested types."""
    rooms = (room for found in scans if found.whole for room in _rooms(found, contested))
    return list(islice(rooms, MOST_ROOMS))


def _rooms(found: Scan, contested: Collection[int]) -> Iterator[_Room]:
    """The rooms of tensors of contested types; empty tensors tell nothing."""
    columns, end = found.tensors, found.file_size - found.data_offset
    if not contested or end < 0:
        return
    starts = sorted({*columns.offset, end})
    after = dict(pairwise(starts))
    for row, number in enumerate(columns.type):
        dims, start = columns.dims_of(row), columns.offset[row]
        if number in contested and start in after and 0 not in dims:
            stop = after[start]
            yield _Room(number, dims, stop - start, found.alignment, stop == end)


def _fit(dialect: Dialect, rooms: Sequence[_Room]) -> _Fit | None:
    """How a dialect fits; None where a tensor contradicts it."""
    sized = filled = 0
    gaps = False
    for room in rooms:
        kind = dialect.kind_of(room.number)
        if kind is None or not kind.elements:
            continue
        size = _size(kind, room.dims)
        if size is None or size > room.bytes:
            return None
        fills = pad_up(size, room.alignment) == room.bytes or (room.last and size == room.bytes)
        sized += 1
        filled += fills
        gaps |= not fills and not room.last
    return _Fit(sized, filled, gaps)


def _size(kind: TensorType, dims: Sequence[int]) -> int | None:
    """A tensor's bytes; None where blocks do not fill its rows."""
    row = dims[0] if dims else 1
    if row % kind.elements:
        return None
    return kind.row_bytes(row) * prod(dims[1:]) + kind.info.tensor_suffix


def _disputed(number: int, winners: Sequence[Dialect]) -> bool:
    """Whether dialects give a number different layouts."""
    kinds = [dialect.kind_of(number) for dialect in winners]
    return len({kind for kind in kinds if kind is not None and kind.elements}) > 1


def _differing(winners: Sequence[Dialect], disputed: frozenset[int]) -> Iterator[str]:
    """One dialect for each reading of the disputed numbers."""
    seen = set()
    for dialect in winners:
        reading = tuple(dialect.kind_of(number) for number in sorted(disputed))
        if reading not in seen:
            seen.add(reading)
            yield dialect.name
