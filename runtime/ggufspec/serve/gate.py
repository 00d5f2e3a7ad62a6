"""What every request passes first: for whom it is, what it wants, whether it knows the token."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self' https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The page's own policy allows less: it names its script by its hash."""

HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)

_TEXTS = {403: b"not for this host\n", 404: b"not found\n", 405: b"read only\n"}


class Gate:
    """Lets requests for `/TOKEN/...` pass to an app, as if they were for `/...`."""

    def __init__(self, app: App, token: str, hosts: Iterable[str]) -> None:
        """hosts: what may stand in the Host header; a name that leads here does not (rebinding)."""
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(host.encode() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            raise ValueError("only HTTP is spoken here")

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message["headers"] if pair[0] not in dict(HEADERS)]
                message = {**message, "headers": [*kept, *HEADERS]}
            await send(message)

        status, inner = self._judged(scope)
        if inner is None:
            await _refuse(status, scope, guarded)
        else:
            await self._app({**scope, "path": inner, "raw_path": inner.encode()}, receive, guarded)

    def _judged(self, scope: Scope) -> tuple[int, str | None]:
        """A status and nothing, or the path behind the token."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 403, None
        # The path as it was sent: what is escaped in it is no slash.
        raw = bytes(scope.get("raw_path") or b"").partition(b"?")[0]
        token, slash, rest = raw.removeprefix(b"/").partition(b"/")
        if not (hmac.compare_digest(token, self._token) and slash and raw.startswith(b"/")):
            return 404, None
        if scope["method"] not in ("GET", "HEAD"):
            return 405, None
        return 200, "/" + rest.decode("ascii", "replace")


async def _refuse(status: int, scope: Scope, send: Send) -> None:
    text = _TEXTS[status]
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
    ]
    if status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body = b"" if scope["method"] == "HEAD" else text
    await send({"type": "http.response.body", "body": body})
