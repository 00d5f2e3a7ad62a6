"""The application: the page, the list of files, the files by ranges."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from ..errors import MissingExtraError
from .gate import App, Gate
from .library import Library, Shared
from .page import served_page
from .sending import Exact, log_in_lines

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_AT_ONCE = 64  # connections; more are told to come back
_PATIENCE = 2  # seconds that answers have to come to their end once we shall stop


def application(roots: Iterable[Path], token: str, hosts: Iterable[str]) -> App:
    """What to serve: `roots` are folders and files, `hosts` the names and ports of this server.

    MissingExtraError without starlette; OSError where the page is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import FileResponse, JSONResponse, Response
        from starlette.routing import Route
    except ImportError:
        raise MissingExtraError("serving files needs starlette and uvicorn", "serve") from None

    library = Library(roots, token)
    html = served_page()

    async def page(_: Request) -> Response:
        return Response(html, media_type="text/html")

    async def files(_: Request) -> Response:
        found = await run_in_threadpool(library.files)
        return JSONResponse(
            [{"name": file.name, "size": file.size, "url": _url(file)} for file in found]
        )

    async def file(request: Request) -> Response | Exact:
        shared = await run_in_threadpool(library.find, request.path_params["id"])
        if shared is None:
            return Response("not found\n", 404, media_type="text/plain")
        if "," in request.headers.get("range", ""):
            size = {"Content-Range": f"bytes */{shared.size}"}
            return Response("one range at a time\n", 416, size, media_type="text/plain")
        try:
            status = shared.path.stat()
        except OSError:
            return Response("not found\n", 404, media_type="text/plain")
        kind = "application/octet-stream"
        answer = FileResponse(shared.path, media_type=kind, stat_result=status)
        return Exact(answer, shared.name)

    routes = [
        Route("/", page),
        Route("/api/files", files),
        Route("/files/{id}/{label}", file),
    ]
    return Gate(Starlette(routes=routes), token, hosts)


def _url(file: Shared) -> str:
    """Its id, which alone decides, and its name for those who show the end of a URL."""
    return f"files/{file.id}/{quote(file.name.rpartition('/')[2], safe='')}"


def listen(host: str, port: int) -> socket.socket:
    """A socket on loopback that listens; ValueError for another address."""
    if host not in ("127.0.0.1", "::1"):
        raise ValueError(f"{host} is not this machine alone; 127.0.0.1 and ::1 are")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server = socket.socket(family, socket.SOCK_STREAM)
    try:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen()
    except BaseException:
        server.close()
        raise
    return server


def run(app: App, server: socket.socket) -> None:
    """Serve until somebody stops it (Ctrl-C: KeyboardInterrupt)."""
    try:
        import uvicorn

        from .patience import Patient
    except ImportError:
        raise MissingExtraError("serving files needs starlette and uvicorn", "serve") from None
    config = uvicorn.Config(
        app,
        http=Patient,
        log_config=None,
        log_level="error",
        access_log=False,  # it would show the token
        server_header=False,
        lifespan="off",
        ws="none",
        limit_concurrency=_AT_ONCE,
        timeout_graceful_shutdown=_PATIENCE,
        proxy_headers=False,
    )
    log_in_lines()
    uvicorn.Server(config).run(sockets=[server])
