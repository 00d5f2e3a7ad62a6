"""What ``quantize`` and ``dequantize`` have in common: plan, space, progress, summary."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import machine, screen, text
from .failures import INVALID, UNSUPPORTED, USAGE, CommandError
from .paths import check_output, check_space, open_model, writing
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..jobs.convert import Plan, Step

TYPES = (
    Column("from", style="green"),
    Column("to", style="green"),
    Column("tensors", right=True),
    Column("bytes before", right=True),
    Column("bytes after", right=True),
    Column("note"),
)

_EXITS = {"usage": USAGE, "unsupported": UNSUPPORTED, "data": INVALID}


def convert(
    source: Path,
    target: Path,
    file_type: str,
    *,
    pure: bool,
    allow_requantize: bool,
    threads: int | None,
    force: bool,
    as_json: bool,
) -> None:
    """Make ``target`` from ``source`` and say what was done."""
    from ..jobs.convert import ConversionError, carry_out, make_plan

    with open_model(source) as model:
        check_output(target, model.paths, force=force)
        try:
            plan = make_plan(model, file_type, pure=pure, allow_requantize=allow_requantize)
            check_space(target, plan.bytes_out)
            with (
                writing(target),
                Progress(file_type, plan.bytes_in, quiet=as_json) as progress,
            ):
                carry_out(plan, target, threads=threads, advance=progress.advance)
        except ConversionError as error:
            raise CommandError(str(error), _EXITS[error.kind], file=str(source)) from error
        if as_json:
            machine.emit(_record(source, target, plan, progress.seconds))
        else:
            _show(target, plan, progress.seconds)


def _show(target: Path, plan: Plan, seconds: float) -> None:
    screen.table(TYPES, _groups(plan))
    weights = sum(step.weights for step in plan.steps)
    bits = 8 * plan.bytes_out / weights if weights else 0.0
    screen.say()
    screen.say(
        f"{text.printable(str(target))}: {text.size(target.stat().st_size)}, "
        f"{bits:.2f} bits per weight, written in {seconds:.1f} s "
        f"({text.size(plan.bytes_in / max(seconds, 1e-9))}/s read)"
    )


def _groups(plan: Plan) -> list[tuple[str, str, str, str, str, str]]:
    """A row for each pair of types, in the order they come up."""
    counts: Counter[tuple[str, str, str]] = Counter()
    before: Counter[tuple[str, str, str]] = Counter()
    after: Counter[tuple[str, str, str]] = Counter()
    for step in plan.steps:
        key = (step.tensor.type, step.type, _note(step))
        counts[key] += 1
        before[key] += step.tensor.nbytes
        after[key] += step.plan.nbytes
    return [
        (old, new, f"{count:,}", f"{before[key]:,}", f"{after[key]:,}", note)
        for key, count in counts.items()
        for old, new, note in (key,)
    ]


def _note(step: Step) -> str:
    wanted = step.decision.fallback_from
    return f"rows are not whole blocks of {wanted}" if wanted else ""


def _record(source: Path, target: Path, plan: Plan, seconds: float) -> dict[str, Any]:
    return {
        "input": str(source),
        "output": str(target),
        "file_type": plan.file_type.name,
        "size": target.stat().st_size,
        "bytes_in": plan.bytes_in,
        "bytes_out": plan.bytes_out,
        "seconds": seconds,
        "tensors": [
            {
                "name": step.tensor.name,
                "from": step.tensor.type,
                "to": step.type,
                "reason": step.decision.reason,
                "fallback_from": step.decision.fallback_from,
                "nbytes": step.plan.nbytes,
            }
            for step in plan.steps
        ],
    }
