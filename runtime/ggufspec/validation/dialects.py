"""GG16: whose type numbers a file uses, and what that keeps a reader from knowing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..files.dialects import rotation_keys
from .findings import Collector

if TYPE_CHECKING:
    from ..container.dialects import Choice
    from ..dialects import Dialect
    from ..files.reader import File
    from ..report import Finding
    from .model import Model


def check(model: Model, found: Collector) -> None:
    """Add what there is to say about the dialect of the files."""
    look(model.file, found)


def notes(file: File) -> tuple[Finding, ...]:
    """The same for a file that was opened, under the profile it was opened with."""
    found = Collector(file.profile, [part.file for part in file.parts])
    look(file, found)
    return found.findings


def look(file: File, found: Collector) -> None:
    """Add findings about types of forks; a file of ggml's own types has none."""
    choice = file.parts[0].choice
    if choice is not None:
        used = {number for part in file.parts for number in set(part.scan.tensors.type)}
        _look_at_choice(file, choice, used, found)
        _look_at_types(file, choice.dialect, used - choice.disputed, found)
    _look_at_rotation(file, found)


def _look_at_choice(file: File, choice: Choice, used: set[int], found: Collector) -> None:
    numbers = sorted(used & choice.dialect.kinds.keys())
    names = [f"{choice.dialect.own[number].name} ({number})" for number in numbers]
    if choice.disputed:
        found.add(
            "GG1601",
            **_place(file, choice.disputed),
            types=sorted(choice.disputed),
            dialects=choice.fitting,
        )
    elif choice.stated:
        _look_at_misfit(file, choice, used, found)
    elif names:
        found.add("GG1602", **_place(file, set(numbers)), types=names, dialect=choice.dialect.name)


def _look_at_misfit(file: File, choice: Choice, used: set[int], found: Collector) -> None:
    from ..container.dialects import infer, tiles

    scans = [part.scan for part in file.parts]
    other = infer(scans)
    if tiles(other.dialect, scans) and not tiles(choice.dialect, scans):
        fitting = other.fitting or (other.dialect.name,)
        found.add(
            "GG1603",
            **_place(file, used & {*choice.dialect.kinds, *other.dialect.kinds}),
            fitting=fitting,
            dialect=choice.dialect.name,
        )


def _look_at_types(file: File, dialect: Dialect, used: set[int], found: Collector) -> None:
    for number in sorted(used & dialect.own.keys()):
        meaning, place = dialect.own[number], _place(file, {number})
        if not meaning.described:
            found.add("GG1604", **place, types=meaning.name)
        if not meaning.verified:
            found.add("GG1605", **place, types=meaning.name, source=meaning.source)
        if meaning.note:
            found.add("GG1607", **place, type=meaning.name, note=meaning.note)


def _look_at_rotation(file: File, found: Collector) -> None:
    """Keys that declare a rotation do so in whatever types the weights are stored."""
    keys = rotation_keys(file.metadata)
    if keys:
        stored = file.metadata.stored(keys[0])
        path = f"metadata[{file.metadata.row(keys[0])}]"
        found.add("GG1606", offset=stored.offset, path=path, keys=keys)


def _place(file: File, numbers: set[int] | frozenset[int]) -> dict[str, Any]:
    """The first tensor whose type has one of these numbers, as `Collector.add` takes it."""
    for part in file.parts:
        columns = part.scan.tensors
        for row, number in enumerate(columns.type):
            if number in numbers:
                path = f"tensors[{row}].type"
                return {"shard": part.number, "offset": columns.start[row], "path": path}
    return {}
