"""Files that are sent as they were when the answer began, or not to the end."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from ..text import printable

if TYPE_CHECKING:
    from .gate import App, Message, Receive, Scope, Send


class CutError(OSError):
    """A file that changed while it was sent; the connection is closed then."""


class Exact:
    """Holds an answer to the length that its head says.

    What a file has more of by now is left out; CutError where it has less.
    """

    def __init__(self, app: App, name: str) -> None:
        """name: of the file, for the error."""
        self._app = app
        self._name = name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        left: int | None = None

        async def exact(message: Message) -> None:
            nonlocal left
            if message["type"] == "http.response.start":
                left = _length(message) if scope["method"] != "HEAD" else None
            elif left is not None:
                body = message.get("body", b"")[:left]
                left -= len(body)
                if left and not message.get("more_body", False):
                    raise CutError(f"{self._name} became shorter while it was sent")
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, exact)


def _length(message: Message) -> int | None:
    lengths = [value for name, value in message["headers"] if name.lower() == b"content-length"]
    return int(lengths[0]) if lengths else None


class OneLine(logging.Handler):
    """What the server logs, a line each on standard error, without the way that led there."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        error = record.exc_info[1] if record.exc_info else None
        while isinstance(inner := getattr(error, "exceptions", (None,))[0], BaseException):
            error = inner  # a group of a single one
        told = record.getMessage().strip()
        if isinstance(error, CutError):
            told = str(error)
        elif error is not None:
            told += f": {type(error).__name__}: {error}"
        print(f"{record.levelname.lower()}: {printable(told, 1000)}", file=sys.stderr, flush=True)


def log_in_lines() -> None:
    """Let errors of the server be told that way, and by nobody else."""
    logger = logging.getLogger("uvicorn.error")
    logger.handlers = [OneLine(logging.ERROR)]
    logger.propagate = False
