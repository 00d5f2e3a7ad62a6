"""Plans of a quantization, for people and machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import screen, text
from .screen import Column

if TYPE_CHECKING:
    from ..jobs.notes import Note
    from ..jobs.plan import Plan
    from ..jobs.steps import Step

GROUPS = (
    Column("from", style="green"),
    Column("to", style="green"),
    Column("tensors", right=True),
    Column("bytes before", right=True),
    Column("bytes after", right=True),
    Column("note"),
)

TENSORS = (
    Column("tensor", style="cyan"),
    Column("shape", right=True, spare=1),
    Column("from", style="green"),
    Column("to", style="green"),
    Column("bytes", right=True),
    Column("bits/weight", right=True, spare=2),
    Column("why", spare=3),
)

REASONS = (Column("tensors", right=True), Column("to", style="green"), Column("why"))
"""The table of those that the table of tensors has no room for."""

_SHOWN = 20
"""Warnings of a kind that are shown to people; --json has all of them."""


def warn_of(plans: Sequence[Plan], *, problems: bool = False) -> None:
    """Say on standard error what is doubtful about plans."""
    notes = list(dict.fromkeys(note for plan in plans for note in plan.notes))
    missing = [note for note in notes if note.kind == "missing"]
    others = [note for note in notes if note.kind != "missing"]
    for lines in _by_kind(others):
        _warn_some(lines)
    if missing:
        names = ", ".join(text.printable(note.tensor) for note in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        screen.warn(f"the importance matrix has no entry for {names}{more}")
    if problems:
        for plan in plans:
            _warn_problems(plan)


def plan_record(plan: Plan) -> dict[str, Any]:
    """A plan for machines."""
    return {
        "file_type": plan.file_type.name,
        "size": plan.size,
        "sizes": [file.size for file in plan.files],
        "bytes_in": plan.bytes_in,
        "bytes_out": plan.bytes_out,
        "weights": plan.weights,
        "bits_per_weight": plan.bits_per_weight,
        "tensors": [_tensor_record(step) for step in plan.steps],
        "warnings": [_note_record(note) for note in plan.notes],
        "problems": [
            {"kind": one.kind, "tensor": one.tensor, "message": one.message, "hint": one.hint}
            for one in plan.problems
        ],
    }


def show_plan(plan: Plan, *, tensors: bool, titled: bool) -> None:
    """A plan for people: its tensors if asked for, and what they come to."""
    if titled:
        screen.say()
        screen.say(plan.file_type.name, "bold")
    if tensors:
        shown = screen.table(TENSORS, [_cells(step) for step in plan.steps])
        screen.say()
        if TENSORS[-1] not in shown:
            _show_reasons(plan)
    show_groups(plan, explained=tensors)
    screen.say()
    for number, file in enumerate(plan.files, 1):
        which = f"file {number} of {len(plan.files)}" if len(plan.files) > 1 else "the file"
        screen.say(f"{which}: {file.size:,} bytes ({text.size(file.size)})")
    screen.say(f"{plan.bits_per_weight:.4f} bits per weight, {plan.weights:,} weights")


def _show_reasons(plan: Plan) -> None:
    counts = Counter((step.type, step.decision.reason) for step in plan.steps)
    rows = [(f"{count:,}", to, text.printable(why)) for (to, why), count in counts.items()]
    screen.table(REASONS, rows)
    screen.say()


def show_groups(plan: Plan, title: str = "", *, explained: bool = False) -> None:
    """A row for each pair of types, in the order they come up.

    explained: the reasons have been shown already.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    before: Counter[tuple[str, str, str]] = Counter()
    after: Counter[tuple[str, str, str]] = Counter()
    for step in plan.steps:
        key = (step.tensor.type, step.type, _fallback(step))
        counts[key] += 1
        before[key] += step.tensor.nbytes
        after[key] += step.plan.nbytes
    rows = [
        (old, new, f"{count:,}", f"{before[key]:,}", f"{after[key]:,}", note)
        for key, count in counts.items()
        for old, new, note in (key,)
    ]
    screen.table(GROUPS, rows, title)
    own = plan.file_type.type
    if not explained and any(_is_mixed(step, own) for step in plan.steps):
        screen.say(f"not all that changes becomes {own}: --plan tells why")


def _by_kind(notes: Sequence[Note]) -> list[list[str]]:
    kinds = dict.fromkeys(note.kind for note in notes)
    return [
        [text.printable(str(note), 400) for note in notes if note.kind == kind] for kind in kinds
    ]


def _warn_problems(plan: Plan) -> None:
    """One line for all that is wrong in the same way."""
    found: dict[tuple[str, str], list[str]] = {}
    for problem in plan.problems:
        found.setdefault((problem.kind, problem.hint), []).append(problem.message)
    for (_, hint), messages in found.items():
        more = len(messages) - 1
        others = f"; the same goes for {text.plural(more, 'more tensor')}" if more else ""
        screen.warn(f"would be refused: {messages[0]}{others}" + (f"; {hint}" if hint else ""))


def _warn_some(lines: Sequence[str]) -> None:
    for line in lines[:_SHOWN]:
        screen.warn(line)
    if len(lines) > _SHOWN:
        screen.warn(f"{len(lines) - _SHOWN:,} more of this kind; --json lists all")


def _is_mixed(step: Step, own: str) -> bool:
    """Whether the recipe chose another type than that of the file, and no note says why."""
    return step.changes and step.type != own and not step.decision.fallback_from


def _fallback(step: Step) -> str:
    wanted = step.decision.fallback_from
    return f"rows are not whole blocks of {wanted}" if wanted else ""


def _bits(step: Step) -> float:
    return 8 * step.plan.nbytes / step.weights if step.weights else 0.0


def _cells(step: Step) -> tuple[str, ...]:
    return (
        text.printable(step.name),
        text.shape(step.tensor.shape),
        step.tensor.type,
        step.type,
        f"{step.plan.nbytes:,}",
        f"{_bits(step):.4f}",
        text.printable(step.decision.reason),
    )


def _tensor_record(step: Step) -> dict[str, Any]:
    renamed = {"input_name": step.tensor.name} if step.name != step.tensor.name else {}
    return {
        "name": step.name,
        **renamed,
        "shape": step.tensor.shape,
        "from": step.tensor.type,
        "to": step.type,
        "reason": step.decision.reason,
        "fallback_from": step.decision.fallback_from,
        "nbytes": step.plan.nbytes,
        "bits_per_weight": _bits(step),
    }


def _note_record(note: Note) -> dict[str, Any]:
    return {
        "kind": note.kind, "tensor": note.tensor, "count": note.count, "message": note.message
    }  # fmt: skip
