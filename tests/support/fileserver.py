"""A web server on loopback that behaves as it is told, well or not."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ggufspec.files.urls import Remote

RANGE = re.compile(r"bytes=(\d+)-(\d+)")


class Exchange(BaseHTTPRequestHandler):
    """One connection; an answer is put together from the methods below."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def do_GET(self) -> None:
        site: Site = self.server.site
        with site.lock:
            site.requests.append(dict(self.headers))
            number = len(site.requests)
        try:
            site.behave(self, site.data, number)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def finish(self) -> None:
        with suppress(OSError):  # nobody listens any more
            super().finish()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    @property
    def wanted(self) -> tuple[int, int]:
        """First byte and end of the range that is asked for."""
        match = RANGE.fullmatch(self.headers.get("Range", ""))
        assert match is not None
        return int(match[1]), int(match[2]) + 1

    def head(self, status: int, **headers: object) -> None:
        """Status and headers; `_` in a name is a hyphen."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def send(self, body: bytes) -> None:
        """Part of the body, counted."""
        self._count(body)
        self.wfile.write(body)

    def chunk(self, body: bytes) -> None:
        """A chunk of a body of unknown length; an empty one ends it."""
        self._count(body)
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body))

    def _count(self, body: bytes) -> None:
        """Before it goes: whoever has it must find it counted."""
        with self.server.site.lock:
            self.server.site.sent += len(body)

    def reset(self) -> None:
        """Break the connection."""
        linger = b"\1\0\0\0\0\0\0\0"
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()
        self.close_connection = True

    def ranged(self, data: bytes, **headers: object) -> None:
        """The answer of a good server."""
        start, end = self.wanted
        end = min(end, len(data))
        if start >= end:
            self.head(416, Content_Range=f"bytes */{len(data)}", Content_Length=0)
            return
        said = f"bytes {start}-{end - 1}/{len(data)}"
        self.head(206, **{"Content_Range": said, "Content_Length": end - start, **headers})
        self.send(data[start:end])

    def whole(self, data: bytes, **headers: object) -> None:
        """The answer of a server that knows no ranges."""
        self.head(200, **{"Content_Length": len(data), **headers})
        for start in range(0, len(data), 1 << 14):
            self.send(data[start : start + (1 << 14)])


Behaviour = Callable[[Exchange, bytes, int], None]
"""What to do with a request, the file, and the number of the request, from 1."""


@dataclass
class Site:
    """A running server: what it was asked, how much of bodies it sent."""

    data: bytes
    behave: Behaviour
    port: int = 0
    requests: list[dict[str, str]] = field(default_factory=list)
    sent: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Of the file."""
        return f"http://127.0.0.1:{self.port}/folder/model.gguf"

    def remote(self, **options: Any) -> Remote:
        """The file, for a reader in a hurry."""
        hurry = {"timeout": 5.0, "tries": 3, "pause": 0.001}
        return Remote(self.url, **{**hurry, **options})


def good(exchange: Exchange, data: bytes, _: int) -> None:
    """Ranges, as they should be."""
    exchange.ranged(data)


@contextmanager
def serving(data: bytes, behave: Behaviour = good) -> Iterator[Site]:
    """A server for one file."""
    site = Site(data, behave)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.daemon_threads = True
    server.site = site  # type: ignore[attr-defined]
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
