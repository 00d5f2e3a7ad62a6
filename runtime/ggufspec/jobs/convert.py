"""Carrying plans out: one pass over the input, in bounded memory, for all outputs together."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .memory import tile_elements
from .options import Options
from .origin import Origin, sha256_of
from .outputs import Output, Work, finish, start
from .plan import Plan, make_plan
from .steps import Step

if TYPE_CHECKING:
    from ..files.tensor import Tensor
    from .verify import Verified

__all__ = ["Options", "Output", "Run", "carry_out", "carry_out_all", "make_plan"]


@dataclass(frozen=True)
class Run:
    """How the work is done; nothing here changes the bytes.

    threads: None for all processors. max_memory: bytes that the process may take in all; None for
    what is good. replace: outputs that exist are replaced. resume: an interrupted run leaves
    OUT.partial, and this one goes on from there. verify: what was written is read again before
    it gets its name. began, advance: are told the tensor that comes, and the bytes of the source
    that were done.
    """

    threads: int | None = None
    max_memory: int | None = None
    replace: bool = True
    resume: bool = False
    verify: bool = False
    began: Callable[[str], None] = lambda _: None
    advance: Callable[[int], None] = lambda _: None


def carry_out(
    plan: Plan,
    path: str | os.PathLike[str],
    *,
    threads: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> None:
    """Write the planned file; it appears under ``path`` only when it is whole.

    advance: is told the bytes of the source that were done. Raises ConversionError for problems
    of the plan and values that a type cannot hold, GGUFError, OSError; the target is untouched
    then.
    """
    carry_out_all([Output(plan, Path(path))], Run(threads=threads, advance=advance))


def carry_out_all(outputs: Sequence[Output], run: Run | None = None) -> list[tuple[Verified, ...]]:
    """Write several plans for the same source and options; every tensor is decoded once.

    The files get their names when all of them are whole. Returns what ``run.verify`` found, an
    entry an output. Raises what `carry_out` does.
    """
    run = run or Run()
    for output in outputs:
        output.plan.check()
    plans = [output.plan for output in outputs]
    elements = tile_elements(plans, run.max_memory, run.threads)
    origin = None
    if run.resume and plans:
        origin = Origin(plans[0].source, plans[0].options.imatrix)
    works: list[list[Work]] = []
    try:
        for output in outputs:
            works.append([])
            for number, path in enumerate(output.paths):
                work = start(
                    output.plan, number, path,
                    origin=origin, replace=run.replace, hashes=run.verify,
                )  # fmt: skip
                works[-1].append(work)
        _pass(works, run, elements)
        verified = [_verified(some, run) for some in works]
        finish([work for some in works for work in some])
    finally:
        for work in (work for some in works for work in some):
            work.writer.abort()
    return verified


def _pass(works: list[list[Work]], run: Run, elements: int) -> None:
    """All tensors in order, each for all outputs that still need it."""
    lanes = [[(work, step) for work in some for step in work.file.steps] for some in works]
    for lane in zip(*lanes, strict=True):
        tensor = lane[0][1].tensor
        run.began(tensor.name)
        needed = [(work, step) for work, step in lane if work.begins(step)]
        _copy(tensor, [work for work, step in needed if not step.changes], elements)
        changing = [(work, step) for work, step in needed if step.changes]
        _quantize(tensor, changing, run, elements)
        source = sha256_of(tensor) if changing and run.resume else ""
        for work, step in needed:
            work.ends(step, source)
        if not changing:
            run.advance(tensor.nbytes)


def _copy(tensor: Tensor, takers: list[Work], elements: int) -> None:
    for chunk in tensor.chunks(size=8 * elements) if takers else ():
        for work in takers:
            work.feed(chunk)


def _quantize(tensor: Tensor, needed: list[tuple[Work, Step]], run: Run, elements: int) -> None:
    """Decode a tensor once, quantize it once a type, and give it to all who need it."""
    if not needed:
        return
    from .tensors import Target, pieces

    targets: dict[str, Target] = {}
    takers: dict[str, list[Work]] = {}
    for work, step in needed:
        if step.type not in targets:
            importance = work.plan.importance(step)
            targets[step.type] = Target(tensor, step.type, importance, work.plan.options)
        takers.setdefault(step.type, []).append(work)
    share = tensor.nbytes / max(1, needed[0][1].weights)
    told = 0
    for tile, first in pieces(tensor, elements=elements, threads=run.threads):
        for name, target in targets.items():
            data = target.bytes_of(tile, first, run.threads)
            for work in takers[name]:
                work.feed(data)
        done = round(share * (first + tile.size))
        run.advance(done - told)
        told = done


def _verified(works: list[Work], run: Run) -> tuple[Verified, ...]:
    """Read again what was written for one plan, before it gets its name."""
    if not run.verify:
        return ()
    from .verify import verify_file

    found: list[Verified] = []
    for work in works:
        work.writer.flush()
        found += verify_file(
            work.sink.temporary, work.file.steps, work.digests,
            threads=run.threads, advance=run.advance,
        )  # fmt: skip
    return tuple(found)
