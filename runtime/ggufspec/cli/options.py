"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer

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


def file_argument(metavar: str, text: str) -> Any:
    """A path that we check ourselves: what the system refuses exits with 4, typer's way is 2."""
    return typer.Argument(metavar=metavar, readable=False, help=text)
