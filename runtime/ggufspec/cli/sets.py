"""What ``split`` and ``merge`` have in common: checks, progress, and what is told of a plan."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.shard_names import parse_shard_name
from . import screen, text
from .paths import check_apart, check_output, check_space, mention_leftovers, writing
from .progress import Progress

if TYPE_CHECKING:
    from ..edits.transfer import Transferred
    from ..jobs.sets import SetPlan

_SHOWN = 20  # changes that people are told

_WORDS = {
    "removed": "keys removed", "replaced": "keys replaced", "taken": "key taken over",
    "places": "data moved", "alignment": "padded anew", "padding": "padded anew",
    "bytes": "bytes left out",
}  # fmt: skip


def check(plan: SetPlan, *, force: bool) -> None:
    """Raise what shall not fail after the work: names, and room on the disk."""
    for path in plan.paths:
        check_output(path, plan.inputs, force=force)
    check_apart(plan.paths)
    check_space(plan.paths[0], plan.size)


def warn(plan: SetPlan) -> None:
    """Say what lies beside the outputs and could be taken for a part of them."""
    for path in plan.paths:
        mention_leftovers(path)
    stale = other_sets(plan.paths[0])
    if stale:
        more = f" and {len(stale) - 1:,} more" if len(stale) > 1 else ""
        screen.warn(f"{text.printable(stale[0].name)}{more}: of another set of that name, kept")


def other_sets(path: Path) -> list[Path]:
    """Files beside one of a set that have its prefix and another count."""
    name = parse_shard_name(path.name)
    if name is None:
        return []
    try:
        names = sorted(entry.name for entry in os.scandir(path.parent))
    except OSError:
        return []
    others = ((other, parse_shard_name(other)) for other in names)
    return [
        path.with_name(other)
        for other, parts in others
        if parts and parts.prefix == name.prefix and parts.count != name.count
    ]


def write(plan: SetPlan, *, force: bool, as_json: bool) -> tuple[Transferred, float]:
    """Carry a plan out; what was shared and copied, and the seconds it took."""
    from ..jobs.sets import carry_out

    started = time.monotonic()
    with writing(plan.paths[0]), Progress("writing", plan.data, quiet=as_json) as progress:
        done = carry_out(plan, replace=force, advance=progress.advance)
    return done, time.monotonic() - started


def record(plan: SetPlan, source: Path) -> dict[str, Any]:
    """A plan for machines."""
    return {
        "input": str(source),
        "inputs": [str(path) for path in plan.inputs],
        "size": plan.size,
        "files": [
            {
                "file": str(file.path),
                "size": file.size,
                "keys": len(file.entries),
                "tensors": len(file.items),
                "data": file.data,
            }
            for file in plan.files
        ],
        "changes": [
            {"kind": change.kind, "file": change.file, "message": change.text}
            for change in plan.changes
        ],
    }


def work(done: Transferred | None, seconds: float) -> dict[str, Any]:
    """What was done, for machines; None: nothing was."""
    if done is None:
        return {"written": False}
    return {
        "written": True, "seconds": seconds, "cloned": done.cloned, "copied": done.copied,
    }  # fmt: skip


def show_changes(plan: SetPlan) -> None:
    """Say what is not as it was."""
    for change in plan.changes[:_SHOWN]:
        place = f"{text.printable(change.file)}: " if change.file else ""
        screen.say(f"{_WORDS[change.kind]}: {place}{change.text}")
    if len(plan.changes) > _SHOWN:
        screen.say(f"and {len(plan.changes) - _SHOWN:,} more changes")


def written(plan: SetPlan, done: Transferred | None) -> str:
    """What is there when nothing more can be said; "" where nothing was written."""
    if done is None:
        return ""
    more = f" and {len(plan.paths) - 1:,} more" if len(plan.paths) > 1 else ""
    return f"{text.printable(str(plan.paths[0]))}{more} {'are' if more else 'is'} written"


def told(plan: SetPlan, done: Transferred | None, seconds: float) -> str:
    """One line for people on what was done, or would be."""
    many = text.plural(len(plan.files), "file")
    if done is None:
        return f"would write {many}, {text.size(plan.size)}"
    shared = f", {text.size(done.cloned)} shared with the source" if done.cloned else ""
    return f"wrote {many}, {text.size(plan.size)}, in {seconds:.1f} s{shared}"
