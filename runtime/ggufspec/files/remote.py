"""Files on a web server: their header is read, by ranges, and nothing of their data."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..container.front import Front
from .source import Source
from .urls import Remote

if TYPE_CHECKING:
    from ..container.dialects import Choice
    from ..container.scan import Scan
    from .remote_fetch import Beginning

_ENDLESS = 1 << 62  # stands for a size that is not known


class RemoteSource(Source):
    """The beginning of a file on a server. `size` is the whole file's, by what the server says.

    Where it does not say, the size is taken to be what the header makes it: `size_known` is False.
    """

    remote = True

    def __init__(self, remote: Remote) -> None:
        """Ask for the first bytes. OSError (RemoteError) for what server and network do.

        UrlError (a ValueError) for a URL that is none, or whose scheme is not allowed;
        MissingExtraError (an ImportError) without httpx.
        """
        from .remote_fetch import Beginning

        self.path = None
        self.origin = remote
        self._header = 0  # where the data begin
        self._beginning: Beginning | None = Beginning(remote)
        self._beginning.begin()
        self.size_known = self._beginning.size is not None
        self.size = _ENDLESS if self._beginning.size is None else self._beginning.size

    @property
    def label(self) -> str:
        """What to call it in messages."""
        return self.origin.name

    @property
    def fetched(self) -> int:
        """Bytes that came from the server so far, those of failed tries too."""
        return self._open().fetched

    @property
    def view(self) -> memoryview:
        """The bytes that are there, from the first on."""
        beginning = self._open()
        return beginning.view[: beginning.there]

    @property
    def front(self) -> Front:
        """The file for a scan, which fetches what it needs."""
        beginning = self._open()
        return Front(beginning.view, self.size, beginning.reach)

    def read(self, offset: int, size: int) -> memoryview:
        """`size` bytes of the header from `offset` on, fetched if they are not there."""
        beginning = self._open()
        end = min(offset + size, self.size)
        if end > self._header:
            self.check_data()
        beginning.reach(end)
        return self.view[offset:end]

    def holes(self) -> Iterator[tuple[int, int]]:
        """None that anyone could know of."""
        return iter(())

    def check_data(self) -> None:
        """Refuse what needs more than the header."""
        self._open()
        raise io.UnsupportedOperation(
            f"the data of tensors are not read from a URL; download {self.origin}"
        )

    def scan(self, profile: str, dialect: str | None) -> tuple[Scan, Choice | None]:
        """`scan_as`; no more is asked of the server after it, until somebody reads on."""
        from ..container.dialects import scan_as
        from .remote_fetch import Ended

        beginning = self._open()
        try:
            found = scan_as(self.front, profile=profile, dialect=dialect)
            if not self.size_known and found[0].whole:
                self.size = _end(found[0])
                found = scan_as(self.front, profile=profile, dialect=dialect)
        except Ended:
            self.size, self.size_known = beginning.there, True
            found = scan_as(self.front, profile=profile, dialect=dialect)
        self._header = found[0].data_offset
        beginning.pause()
        return found

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._beginning is None

    def close(self) -> None:
        """Let go of the connection; again is harmless."""
        beginning, self._beginning = self._beginning, None
        if beginning is not None:
            beginning.close()

    def _open(self) -> Beginning:
        if self._beginning is None:
            raise ValueError("the file is closed")
        return self._beginning


def _end(found: Scan) -> int:
    """The byte behind the last tensor, as far as the header tells."""
    tensors = found.tensors
    sizes = zip(tensors.offset, tensors.nbytes, strict=True)
    ends = (offset + max(size, 0) for offset, size in sizes)
    return found.data_offset + max(ends, default=0)
