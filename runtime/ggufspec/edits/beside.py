"""An edit as a new file that takes the place of the old one, or another name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import GGUFError
from ..files.atomic import AtomicFile, naming
from ..files.reader import load_part
from .errors import EditError
from .held import check_unchanged, held
from .transfer import Transferred, opened, transfer

if TYPE_CHECKING:
    from .plan import EditPlan


def write_beside(plan: EditPlan, *, replace: bool, advance: Callable[[int], object]) -> Transferred:
    """Write the planned file; it appears under its name only when it is whole and can be read.

    replace: whether it may take the place of a file that is there.
    """
    source, total = plan.draft.path, Transferred()
    with (
        held(source, os.O_RDONLY, plan.draft.stamp) as old,
        AtomicFile(plan.output, replace=replace, like=[source]) as output,
    ):
        for piece in plan.front.pieces():
            output.write(piece)
        output.flush()
        with naming(output.path), opened(output.temporary, os.O_WRONLY) as new:
            for move in plan.moves:
                try:
                    done = transfer(old, new, move, advance)
                except OSError:  # it may be the source that is to blame
                    check_unchanged(source, old, plan.draft.stamp)
                    raise
                total.cloned += done.cloned
                total.copied += done.copied
            os.ftruncate(new, plan.size)
        _check(plan, output)
        check_unchanged(source, old, plan.draft.stamp)
    return total


def _check(plan: EditPlan, output: AtomicFile) -> None:
    """EditError for a file that we could not open again."""
    choice = plan.draft.part.choice
    try:
        part = load_part(output.temporary, "lenient", choice.dialect.name if choice else None)
    except GGUFError as error:
        raise EditError(f"the file would not be readable: {error}", "data") from None
    try:
        if list(part.metadata) != list(plan.front.entries):
            raise EditError("the file would not have the keys that it shall have", "data")
    finally:
        part.source.close()
