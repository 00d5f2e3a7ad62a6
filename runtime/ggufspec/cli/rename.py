"""``ggufspec rename``: standard file names, made and taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import machine, screen, text
from .conversion import failing
from .failures import INVALID, CommandError, usage
from .options import Dialect, Json, file_argument
from .paths import open_model, telling
from .screen import Column

if TYPE_CHECKING:
    from ..jobs.names import ModelName, StandardName
    from ..jobs.renaming import Renaming

EXAMPLES = (
    "ggufspec rename model.gguf --dry-run",
    "ggufspec rename model.gguf --set version=v1.0 --set fine_tune=Instruct",
    "ggufspec rename --parse Mixtral-8x7B-v0.1-Q4_K_M.gguf",
)

PARTS = (Column("part"), Column("text", style="cyan"))


def command(
    file: Annotated[
        Path | None,
        file_argument("[FILE]", "A GGUF file; of a split set all files are renamed."),
    ] = None,
    parse: Annotated[
        str | None,
        typer.Option("--parse", metavar="NAME", help="Take a name apart; no file is looked at."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PART=TEXT",
            help="Say a part: base_name, size_label, fine_tune, version, encoding, type, sidecar; "
            "without TEXT it is left out. May be given again.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the new name; rename nothing.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that has the new name.")
    ] = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Give a file the name that its metadata and tensors make, or take a name apart.

    [Sidecar-]BaseName[-SizeLabel[-FineTune]]-Version[-Encoding][-Type][-Shard].gguf

    The file stays in its folder, and none of its bytes changes. --parse ends with exit code 1
    for a name that is not of this form.
    """
    if (file is None) == (parse is None):
        raise usage("a FILE is needed, or --parse NAME")
    if parse is not None:
        if given or dry_run or force:
            raise usage("--parse takes no other options than --json")
        _parse(parse, as_json)
    elif file is not None:
        _rename(file, _assignments(given or []), dialect, dry_run, force, as_json)


def _parse(name: str, as_json: bool) -> None:
    from ..jobs.names import read_name

    try:
        parts = read_name(Path(name).name)
    except ValueError as error:
        if as_json:
            machine.emit({"name": name, "standard": False, "reason": str(error)})
            raise typer.Exit(INVALID) from None
        raise CommandError(
            str(error), INVALID, file=name,
            hint="[Sidecar-]BaseName[-SizeLabel[-FineTune]]-Version[-Encoding][-Type][-Shard].gguf",
        ) from None  # fmt: skip
    if as_json:
        machine.emit({"name": name, "standard": True, "parts": _record(parts)})
    else:
        rows = [
            (part, text.printable(shown))
            for part, shown in _record(parts).items()
            if shown is not None
        ]
        screen.table(PARTS, rows)


def _record(parts: StandardName) -> dict[str, Any]:
    """The parts in the order of the form; those that are not there are null."""
    made = asdict(parts)
    shard = made.pop("shard")
    ordered = {name: made.pop(name) or None for name in ("sidecar", *list(made)[:-1])}
    return {**ordered, "shard": f"{shard[0]:05d}-of-{shard[1]:05d}" if shard else None}


def _assignments(given: Sequence[str]) -> dict[str, str]:
    made = {}
    for one in given:
        part, sign, value = one.partition("=")
        if not sign:
            raise usage(f"{one!r:.80} is no PART=TEXT")
        made[part.strip()] = value
    return made


def _rename(
    file: Path,
    given: dict[str, str],
    dialect: str | None,
    dry_run: bool,
    force: bool,
    as_json: bool,
) -> None:
    from ..jobs.names import name_of_model
    from ..jobs.renaming import carry_out, plan_renaming, taken

    with open_model(file, dialect=dialect) as model, failing(file):
        made = name_of_model(model, given)
        renamings = plan_renaming(model, made.name)
    for note in made.notes:
        screen.warn(note)
    if not force and (there := taken(renamings)):
        raise usage("a file has the new name", file=str(there[0]), hint="--force replaces it")
    if not dry_run:
        carry_out(renamings, force=force)
    with telling("" if dry_run else "it has the new name"):
        if as_json:
            machine.emit(_told(made, renamings, renamed=not dry_run))
        else:
            for one in renamings:
                _show(one, dry_run)


def _told(made: ModelName, renamings: Sequence[Renaming], *, renamed: bool) -> dict[str, Any]:
    return {
        "name": str(made.name),
        "parts": _record(made.name),
        "notes": made.notes,
        "renamed": renamed and any(one.changes for one in renamings),
        "files": [{"from": str(one.old), "to": str(one.new)} for one in renamings],
    }


def _show(one: Renaming, dry_run: bool) -> None:
    old, new = text.printable(str(one.old)), text.printable(one.new.name)
    if not one.changes:
        screen.say(f"{old}: has the standard name")
    else:
        screen.say(f"{old}: {'would become' if dry_run else 'is now'} {new}")
