"""What ``quantize`` and ``dequantize`` have in common: plan, space, progress, summary."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import machine, screen, text
from .failures import INTERRUPTED, INVALID, SYSTEM, UNSUPPORTED, USAGE, CommandError, usage
from .options import file_name
from .paths import (
    check_apart,
    check_not_input,
    check_output,
    check_space,
    mention_leftovers,
    open_model,
    writing,
)
from .planned import plan_record, show_groups, show_plan, warn_of
from .progress import Progress

if TYPE_CHECKING:
    from ..files.reader import File
    from ..jobs.convert import Output
    from ..jobs.options import Options
    from ..jobs.plan import Plan
    from ..jobs.verify import Verified

TYPE_FIELD = "{type}"

_EXITS = {
    "usage": USAGE, "unsupported": UNSUPPORTED, "data": INVALID, "check": INVALID, "system": SYSTEM,
}  # fmt: skip


@dataclass(frozen=True)
class Manner:
    """What is asked for apart from the bytes of the output.

    dialect: that of the source. reads: files that options name, beside the source and imatrix.
    """

    dialect: str | None = None
    plan: bool = False
    dry_run: bool = False
    verify: bool = False
    resume: bool = False
    max_memory: int | None = None
    threads: int | None = None
    force: bool = False
    as_json: bool = False
    reads: tuple[Path, ...] = ()

    @property
    def writes(self) -> bool:
        """Whether there will be an output."""
        return not (self.plan or self.dry_run)


@contextmanager
def failing(source: Path | None = None) -> Iterator[None]:
    """Let what jobs complain about become failures of the command."""
    from ..jobs.errors import ConversionError

    try:
        yield
    except ConversionError as error:
        file = error.file if error.file is not None else str(source or "")
        raise CommandError(str(error), _EXITS[error.kind], file=file, hint=error.hint) from error


def convert(
    source: Path, target: str | None, kinds: Sequence[str], options: Options, manner: Manner
) -> None:
    """Make one file a type from ``source``, or show what would become of it."""
    with failing():
        from ..jobs.plan import offered

        names = [offered(kind.strip()).name for kind in kinds]
    paths = _paths(target, names) if target is not None else []
    with open_model(source, dialect=manner.dialect) as model, failing(source):
        plans = _plans(model, names, options)
        if not manner.writes:
            _tell(source, plans, manner)
            return
        from ..jobs.convert import Output

        outputs = [Output(plan, path) for plan, path in zip(plans, paths, strict=True)]
        for plan in plans:
            plan.check()
        _check(model, outputs, options, manner)
        warn_of(plans)
        started = time.monotonic()
        verified = _write(outputs, manner)
        seconds = time.monotonic() - started
    if manner.as_json:
        _emit(source, outputs, verified, seconds)
    else:
        _show(outputs, verified, seconds)


def _paths(target: str, names: Sequence[str]) -> list[Path]:
    """The name of each output."""
    if len(names) > 1 and TYPE_FIELD not in target:
        raise usage(
            "several types need several files", file=target,
            hint=f"put {TYPE_FIELD} into the name, as in 'out-{TYPE_FIELD}.gguf'",
        )  # fmt: skip
    for name in names:
        if names.count(name) > 1:
            raise usage(f"the type {name} is asked for twice")
    return [file_name(target.replace(TYPE_FIELD, name)) for name in names]


def _plans(model: File, names: Sequence[str], options: Options) -> list[Plan]:
    from ..jobs.importance import load_imatrix
    from ..jobs.plan import make_plan

    imatrix = load_imatrix(options)
    return [make_plan(model, name, options, imatrix) for name in names]


def _check(model: File, outputs: Sequence[Output], options: Options, manner: Manner) -> None:
    """What shall not fail after hours of work."""
    _check_names([path for output in outputs for path in output.paths], model, options, manner)
    needed: dict[int, int] = {}  # by device
    folders: dict[int, Path] = {}
    for output in outputs:
        for path, file in zip(output.paths, output.plan.files, strict=True):
            device = Path(os.path.realpath(path)).parent.stat().st_dev
            folders.setdefault(device, path)
            there = _mention_leftovers(path, manner.resume)
            needed[device] = needed.get(device, 0) + max(0, file.size - there)
    for device, size in needed.items():
        check_space(folders[device], size)


def _check_names(paths: Sequence[Path], model: File, options: Options, manner: Manner) -> None:
    """Nothing that is written may be something that is read, or be written twice."""
    from ..jobs.resume import names_beside

    inputs: list[str | Path] = [*model.paths, *manner.reads]
    if options.imatrix is not None:
        inputs.append(options.imatrix)
    for path in paths:
        check_output(path, inputs, force=manner.force)
    beside = [name for path in paths for name in names_beside(path)] if manner.resume else []
    for name in beside:
        check_not_input(name, inputs)
    check_apart([*paths, *beside])


def _mention_leftovers(path: Path, resume: bool) -> int:
    """Say what interrupted runs left beside an output; bytes of it that will be used."""
    from ..jobs.resume import partial_path

    mention_leftovers(path)
    partial = partial_path(path)
    if not partial.is_file():
        return 0
    size = text.size(partial.stat().st_size)
    if not resume:
        screen.warn(f"{partial} ({size}) was left by an interrupted run; --resume goes on from it")
        return 0
    screen.warn(f"going on from {partial} ({size})")
    return partial.stat().st_size


def _write(outputs: Sequence[Output], manner: Manner) -> list[tuple[Verified, ...]]:
    from ..jobs.convert import Run, carry_out_all

    label = ", ".join(output.plan.file_type.name for output in outputs)
    passes = 1 + len(outputs) * manner.verify
    total = outputs[0].plan.bytes_in * passes
    try:
        with writing(outputs[0].path), Progress(label, total, quiet=manner.as_json) as progress:
            run = Run(
                threads=manner.threads,
                max_memory=manner.max_memory,
                replace=manner.force,
                resume=manner.resume,
                verify=manner.verify,
                began=lambda name: progress.describe(text.printable(name, 40).ljust(28)),
                advance=progress.advance,
            )
            return carry_out_all(outputs, run)
    except KeyboardInterrupt:
        if not manner.resume:
            raise
        hint = "the same command goes on from what is there (.partial)"
        raise CommandError("interrupted", INTERRUPTED, hint=hint) from None


def _tell(source: Path, plans: Sequence[Plan], manner: Manner) -> None:
    """Show plans that are not carried out."""
    warn_of(plans, problems=True)
    if manner.as_json:
        records = [{"input": str(source), **plan_record(plan)} for plan in plans]
        machine.emit(records[0] if len(records) == 1 else {"plans": records})
    else:
        for plan in plans:
            show_plan(plan, tensors=manner.plan, titled=len(plans) > 1)
    refused = [p for plan in plans for p in plan.problems if p.kind == "check"]
    if refused:
        raise CommandError(refused[0].message, INVALID, file=str(source), hint=refused[0].hint)


def _show(
    outputs: Sequence[Output], verified: Sequence[tuple[Verified, ...]], seconds: float
) -> None:
    read = outputs[0].plan.bytes_in / max(seconds, 1e-9)
    for output, found in zip(outputs, verified, strict=True):
        show_groups(output.plan, output.plan.file_type.name if len(outputs) > 1 else "")
        if found:
            _show_verified(found)
        screen.say()
        for path in output.paths:
            screen.say(f"{text.printable(str(path))}: {text.size(path.stat().st_size)}")
        screen.say(f"{output.plan.bits_per_weight:.2f} bits per weight")
    screen.say(f"written in {seconds:.1f} s ({text.size(read)}/s read)")


def _show_verified(found: Sequence[Verified]) -> None:
    from ..jobs.comparing import Sums
    from .compare import MEASURES, cells

    rows = [
        (
            text.printable(one.step.name),
            f"{one.step.tensor.type} > {one.step.type}",
            *cells(one.sums),
        )
        for one in found
    ]
    overall = sum((one.sums for one in found), Sums())
    screen.table(MEASURES, [*rows, ("all that changed", "", *cells(overall))], "Read again:")


def _emit(
    source: Path,
    outputs: Sequence[Output],
    verified: Sequence[tuple[Verified, ...]],
    seconds: float,
) -> None:
    from .compare import measures

    records = []
    for output, found in zip(outputs, verified, strict=True):
        record = {
            "input": str(source),
            "output": str(output.path),
            "files": [str(path) for path in output.paths],
            "seconds": seconds,
            **plan_record(output.plan),
        }
        if found:
            record["verified"] = [
                {"name": one.step.name, "type": one.step.type, **measures(one.sums)}
                for one in found
            ]
        records.append(record)
    machine.emit(records[0] if len(records) == 1 else {"outputs": records})
