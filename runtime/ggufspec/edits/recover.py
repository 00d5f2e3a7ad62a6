"""The way out of an edit in place that was interrupted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from ..files.atomic import open_regular
from ..files.undo import MAGIC, Undo, undo_path
from .errors import EditError
from .held import held
from .in_place import put, remove_undo

State = Literal["old", "new"]


def recover(path: str | os.PathLike[str], state: State = "old") -> Undo:
    """Put a file into the state before an interrupted edit in place, or after it.

    Afterwards the file is that state byte for byte, and the undo file is gone. EditError where
    there is nothing to recover, or the undo file does not belong to the file.
    """
    path = Path(path)
    undo = undo_path(path)
    with held(path, os.O_RDWR) as file:
        edit = _read(path, undo)
        _check_belongs(file, edit, path)
        if state == "old":
            put(file, edit.start, edit.old, edit.old_size)
        else:
            put(file, edit.start, edit.new, edit.new_size)
        remove_undo(undo)
    return edit


def _read(path: Path, undo: Path) -> Undo:
    try:
        with os.fdopen(open_regular(undo, os.O_RDONLY), "rb") as stream:
            data = stream.read()
    except FileNotFoundError:
        raise EditError(
            f"there is nothing to recover: no {undo.name} lies beside it", "check", file=str(path)
        ) from None
    if not data.startswith(MAGIC):
        raise EditError("it is no undo file of ours", "check", file=str(undo))
    edit = Undo.unpack(data)
    if edit is None:
        raise EditError(
            "the undo file is damaged", "data", file=str(undo),
            hint="it was whole before the file was touched; fetch the file again if it is broken",
        ) from None  # fmt: skip
    return edit


def _check_belongs(file: int, edit: Undo, path: Path) -> None:
    """Every byte that the edit is about has to be the old or the new one.

    Behind the end of the old file it may be zero: a power cut leaves that of a file that grew.
    """
    size = os.fstat(file).st_size
    between = min(edit.old_size, edit.new_size), max(edit.old_size, edit.new_size)
    length = max(len(edit.old), len(edit.new))
    sized = between[0] <= size <= between[1]
    there = os.pread(file, length, edit.start) if sized else b""
    known = all(
        there[at : at + 1] in (edit.old[at : at + 1] or b"\0", edit.new[at : at + 1])
        for at in _different(there, edit)
    )
    if not sized or not known:
        raise EditError(
            "the file is not the one that the undo file is of, or was changed since", "check",
            file=str(path), hint=f"remove {path.name}.undo if the file is as it shall be",
        )  # fmt: skip


def _different(there: bytes, edit: Undo) -> range:
    """The bytes to be looked at: none where the file is in one of the two states."""
    whole = there[: len(edit.old)] == edit.old or there[: len(edit.new)] == edit.new
    return range(0) if whole else range(len(there))
