"""The beginning of a file on a server, which grows: buffer, tries, and what may not change."""

from __future__ import annotations

import errno
import mmap
import time
from contextlib import suppress

from ..text import plural
from .remote_http import Again, Answer, RemoteError, Unsatisfiable, Web
from .urls import Remote

_STEPS = 8
"""A server that ends its answers early has to bring this part of the first range each time."""


class Ended(Exception):  # noqa: N818  no error: it tells the size
    """A file whose size nobody told has come to its end."""


class Beginning:
    """The bytes of a file from its first to `there`, at the start of `view`.

    `size` is None as long as it is not known; `fetched` counts what the server sent, all tries
    together. Nothing of the buffer beyond `there` takes memory.
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._web = Web(remote)
        self._answer: Answer | None = None
        self.view = memoryview(b"")
        self.size: int | None = None
        self.there = 0
        self.fetched = 0

    def begin(self) -> None:
        """Ask for the first bytes, which tells size and identity of the file."""
        try:
            self._get(min(self._remote.first, self._remote.max_bytes))
        except Ended:
            self.size = self.there
        except BaseException:
            self.close()
            raise

    def reach(self, end: int) -> int:
        """Make the bytes up to `end` be there, and some more so that it is not asked too often.

        Returns how many are. Ended where a file of unknown size has fewer.
        """
        if end <= self.there:
            return self.there
        most = self._remote.max_bytes
        if end > most:
            raise self._error(
                errno.EFBIG, f"more than {most:,} bytes of it are needed, the most to be fetched"
            )
        known = most if self.size is None else min(self.size, most)
        try:
            self._get(min(max(end, 2 * self.there, self._remote.first), known))
        except Ended:
            self.size = self.there
            if end > self.there:
                raise
        return self.there

    def pause(self) -> None:
        """Let go of the connection until `reach` needs one."""
        self._drop()
        self._web.pause()

    def close(self) -> None:
        """Let go of the connection and of the bytes, which stay as long as views of them do."""
        self.pause()
        view, self.view = self.view, memoryview(b"")
        with suppress(BufferError):
            view.release()

    def _get(self, end: int) -> None:
        """Fetch up to `end`, or to the end of the file; with `tries` for each step forward."""
        tries = 0
        while self.there < self._until(end):
            before = self.there
            try:
                self._take(end)
            except Again as reason:
                self._drop()
                if self._is_step(self.there - before, reason):
                    tries = 0
                    time.sleep(reason.wait)
                    continue
                tries += 1
                if tries >= self._remote.tries:
                    message = f"{reason} (tried {plural(tries, 'time')})"
                    raise self._error(reason.number, message) from reason.__cause__
                time.sleep(max(reason.wait, self._remote.pause * 2 ** (tries - 1)))
            except BaseException:
                self._drop()
                raise

    def _is_step(self, count: int, reason: Again) -> bool:
        """Whether so many bytes are worth as many requests as the file takes at that rate."""
        return reason.number != errno.ETIMEDOUT and count * _STEPS >= max(self._remote.first, 1)

    def _until(self, end: int) -> int:
        return end if self.size is None else min(end, self.size)

    def _take(self, end: int) -> None:
        """Add what one answer gives, up to `end`."""
        answer = self._answer = self._answer or self._ask(end)
        before = self.there
        for piece in answer.pieces:
            self.fetched += len(piece)
            self._add(answer.at, piece)
            answer.at += len(piece)
            if self.there >= end and not answer.ranged:
                return  # the rest of the file stays where it is
        self._drop()
        whole = answer.end if answer.end is not None else self.size
        if whole is None:
            raise Ended
        if answer.at < whole:
            raise Again(f"the answer was cut at byte {answer.at:,} of {whole:,}")
        if self.there < self._until(end) and self.there - before < self._remote.first:
            # More would come if it was asked for, a little at a time, for ever.
            raise Again(f"the answer was short: {self.there - before:,} bytes")

    def _ask(self, end: int) -> Answer:
        """The answer of the server; the first one tells the size."""
        try:
            answer = self._web.ask(self.there, end)
        except Unsatisfiable as told:
            ends_here = told.size == self.there or (told.size is None and self.there)
            if self.size is None and ends_here:
                raise Ended from None
            if not self.there:
                raise self._error(errno.EIO, "the server answered 416 (no such range)") from None
            raise self._changed(told.size) from None
        if not len(self.view):
            self.size = answer.size
            most = self._remote.max_bytes
            self._make_room(most if answer.size is None else min(answer.size, most))
        elif self.size is not None and answer.size not in (None, self.size):
            answer.close()
            raise self._changed(answer.size)
        return answer

    def _changed(self, size: int | None = None) -> RemoteError:
        now = "" if size is None else f"; it has {size:,} bytes now"
        return self._error(errno.EIO, f"it changed while it was read{now}")

    def _make_room(self, size: int) -> None:
        if not size:
            return
        self.view = memoryview(mmap.mmap(-1, size))

    def _add(self, at: int, piece: bytes) -> None:
        """Keep a piece of the file; what is there already must be the same."""
        known = min(len(piece), max(0, self.there - at))
        if piece[:known] != self.view[at : at + known]:
            raise self._changed()
        room = self.view[self.there : self.there + len(piece) - known]
        room[:] = piece[known : known + len(room)]
        self.there += len(room)

    def _drop(self) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer.close()

    def _error(self, number: int, message: str) -> RemoteError:
        return RemoteError(number, message, str(self._remote))
