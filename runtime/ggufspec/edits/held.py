"""The file of an edit, held while it is changed so that no other edit comes between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..files.atomic import lock, resolved, stands_for
from .draft import Stamp
from .errors import EditError
from .transfer import opened


@contextmanager
def held(path: Path, flags: int, stamp: Stamp | None = None) -> Iterator[int]:
    """The open file, under a lock that others of ours respect.

    EditError where another edit holds it, or it is not the one of the stamp any more.
    """
    target = resolved(str(path))
    with opened(target, flags) as descriptor:
        if not lock(descriptor) or not stands_for(descriptor, target):
            raise EditError("another edit of the file is under way", "usage", file=str(path))
        if stamp is not None:
            check_unchanged(path, descriptor, stamp)
        yield descriptor


def check_unchanged(path: Path, descriptor: int, stamp: Stamp) -> None:
    """EditError where somebody has written to the file, or replaced it."""
    unchanged = Stamp.of(os.fstat(descriptor)) == stamp
    if not unchanged or not stands_for(descriptor, resolved(str(path))):
        raise EditError(
            "the file has changed since it was read", "system", file=str(path),
            hint="nothing was written; try again",
        )  # fmt: skip
