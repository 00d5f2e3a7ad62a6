"""Edits of metadata: a draft of what a file shall hold, a plan of it, and the plan carried out.

    with Draft.open("model.gguf") as draft:
        draft.set("general.name", Value("STRING", "Tiny"))
        plan = plan_edit(draft, in_place=True)
        plan.check()
        carry_out(plan)

A file is never between two states: it is replaced by a whole one (`beside`), or its own bytes
change while an undo file lies beside it (`in_place`) that `recover` can use.
"""

from __future__ import annotations

from collections.abc import Callable

from .changes import Change, Objection
from .draft import Draft, matching
from .errors import EditError
from .plan import EditPlan, plan_edit
from .recover import recover
from .transfer import Transferred

__all__ = [
    "Change",
    "Draft",
    "EditError",
    "EditPlan",
    "Objection",
    "Transferred",
    "carry_out",
    "matching",
    "plan_edit",
    "recover",
]


def carry_out(
    plan: EditPlan,
    *,
    replace: bool = False,
    advance: Callable[[int], object] = lambda _: None,
) -> Transferred:
    """Do what was planned, objections or not (`EditPlan.check` raises for them).

    replace: whether a file of another name (way "copy") may take the place of one that is there.
    advance: told bytes of data as they are done. EditError and OSError; the file is whole then.
    """
    if plan.way == "nothing":
        return Transferred()
    if plan.way == "in place":
        from .in_place import write_in_place

        return Transferred(copied=write_in_place(plan))
    from .beside import write_beside

    return write_beside(plan, replace=replace or plan.way == "beside", advance=advance)
