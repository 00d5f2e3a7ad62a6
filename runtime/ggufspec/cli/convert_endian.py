"""``ggufspec convert-endian``: the same file in the other byte order."""

from __future__ import annotations

import time
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import machine, screen, text
from .conversion import failing
from .options import Dialect, Force, Json, Threads, file_argument
from .paths import check_output, check_space, reading, telling, writing
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..files.part import Part
    from ..jobs.endian import EndianPlan

EXAMPLES = (
    "ggufspec convert-endian model.gguf model-big.gguf",
    "ggufspec convert-endian model-big.gguf model.gguf --to native",
    "ggufspec convert-endian model.gguf model-big.gguf --to big --dry-run",
)

TYPES = (
    Column("type", style="green"),
    Column("tensors", right=True),
    Column("bytes", right=True),
)


class Order(str, Enum):
    """Byte orders, by name or by what they are compared with."""

    big = "big"
    little = "little"
    native = "native"
    opposite = "opposite"


def command(
    source: Annotated[
        Path, file_argument("IN", "A GGUF file; of a split set this one file is converted.")
    ],
    target: Annotated[Path, file_argument("OUT", "The file to write.")],
    to: Annotated[
        Order,
        typer.Option(
            "--to", case_sensitive=False,
            help="The byte order to write; native is that of this machine.",
        ),
    ] = Order.opposite,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be written; write nothing.")
    ] = False,
    threads: Threads = None,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Write a file in the other byte order, for tensors of every type.

    Each word of a block is turned in its own width, and nothing moves: converted twice, a file is
    what it was, byte for byte. Types whose layout is not known are refused before anything is
    written (exit code 3).
    """
    from ..jobs.endian import plan_endian, write_endian

    part = _open(source, dialect)
    try:
        with failing(source):
            plan = plan_endian(part, to.value)
            plan.check()
            _warn(plan)
            seconds: float | None = None
            if not dry_run:
                check_output(target, [source], force=force)
                check_space(target, plan.size)
                started = time.monotonic()
                with writing(target), Progress("writing", plan.size, quiet=as_json) as progress:
                    write_endian(
                        plan, target, replace=force, threads=threads, advance=progress.advance
                    )
                seconds = time.monotonic() - started
            written = f"{text.printable(str(target))} is written" if seconds is not None else ""
            with telling(written):
                if as_json:
                    machine.emit(_record(plan, source, target, seconds))
                else:
                    _show(plan, target, seconds)
    finally:
        part.source.close()


def _open(source: Path, dialect: str | None) -> Part:
    from ..files.reader import load_part

    with reading(source):
        return load_part(source, "lenient", dialect)


def _warn(plan: EndianPlan) -> None:
    for note in plan.notes:
        screen.warn(note)


def _record(plan: EndianPlan, source: Path, target: Path, seconds: float | None) -> dict[str, Any]:
    record: dict[str, Any] = {
        "input": str(source),
        "output": str(target),
        "from": plan.part.scan.byte_order,
        "to": plan.byte_order,
        "written": seconds is not None,
        "size": plan.size,
        "types": {
            name: {"tensors": count, "bytes": nbytes}
            for name, (count, nbytes) in plan.by_type().items()
        },
        "notes": plan.notes,
    }
    return record if seconds is None else {**record, "seconds": seconds}


def _show(plan: EndianPlan, target: Path, seconds: float | None) -> None:
    rows = [
        (text.printable(name), f"{count:,}", f"{nbytes:,}")
        for name, (count, nbytes) in plan.by_type().items()
    ]
    if rows:
        screen.table(TYPES, rows)
        screen.say()
    orders = f"{plan.part.scan.byte_order}-endian to {plan.byte_order}-endian"
    name, size = text.printable(str(target)), text.size(plan.size)
    if seconds is None:
        screen.say(f"{name} would be written: {size}, {orders}")
    else:
        rate = text.size(plan.size / max(seconds, 1e-9))
        screen.say(f"{name}: {size}, {orders}, written in {seconds:.1f} s ({rate}/s)")
