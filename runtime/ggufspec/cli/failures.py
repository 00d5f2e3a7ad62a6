"""What a failure is called, and the exit code it gets."""

from __future__ import annotations

import errno
import os
import sys
from dataclasses import asdict, astuple, dataclass
from typing import Any

from ..errors import GGUFError, MissingExtraError
from ..files.urls import UrlError
from .screen import label
from .text import printable

INVALID = 1
"""The file is invalid, or a check failed."""
USAGE = 2
UNSUPPORTED = 3
"""An unknown version or type, or something that a later version brings."""
SYSTEM = 4
"""Missing, no permission, disk full."""
INTERRUPTED = 130

LIMIT = 1000
"""Characters of a message, which may hold names out of a file."""


@dataclass
class CommandError(Exception):
    """A command cannot go on: what happened, to which file, and what helps."""

    message: str
    exit: int
    file: str = ""
    hint: str = ""
    rule: str = ""
    offset: int | None = None
    path: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), astuple(self)


def usage(message: str, *, file: str = "", hint: str = "") -> CommandError:
    """A wrong use of a command."""
    return CommandError(message, USAGE, file=file, hint=hint)


def of_file(error: GGUFError, file: str = "") -> CommandError:
    """What a file's content caused."""
    return CommandError(
        error.message,
        UNSUPPORTED if _unsupported(error.code) else INVALID,
        file=error.file or file,
        hint=error.hint,
        rule=error.code,
        offset=error.offset,
        path=error.path,
    )


def of_error(error: BaseException) -> CommandError:
    """Any exception as a failure. What nobody foresaw is a fault of this program."""
    match error:
        case CommandError():
            return error
        case GGUFError():
            return of_file(error)
        case KeyboardInterrupt():
            return CommandError("interrupted", INTERRUPTED)
        case UrlError():
            return usage(error.reason, file=error.url)
        case MissingExtraError():
            message, _, hint = str(error).partition(": ")
            return CommandError(message, SYSTEM, hint=hint)
        case MemoryError():
            return CommandError("out of memory", SYSTEM)
        case RuntimeError() if "can't start new thread" in str(error):
            return CommandError(
                "the system starts no more threads", SYSTEM, hint="--threads 1 takes the fewest"
            )
        case OSError():
            return _of_system(error)
        case _:
            return CommandError(
                f"internal error: {type(error).__name__}: {error}",
                SYSTEM,
                hint="a fault of ggufspec: please report it, with the command and the file; "
                "GGUFSPEC_TRACEBACK=1 shows where",
            )


def line(failure: CommandError) -> str:
    """The failure for people: one line, and one more for what helps."""
    place = ", ".join(
        part
        for part in (
            failure.rule,
            f"byte {failure.offset:,}" if failure.offset is not None else "",
            failure.path,
        )
        if part
    )
    subject = f"{printable(failure.file)}: " if failure.file else ""
    message = f"error: {subject}{printable(failure.message, LIMIT)}" + (
        f" ({place})" if place else ""
    )
    return message + (f"\nhint: {printable(failure.hint, LIMIT)}" if failure.hint else "")


def record(failure: CommandError) -> dict[str, Any]:
    """The failure for machines."""
    return {
        "error": {key: value for key, value in asdict(failure).items() if value not in ("", None)}
    }


def complain(failure: CommandError) -> None:
    """Print the failure on standard error."""
    print(line(failure).replace("error:", label("error:", 31), 1), file=sys.stderr)


def _unsupported(rule: str) -> bool:
    from ..generated.rules import RULES

    return rule in RULES and RULES[rule].unsupported


def _of_system(error: OSError) -> CommandError:
    name = error.filename if error.filename is not None else ""
    file = os.fsdecode(name) if isinstance(name, (str, bytes)) else str(name)
    reason = error.strerror or str(error)
    hints = {
        errno.ENOENT: "is the path spelled right?",
        errno.ENOSPC: "nothing was written under the final name",
    }
    # Without a file it is a stream, such as standard output: then the work may be done.
    hint = hints.get(error.errno or 0, "") if file else ""
    return CommandError(reason[:1].lower() + reason[1:], SYSTEM, file=file, hint=hint)
