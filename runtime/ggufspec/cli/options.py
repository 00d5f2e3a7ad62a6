"""Options that several commands share."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..files.urls import Remote, is_url, shown
from . import completion
from .sizes import size

JSON = "ggufspec.json"
"""Key of the context's ``meta``: whether this run speaks JSON."""


def _remember(context: typer.Context, value: bool) -> bool:
    context.meta[JSON] = value
    return value


Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", callback=_remember)]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing output.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, metavar="N", help="Processors to use; all by default."),
]


MaxBytes = Annotated[
    int | None,
    typer.Option(
        "--max-bytes",
        metavar="SIZE",
        parser=size,
        help="The most to fetch of a URL: 500M, 2G; 256M by default.",
    ),
]


def _known_dialect(name: str | None) -> str | None:
    if name is not None:
        from ..dialects import dialects

        if name not in dialects:
            raise typer.BadParameter(f"there is none called {name!r}; known: {', '.join(dialects)}")
    return name


Dialect = Annotated[
    str | None,
    typer.Option(
        "--dialect",
        metavar="NAME",
        autocompletion=completion.dialects,
        callback=_known_dialect,
        help="Whose type numbers the file uses; found out by default.",
    ),
]


def file_argument(metavar: str, text: str) -> Any:
    """A path that we check ourselves: what the system refuses exits with 4, typer's way is 2."""
    return typer.Argument(metavar=metavar, parser=file_name, help=text)


def target_argument(metavar: str, text: str) -> Any:
    """A path, or the URL of a file whose header is all that is needed (a `Remote`)."""
    return typer.Argument(metavar=metavar, parser=file_or_url, help=text)


def file_or_url(text: str) -> Path | Remote:
    """What a text names; wrong usage where it can name nothing."""
    return Remote(text) if is_url(text) else file_name(text)


def limited(target: Path | Remote, max_bytes: int | None) -> Path | Remote:
    """The same, with the most that is to be fetched of a URL."""
    if max_bytes is None or not isinstance(target, Remote):
        return target
    return replace(target, max_bytes=max_bytes)


def file_name(text: str) -> Path:
    """The path; wrong usage where it can name no file."""
    if not text:
        raise typer.BadParameter("the name is empty")
    if is_url(text):
        raise typer.BadParameter(
            f"{shown(text)} is a URL; here a file on this machine is needed: download it first"
        )
    if text.endswith(("/", os.sep)) and not Path(text).is_dir():
        raise typer.BadParameter(f"{text!r} names a folder, not a file")
    return Path(text)


def file_option(name: str, text: str, panel: str) -> Any:
    """An option whose file we check ourselves."""
    return typer.Option(name, metavar="FILE", parser=file_name, help=text, rich_help_panel=panel)
