"""An edit of a file's own bytes, which can be undone until it is done."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..files.atomic import AtomicFile, open_regular, sync_folder
from ..files.undo import Undo, find_undo, undo_path
from .errors import EditError
from .held import held

if TYPE_CHECKING:
    from .plan import EditPlan


def write_in_place(plan: EditPlan) -> int:
    """Change the file as planned; the bytes that were written.

    First the undo file is written, flushed to the disk and named, then the file changes and is
    flushed, then the undo file goes. Whoever is interrupted in between leaves it for `recover`.
    """
    path = plan.draft.path
    edit = _edit_of(plan)
    plan.draft.close()  # nothing may look at the bytes through a map while they change
    with held(path, os.O_RDWR, plan.draft.stamp) as file:
        try:
            undo = write_undo(path, edit)
            put(file, edit.start, edit.new, edit.new_size)
            remove_undo(undo)
        except BaseException as error:
            if _is_ours(undo_path(path), edit):
                _take_back(file, edit, path, error)
            raise
    return len(edit.new)


def write_undo(path: Path, edit: Undo) -> Path:
    """Make the undo file of a file, on the disk when this returns; EditError if there is one."""
    undo = undo_path(path)
    check_free(path)
    try:
        with AtomicFile(undo, replace=False) as output:
            output.temporary.chmod(path.stat().st_mode & 0o777)  # it shows no more than the file
            output.write(edit.pack())
    except FileExistsError:
        raise _taken(path, undo) from None
    return undo


def check_free(path: Path) -> None:
    """EditError where the name of the undo file of a file is taken, by whatever."""
    undo = undo_path(path)
    if os.path.lexists(undo):
        raise _taken(path, undo)


def _taken(path: Path, undo: Path) -> EditError:
    ours = find_undo(path) is not None
    return EditError(
        f"{undo.name} is there already", "usage", file=str(path),
        hint="`ggufspec meta recover FILE` ends the edit that it is of"
        if ours
        else "it is no undo file of ours: give it another name, or edit without --in-place",
    )  # fmt: skip


def put(file: int, start: int, data: bytes, size: int) -> None:
    """Write bytes, cut or keep the file at a size, and flush it to the disk."""
    view = memoryview(data)
    while view:
        count = os.pwrite(file, view, start)
        view, start = view[count:], start + count
    if os.fstat(file).st_size != size:
        os.ftruncate(file, size)
    os.fsync(file)


def remove_undo(undo: Path) -> None:
    """The file is in one state again."""
    undo.unlink()
    sync_folder(undo.parent)


def _is_ours(undo: Path, edit: Undo) -> bool:
    """Whether the undo file is that of this edit; nobody else writes one while we hold the file."""
    try:
        with os.fdopen(open_regular(undo, os.O_RDONLY), "rb") as stream:
            return stream.read() == edit.pack()
    except OSError:
        return False


def _take_back(file: int, edit: Undo, path: Path, cause: BaseException) -> None:
    """The old state, if the system lets us; otherwise EditError, and the undo file stays."""
    undo = undo_path(path)
    try:
        put(file, edit.start, edit.old, edit.old_size)
        remove_undo(undo)
    except BaseException as error:
        if not os.path.lexists(undo):
            return
        reason = getattr(cause, "strerror", None) or str(cause) or "interrupted"
        raise EditError(
            f"the edit failed ({reason[:1].lower() + reason[1:]}) and could not be taken back: "
            f"{undo.name} stays", "system", file=str(path),
            hint="`ggufspec meta recover FILE` puts the file back as it was, with --new it "
            "finishes the edit; until then the file may be half changed",
        ) from error  # fmt: skip


def _edit_of(plan: EditPlan) -> Undo:
    """The bytes that change, without those at the start and end that are the same."""
    scan = plan.draft.part.scan
    old_size = scan.file_size
    view = plan.draft.part.source.view
    old = bytes(view[: min(scan.data_offset, old_size)])
    new = b"".join(plan.front.pieces())
    start = _common(old, new)
    old, new = old[start:], new[start:]
    if plan.size == old_size and len(old) == len(new):
        end = _common(old[::-1], new[::-1])
        old, new = old[: len(old) - end], new[: len(new) - end]
    return Undo(old_size, plan.size, start, old, new)


def _common(first: bytes, second: bytes) -> int:
    """How many bytes at the start are the same."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
