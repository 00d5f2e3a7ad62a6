"""``ggufspec serve``: the inspector in the browser, for files of this machine."""

from __future__ import annotations

import errno
import secrets
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from . import machine, screen
from .failures import SYSTEM, CommandError, usage
from .options import Json, file_argument
from .text import plural, printable

EXAMPLES = (
    "ggufspec serve",
    "ggufspec serve models --port 8123",
    "ggufspec serve model.gguf --no-open --json",
)


def command(
    files: Annotated[
        list[Path] | None,
        file_argument(
            "[FOLDER|FILE...]", "Folders of GGUF files, or files; the working directory by default."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, metavar="N", help="0, the default: any.")
    ] = 0,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="127.0.0.1 (the default) or ::1.")
    ] = "127.0.0.1",
    open_: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open", help="Show it in the browser; by default where this is a terminal."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Open the inspector for files of this machine.

    Only this machine is answered, only who has the address that is printed, and nothing can be
    changed. It ends with Ctrl-C.
    """
    from ..serve.app import application, listen, run

    roots = files or [Path()]
    for root in roots:
        _check(root)
    token = secrets.token_urlsafe(24)
    try:
        server = listen(host, port)
    except ValueError as error:
        raise usage(str(error)) from None
    except OSError as error:
        raise _not_listening(error, host, port) from error
    with server:
        used = server.getsockname()[1]
        place = _place(host)
        app = application(roots, token, [f"{place}:{used}", f"localhost:{used}"])
        url = f"http://{place}:{used}/{token}/"
        _tell(url, roots, as_json)
        if open_ or (open_ is None and sys.stdout.isatty() and not as_json):
            threading.Timer(0.3, webbrowser.open, [url]).start()
        with suppress(KeyboardInterrupt):  # the way to end it
            run(app, server)


def _place(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _not_listening(error: OSError, host: str, port: int) -> CommandError:
    """Why nothing is served: most often another server has the port."""
    address = f"{_place(host)}:{port}"
    if error.errno == errno.EADDRINUSE:
        return CommandError(
            f"the address {address} is in use", SYSTEM, hint="without --port, any free one is taken"
        )
    reason = error.strerror or str(error)
    return CommandError(f"cannot listen on {address}: {reason.lower()}", SYSTEM)


def _check(root: Path) -> None:
    """OSError where nothing is; wrong usage for a file that is none of ours."""
    root.stat()
    if root.is_dir():
        return
    if not root.is_file():
        raise usage("neither a folder nor a regular file", file=str(root))
    if not root.name.lower().endswith(".gguf"):
        raise usage("its name does not end in .gguf", file=str(root))


def _tell(url: str, roots: list[Path], as_json: bool) -> None:
    if as_json:
        machine.emit({"url": url})
    else:
        what = printable(str(roots[0])) if len(roots) == 1 else plural(len(roots), "place")
        screen.say(f"Serving {what} (read-only, this machine alone; Ctrl-C ends it):")
        print(url)
    sys.stdout.flush()
