"""Writing the files of a plan: all under temporary names, then all get theirs."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ...edits.held import check_unchanged
from ...edits.transfer import Transferred, opened, transfer
from ...errors import GGUFError
from ...files.atomic import AtomicFile, naming
from ...files.reader import load_part
from ..errors import ConversionError
from ..together import name_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...files.part import Part
    from .plan import FilePlan, SetPlan

MANY = 100
"""Files that are kept open until they get their names; of larger sets none is."""


def carry_out(
    plan: SetPlan,
    *,
    replace: bool = False,
    advance: Callable[[int], object] = lambda _: None,
) -> Transferred:
    """Write what was planned; every file appears whole, and the first of a set last.

    replace: files that exist are replaced. Where that is a set's first, it goes before any of the
    others change, so that nobody takes a mixture of old and new for a set. advance: told bytes of
    data as they are done. ConversionError, GGUFError and OSError (FileExistsError without
    `replace`); what was begun is removed then, and what was to be replaced is as it was.
    """
    _check_outputs(plan, replace)
    total, outputs = Transferred(), list[AtomicFile]()
    try:
        for file in plan.files:
            outputs.append(AtomicFile(file.path, replace=replace, like=plan.inputs))
            done = _write(plan, file, outputs[-1], advance)
            total.cloned += done.cloned
            total.copied += done.copied
            outputs[-1].settle(close=len(plan.files) > MANY)
            _check_written(plan, file, outputs[-1])
        for part, path in zip(plan.source, plan.inputs, strict=True):
            with _held(plan, part, path):
                pass
        _name(outputs)
    finally:
        for output in outputs:
            output.abort()
    return total


def _check_outputs(plan: SetPlan, replace: bool) -> None:
    """Nothing that is read is written over, whatever it is called."""
    for path in plan.paths:
        for source in plan.inputs:
            if path.exists() and path.samefile(source):
                raise ConversionError(
                    "the output is the input", "usage", file=str(path),
                    hint="write to another name",
                )  # fmt: skip
        if not replace and path.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def _write(
    plan: SetPlan, file: FilePlan, output: AtomicFile, advance: Callable[[int], object]
) -> Transferred:
    total = Transferred()
    for piece in file.pieces():
        output.write(piece)
    output.flush()
    with naming(output.path), opened(output.temporary, os.O_WRONLY) as new:
        for number, moves in groupby(file.moves(), key=lambda move: move[0].part.number):
            with _held(plan, plan.source[number], plan.inputs[number]) as old:
                for _, move in moves:
                    try:
                        done = transfer(old, new, move, advance)
                    except OSError:  # it may be the source that is to blame
                        path = plan.inputs[number]
                        check_unchanged(path, old, plan.stamps[number])
                        raise
                    total.cloned += done.cloned
                    total.copied += done.copied
        os.ftruncate(new, file.size)
    return total


@contextmanager
def _held(plan: SetPlan, part: Part, path: Path) -> Iterator[int]:
    """A file that is read; ConversionError where it is not the one that was planned for."""
    with opened(path, os.O_RDONLY) as descriptor:
        check_unchanged(path, descriptor, plan.stamps[part.number])
        yield descriptor


def _check_written(plan: SetPlan, file: FilePlan, output: AtomicFile) -> None:
    """ConversionError for a file that we could not open again as what it shall be."""
    try:
        part = load_part(output.temporary, "lenient", plan.dialect)
    except GGUFError as error:
        raise ConversionError(
            f"the file would not be readable: {error}", "data", file=output.path
        ) from None
    try:
        columns, view = part.scan.tensors, part.source.view
        starts = zip(columns.name_offset, columns.name_length, strict=True)
        names = [bytes(view[start : start + length]) for start, length in starts]
        if list(part.metadata) != list(file.entries) or names != [i.name for i in file.items]:
            raise ConversionError(
                "the file would not hold what it shall hold", "data", file=output.path
            )
    finally:
        part.source.close()


def _name(outputs: Sequence[AtomicFile]) -> None:
    """Give all files their names, the first last; where one cannot have it, none has."""
    try:
        name_together([(output, output.commit) for output in outputs])
    except BaseException:
        for output in outputs:
            with suppress(OSError):
                output.temporary.unlink()
        raise
