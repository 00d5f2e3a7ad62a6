"""``ggufspec split``: a set of files from one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from . import machine, screen, sets, text
from .conversion import failing
from .options import Dialect, Force, Json, file_argument, file_name
from .paths import open_model, telling
from .sizes import size

EXAMPLES = (
    "ggufspec split model.gguf parts/model --max-size 4G",
    "ggufspec split model.gguf model --max-tensors 64 --no-tensor-first-split",
    "ggufspec split model-00001-of-00003.gguf smaller --max-size 500M --dry-run",
)

_COLUMNS = (
    screen.Column("file"),
    screen.Column("size", right=True),
    screen.Column("tensors", right=True),
    screen.Column("from"),
    screen.Column("to"),
)


def group() -> Any:
    """The command; its options may be spelled as llama-gguf-split spells them."""
    app = typer.Typer(add_completion=False)
    settings = {"token_normalize_func": _our_spelling}
    app.command("split", context_settings=settings)(command)
    return typer.main.get_command(app)


def _our_spelling(name: str) -> str:
    return name.replace("_", "-").removeprefix("split-")


def file_prefix(value: str) -> Path:
    """What names start with; wrong usage for a folder, where nothing would stand before them."""
    if value.endswith(("/", os.sep)):
        raise typer.BadParameter(
            f"{value!r} is a folder; the names start with what follows it, as in {value}model"
        )
    return file_name(value)


def _limit(value: str) -> int:
    """Bytes of a file at most; wrong usage for none."""
    limit = size(value)
    if limit < 1:
        raise typer.BadParameter(f"{value!r} lets nothing in; sizes are 500M, 4G")
    return limit


def command(
    source: Annotated[Path, file_argument("IN", "A GGUF file, or any file of a split set.")],
    prefix: Annotated[
        Path,
        typer.Argument(
            metavar="PREFIX",
            parser=file_prefix,
            help="What the names start with: PREFIX-00001-of-0000N.gguf.",
        ),
    ],
    max_size: Annotated[
        int | None,
        typer.Option(
            "--max-size",
            parser=_limit,
            metavar="SIZE",
            help="Bytes of a file at most, header and padding included: 500M, 4G (powers of "
            "1000). A tensor that is larger gets a file of its own.",
        ),
    ] = None,
    max_tensors: Annotated[
        int | None,
        typer.Option("--max-tensors", min=1, metavar="N", help="Tensors a file; 128 by default."),
    ] = None,
    no_tensor_first: Annotated[
        bool,
        typer.Option("--no-tensor-first-split", help="Let the first file hold the metadata alone."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the files that there would be; write none.")
    ] = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Split a model into files that belong together.

    The data are copied as they are, whatever their type. The files get
    their names when all of them are whole, the first one last. Any of
    them opens the set again.
    """
    from ..jobs.sets import plan_split
    from ..jobs.sets.splitting import oversize

    with open_model(source, dialect=dialect) as model, failing(source):
        plan = plan_split(
            model, prefix, max_size=max_size, max_tensors=max_tensors,
            tensorless_first=no_tensor_first,
        )  # fmt: skip
        sets.check(plan, force=force)
        sets.warn(plan)
        large = oversize(plan)
        for line in large:
            screen.warn(text.printable(line, 1000))
        done, seconds = None, 0.0
        if not dry_run:
            done, seconds = sets.write(plan, force=force, as_json=as_json)
        with telling(sets.written(plan, done)):
            if as_json:
                record = {**sets.record(plan, source), "oversize": large}
                machine.emit({**record, **sets.work(done, seconds)})
                return
            rows = [
                (
                    text.printable(str(file.path)),
                    text.size(file.size),
                    f"{len(file.items):,}",
                    *(text.printable(item.name, 60) for item in (file.items[:1] + file.items[-1:])),
                )
                for file in plan.files
            ]
            screen.table(_COLUMNS, [(*row, "", "")[: len(_COLUMNS)] for row in rows])
            sets.show_changes(plan)
            screen.say(sets.told(plan, done, seconds))
