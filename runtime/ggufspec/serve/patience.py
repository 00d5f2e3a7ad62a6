"""Connections that ask for nothing, or not to the end, do not keep others out."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 5.0
"""Seconds that a connection has for its next request, from the first byte to the last."""


class Patient(H11Protocol):
    """HTTP/1.1 where a request must come within PATIENCE, and whoever waits longest makes room.

    A connection waits while no request of it is being answered. Such connections are closed, the
    oldest first, when more than `limit_concurrency` would be open.
    """

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._make_room()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or several."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop()
        super().connection_lost(exc)

    @property
    def _waits(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        if not self._waits:
            self._stop()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(PATIENCE, self._end)

    def _stop(self) -> None:
        timer, self._deadline = self._deadline, None
        if timer is not None:
            timer.cancel()

    def _end(self) -> None:
        self._stop()
        # What was written still goes out; uvicorn's own count is told at once.
        self.connections.discard(self)
        self.transport.close()

    def _make_room(self) -> None:
        """Let one connection less be open than uvicorn refuses at."""
        most = self.limit_concurrency
        if most is None or len(self.connections) < most:
            return
        others: list[Any] = [one for one in self.connections if one is not self]
        waiting = [one for one in others if isinstance(one, Patient) and one._deadline is not None]
        if waiting:
            min(waiting, key=_since)._end()


def _since(one: Patient) -> float:
    assert one._deadline is not None
    return one._deadline.when()
