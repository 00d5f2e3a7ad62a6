"""Files that are read for a while: nobody may write to them meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..edits.draft import Stamp
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.part import Part


@contextmanager
def unchanged(parts: Iterable[Part]) -> Iterator[None]:
    """At its end, ConversionError where a file is not the one any more that was opened.

    Buffers, and what lies on a server, are not looked at.
    """
    files = [(part.source.path, part.source.status) for part in parts]
    yield
    for path, status in files:
        if path is not None and status is not None and _now(path) != Stamp.of(status):
            raise ConversionError(
                "the file has changed since it was read", "system", file=path, hint="try again"
            )


def _now(path: str) -> Stamp | None:
    try:
        return Stamp.of(Path(path).stat())
    except OSError:
        return None
