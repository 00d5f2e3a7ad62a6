"""``ggufspec generate``: the command that the codegen package adds to the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .errors import SpecError
from .generate import differences, edited, find_root, make_all, make_copy, write
from .spec import load_spec
from .targets import TARGETS

PACKAGE = Path(__file__).resolve().parent.parent
"""The installed package (or, in an editable install, the checkout): spec/ and generated/."""


def register(app: typer.Typer) -> None:
    """Add this package's commands to the application (entry point ``ggufspec.commands``)."""
    app.command("generate")(generate)


def generate(
    check: Annotated[
        bool, typer.Option("--check", help="Compare and print; write nothing.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write what is stale (the default).")] = False,
    root: Annotated[Path | None, typer.Option(help="The checkout to work on.")] = None,
    target: Annotated[str | None, typer.Option(help=f"One of {', '.join(TARGETS)}.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of your own for one target.")] = None,
    types: Annotated[str, typer.Option(help="Only these types, with commas.")] = "",
    spec_dir: Annotated[Path | None, typer.Option(help="A spec folder of your own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Report as JSON.")] = False,
) -> None:
    """Make the generated files from the spec, or check that they are fresh.

    In a checkout: everything under generated/. With --target and --out: one target into a
    project of your own, with a manifest; --check --out tells whether that copy is fresh.
    """
    if check and fix:
        raise typer.BadParameter("--check and --fix exclude each other")
    try:
        if out is not None:
            found = _copy(out, target, types, spec_dir or PACKAGE / "spec", check)
        elif target is not None:
            raise typer.BadParameter("--target needs --out DIR")
        else:
            found = _checkout(root, check)
    except SpecError as error:
        found = [str(error)]
        check = True
    _report(found, check, as_json)


def _checkout(root: Path | None, check: bool) -> list[str]:
    place = root or find_root(Path.cwd())
    if place is None:
        if not check:
            raise typer.BadParameter(
                "no checkout around this folder; use --root, or --target NAME --out DIR"
            )
        return edited(PACKAGE / "generated")
    if not (place / "spec/VERSION").is_file():
        raise typer.BadParameter(f"{place} has no spec/VERSION")
    folder, files = place / "generated", make_all(place)
    return differences(folder, files) if check else write(folder, files)


def _copy(out: Path, target: str | None, types: str, spec_dir: Path, check: bool) -> list[str]:
    names = [name for name in types.split(",") if name]
    if check and target is None:
        target, names = _recorded(out)
    if target is None or target not in TARGETS:
        raise typer.BadParameter(f"--target is one of {', '.join(TARGETS)}")
    try:
        files = make_copy(load_spec(spec_dir), target, names)
    except KeyError as error:
        raise typer.BadParameter(f"the spec has no type {error.args[0]}") from None
    act = differences if check else write
    return act(out, files, strays=False)


def _recorded(out: Path) -> tuple[str, list[str]]:
    """Target and types of an earlier copy, from its manifest."""
    try:
        content = json.loads((out / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(content["target"]), [str(name) for name in content["types"]]
    except (OSError, ValueError, KeyError):
        raise typer.BadParameter(f"{out} has no MANIFEST.json of an earlier --out") from None


def _report(found: list[str], check: bool, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"fresh" if check else "written": not found if check else found}))
    elif check and found:
        typer.echo("\n".join(found))
        typer.echo("\nTo mend it: ggufspec generate --fix")
    elif check:
        typer.echo("everything is fresh")
    else:
        typer.echo("\n".join([*found, f"{len(found)} files written"]))
    if check and found:
        raise typer.Exit(1)
