"""A server for pages that read ranges: one that knows them, and some that do not quite."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

_EXPOSED = "Content-Range, Content-Length, ETag"


class Server:
    """Serves `files` (path to bytes) on loopback; `sent` counts the bytes of bodies by path.

    The first part of a path says how: /ranges, /whole (no ranges), /hidden (Content-Range is not
    exposed to pages of another origin), /closed (no other origin may read), /page (a document).
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.sent: dict[str, int] = {}
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Server:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self._headers(self.path.split("?")[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            server.asked.append(path)
            how, _, name = path.strip("/").partition("/")
            data = server.files.get(name)
            if data is None:
                return self._answer(404, path, b"", {})
            found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if how in {"whole", "page"} or not found:
                return self._answer(200, path, data, {})
            first, last = int(found[1]), min(int(found[2]), len(data) - 1)
            place = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
            return self._answer(206, path, data[first : last + 1], place)

        def _answer(self, status: int, path: str, body: bytes, more: dict[str, str]) -> None:
            self.send_response(status)
            self._headers(path)
            for name, value in more.items():
                self.send_header(name, value)
            kinds = {"html": "text/html; charset=utf-8", "files": "application/json"}
            ending = re.split(r"[./]", path)[-1]
            self.send_header("Content-Type", kinds.get(ending, "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for at in range(0, len(body), 1 << 16):
                piece = body[at : at + (1 << 16)]
                # Before it goes: whoever has it must find it counted.
                server.sent[path] = server.sent.get(path, 0) + len(piece)
                try:
                    self.wfile.write(piece)
                except OSError:  # the page has what it wanted
                    self.close_connection = True
                    return

        def _headers(self, path: str) -> None:
            if path.startswith("/closed/"):
                return
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", "Range")
            if not path.startswith("/hidden/"):
                self.send_header("Access-Control-Expose-Headers", _EXPOSED)

    return Handler
