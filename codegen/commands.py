"""What codegen adds to the command line: ``generate``, ``upstream``, and ``--spec-dir`` for all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from .errors import SpecError, show_path
from .formula import counted
from .generate import differences, edited, find_root, make_all, make_copy, write
from .spec import OWN, PACKAGE, load_spec
from .targets import COPIES
from .upstream.commands import app as upstream


def register(app: typer.Typer) -> None:
    """Add this package's commands and options (entry point ``ggufspec.commands``)."""
    app.callback()(_root)
    app.command("generate")(generate)
    app.add_typer(upstream, name="upstream")


def _extend(folder: Path | None) -> None:
    """Add a user's own specification before the command starts."""
    if folder is None:
        return
    from .extension import extend

    try:
        extend(folder)
    except SpecError as error:
        raise typer.BadParameter(str(error)) from None
    except OSError as error:
        raise typer.BadParameter(f"{folder}: {error.strerror or error}") from None


def _root(
    spec_dir: Annotated[
        Path | None,
        typer.Option(
            "--spec-dir",
            metavar="DIR",
            is_eager=True,
            expose_value=False,
            callback=_extend,
            help="A folder of your own with types/ and dialects/ to add (before the command).",
        ),
    ] = None,
) -> None:
    """Options for all commands."""


def generate(
    check: Annotated[
        bool, typer.Option("--check", help="Compare and print; write nothing.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write what is stale (the default).")] = False,
    root: Annotated[Path | None, typer.Option(help="The checkout to work on.")] = None,
    target: Annotated[str | None, typer.Option(help=f"One of {', '.join(COPIES)}.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of your own for one target.")] = None,
    types: Annotated[str, typer.Option(help="Only these types, with commas.")] = "",
    spec_dir: Annotated[Path | None, typer.Option(help="A spec folder of your own.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Report as JSON.")] = False,
) -> None:
    """Make the generated files from the spec, or check that they are fresh.

    In a checkout: everything under generated/. With --target and --out: one target into a
    project of your own, with a manifest that remembers target and types; from then on --out
    alone writes that copy anew, and --check --out tells whether it is fresh.
    """
    if check and fix:
        raise typer.BadParameter("--check and --fix exclude each other")
    if out is None and (target or types or spec_dir):
        raise typer.BadParameter("--target, --types and --spec-dir need --out DIR")
    if out is not None and root is not None:
        raise typer.BadParameter("--root and --out exclude each other")
    try:
        if out is not None:
            found = _copy(out, target, types, spec_dir or OWN, check)
        else:
            found = _checkout(root, check)
    except SpecError as error:
        _refuse(error, as_json)
    _report(found, check, "--fix" if out is None else f"--out {out}", as_json)


def _checkout(root: Path | None, check: bool) -> list[str]:
    place = root or find_root(Path.cwd())
    if place is None:
        if not check:
            raise typer.BadParameter(
                "no checkout around this folder; use --root, or --target NAME --out DIR"
            )
        typer.echo("no checkout around this folder: the installed package is examined", err=True)
        return edited(PACKAGE / "generated")
    if not (place / "spec/VERSION").is_file():
        raise typer.BadParameter(f"{place} has no spec/VERSION")
    folder, files = place / "generated", make_all(place)
    return differences(folder, files) if check else write(folder, files)


def _copy(out: Path, target: str | None, types: str, spec_dir: Path, check: bool) -> list[str]:
    names = [name for name in types.split(",") if name]
    if target is None:
        target, names = _recorded(out)
    if target not in COPIES:
        raise typer.BadParameter(f"--target is one of {', '.join(COPIES)}")
    spec = load_spec(spec_dir)
    known = {kind.name.upper() for kind in spec.types}
    unknown = [name for name in names if name.upper() not in known]
    if unknown:
        raise typer.BadParameter(f"the spec has no type {', '.join(unknown)}")
    act = differences if check else write
    return act(out, make_copy(spec, target, names), strays=False)


def _recorded(out: Path) -> tuple[str, list[str]]:
    """Target and types of an earlier copy, from its manifest."""
    try:
        content = json.loads((out / "MANIFEST.json").read_text(encoding="utf-8"))
        return str(content["target"]), [str(name) for name in content["types"]]
    except (OSError, ValueError, KeyError, TypeError):
        raise typer.BadParameter(
            f"{out} has no MANIFEST.json of an earlier --target NAME --out DIR"
        ) from None


def _refuse(error: SpecError, as_json: bool) -> NoReturn:
    """A fault of the spec: nothing was compared or written."""
    if as_json:
        place = {"file": error.file, "line": error.line, "path": show_path(error.path)}
        typer.echo(json.dumps({"error": {"message": error.message, **place}}))
    else:
        typer.echo(f"error: {error}", err=True)
    raise typer.Exit(1) from None


def _report(found: list[str], check: bool, remedy: str, as_json: bool) -> None:
    if as_json:
        typer.echo(
            json.dumps({"fresh": not found, "found": found} if check else {"written": found})
        )
    elif check and found:
        typer.echo("\n".join(found))
        typer.echo(f"\nTo mend it: ggufspec generate {remedy}")
    elif check:
        typer.echo("everything is fresh")
    else:
        typer.echo("\n".join([*found, f"{counted(len(found), 'file')} written"]))
    if check and found:
        raise typer.Exit(1)
