"""``ggufspec merge``: one file from a split set."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..files.shard_names import parse_shard_name
from . import machine, screen, sets, text
from .conversion import failing
from .options import Dialect, Force, Json, file_argument
from .paths import open_model, telling

EXAMPLES = (
    "ggufspec merge model-00001-of-00003.gguf model.gguf",
    "ggufspec merge model-00002-of-00003.gguf model.gguf --dry-run",
)


def command(
    source: Annotated[Path, file_argument("ANY_SHARD", "Any file of the set.")],
    target: Annotated[Path, file_argument("OUT", "The file to write.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the set and show what there would be.")
    ] = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Make one file of a split set, without the keys that number its files.

    Files that do not belong together are refused, and the reason told.
    The set stays as it is.
    """
    from ..jobs.sets import plan_merge

    with open_model(source, dialect=dialect) as model, failing(source):
        plan = plan_merge(model, target)
        sets.check(plan, force=force)
        sets.warn(plan)
        if parse_shard_name(target.name) is not None:
            screen.warn(f"{text.printable(target.name)} is the name of a file of a set")
        done, seconds = None, 0.0
        if not dry_run:
            done, seconds = sets.write(plan, force=force, as_json=as_json)
        with telling(sets.written(plan, done)):
            if as_json:
                machine.emit({**sets.record(plan, source), **sets.work(done, seconds)})
                return
            (file,) = plan.files
            tensors, keys = (
                text.plural(len(file.items), "tensor"),
                text.plural(len(file.entries), "key"),
            )
            parts = text.plural(len(plan.source), "file")
            screen.say(f"{text.printable(str(target))}: {tensors} and {keys} from {parts}")
            sets.show_changes(plan)
            screen.say(sets.told(plan, done, seconds))
