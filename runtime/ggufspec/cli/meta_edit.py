"""How the commands of ``meta`` that change a file do it, or tell what they would do."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from . import machine, screen, text
from .conversion import failing
from .failures import USAGE, CommandError, usage
from .paths import check_output, check_space, mention_leftovers, reading, telling, writing
from .progress import Progress

if TYPE_CHECKING:
    from ..edits import Draft, EditPlan, Transferred


@dataclass(frozen=True)
class Manner:
    """How an edit is to be made."""

    output: Path | None
    in_place: bool
    room: int | None
    dry_run: bool
    force: bool
    as_json: bool
    dialect: str | None = None


@contextmanager
def opened(path: Path) -> Iterator[None]:
    """Let what is wrong with a file name it."""
    with reading(path), failing(path):
        yield


@contextmanager
def open_draft(path: Path, dialect: str | None = None) -> Iterator[Draft]:
    """The draft of a file; what is wrong with the file names it."""
    from ..edits import Draft as AnyDraft

    with opened(path):
        draft = AnyDraft.open(path, dialect=dialect)
    with draft:
        yield draft


def matching_keys(draft: Draft, pattern: str, path: Path | None = None) -> list[str]:
    """The keys that a word stands for; without any it is a failure that names the file."""
    if pattern == "*":
        return list(draft.entries)
    with failing(path or draft.path):
        return draft.matching(pattern)


def edit(
    path: Path, change: Callable[[Draft], None], manner: Manner, reads: tuple[Path, ...] = ()
) -> None:
    """Make an edit, or tell what it would be."""
    from ..edits import plan_edit

    if manner.output is not None and manner.in_place:
        raise usage("--in-place and --output exclude each other")
    with open_draft(path, manner.dialect) as draft, failing(path):
        change(draft)
        plan = plan_edit(draft, output=manner.output, in_place=manner.in_place, room=manner.room)
        _check_target(plan, [path, *reads], force=manner.force)
        if manner.dry_run:
            _tell(plan, manner)
            return
        _refuse(plan, manner)
        _carry_out(plan, manner)


def _check_target(plan: EditPlan, reads: list[Path], *, force: bool) -> None:
    """What stands against writing, whether it is to be done now or not."""
    match plan.way:
        case "copy":
            check_output(plan.output, reads, force=force)
        case "in place":
            from ..edits.in_place import check_free

            check_free(plan.output)
            if not os.access(plan.output, os.W_OK):
                raise _denied(plan.output)
        case "beside":
            folder = Path(os.path.realpath(plan.output)).parent
            if not os.access(folder, os.W_OK | os.X_OK):
                raise _denied(folder)


def _denied(path: Path) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _tell(plan: EditPlan, manner: Manner) -> None:
    from .meta_view import difference, plan_record, show_difference, would

    if manner.as_json:
        machine.emit({**plan_record(plan), "written": False})
        if _refused(plan, manner):
            raise typer.Exit(USAGE)
    else:
        show_difference(difference(plan), would(plan))
        _refuse(plan, manner)


def _refused(plan: EditPlan, manner: Manner) -> bool:
    return bool(plan.objections) and not manner.force and plan.way != "nothing"


def _refuse(plan: EditPlan, manner: Manner) -> None:
    if _refused(plan, manner):
        first, *more = plan.objections
        others = "".join(f"\n  {text.printable(one.key)}: {one.reason}" for one in more[:9])
        count = f"\n  and {len(more) - 9} more" if len(more) > 9 else ""
        if others and not manner.as_json:
            print(f"also refused:{others}{count}", file=sys.stderr)
        raise CommandError(
            f"{first.key}: {first.reason}", USAGE, file=str(plan.draft.path),
            hint="--force changes it all the same",
        )  # fmt: skip


def _carry_out(plan: EditPlan, manner: Manner) -> None:
    from ..edits import carry_out
    from .meta_view import difference, plan_record, show_difference, told

    # What an edit in place changes cannot be looked at afterwards.
    record = plan_record(plan) if manner.as_json else {}
    lines = [] if manner.as_json else difference(plan)
    started = time.monotonic()
    if plan.way in ("beside", "copy"):
        check_space(plan.output, plan.front.size if plan.shareable else plan.size)
        if plan.why_not:
            screen.warn(f"not in place: {plan.why_not}; a new file takes its place")
    _mention_files(plan)
    with writing(plan.output), Progress("writing", plan.moved, quiet=manner.as_json) as progress:
        done: Transferred = carry_out(plan, replace=manner.force, advance=progress.advance)
    seconds = time.monotonic() - started
    with telling(f"the edit was made: {plan.output} is written" if plan.way != "nothing" else ""):
        if manner.as_json:
            work = {"seconds": seconds, "cloned": done.cloned, "copied": done.copied}
            machine.emit({**record, "written": plan.way != "nothing", **work})
        else:
            show_difference(lines, told(plan, done, seconds))


def _mention_files(plan: EditPlan) -> None:
    """Say what lies beside the file, and what becomes of its other names."""
    from ..files.undo import undo_path

    mention_leftovers(plan.output, undo_path(plan.output))
    if plan.way not in ("beside", "in place"):
        return
    others = plan.output.stat().st_nlink - 1
    if others:
        names = text.plural(others, "other name")
        if plan.way == "beside":
            screen.warn(f"{plan.output} has {names}: the old content stays there")
        else:
            screen.warn(
                f"{plan.output} has {names}: the content changes there, too, but an edit that is "
                "interrupted can only be recovered under this name"
            )
