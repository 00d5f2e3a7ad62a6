"""Single requests for a range of a file, and what an answer must hold to be believed."""

from __future__ import annotations

import errno
import ipaddress
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from http.client import responses
from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from ..text import printable
from .urls import Remote, UrlError, shown

if TYPE_CHECKING:
    import ssl

    import httpx

ALLOW_HTTP = "GGUFSPEC_ALLOW_HTTP"
"""The variable that allows http:// to other machines when it is 1."""

_REDIRECTS = 5
_LAST_PORT = 65535
_SLOWEST = 1000  # bytes a second that an answer brings at least, the first seconds aside
_LONGEST_WAIT = 30.0  # seconds that a server may ask us to wait
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_NUMBERS = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT, 410: errno.ENOENT}
_RANGE = re.compile(r"bytes (?:([0-9]{1,18})-([0-9]{1,18})|\*)/([0-9]{1,18}|\*)", re.IGNORECASE)


class RemoteError(OSError):
    """What a server or the network did; `filename` is the URL without what may be secret."""


class Again(Exception):  # noqa: N818  no error before the last try
    """A try that failed and may go better; `wait` in seconds is what the server asks for."""

    def __init__(self, message: str, number: int = errno.EIO, wait: float = 0.0) -> None:
        super().__init__(message)
        self.number = number
        self.wait = wait


class Unsatisfiable(Exception):  # noqa: N818  it tells the size
    """There are no bytes where they were asked for; `size` is that of the file, if it was told."""

    def __init__(self, size: int | None) -> None:
        super().__init__(size)
        self.size = size


@dataclass(frozen=True)
class _Identity:
    """What changes when the file does."""

    etag: str
    modified: str

    def differs(self, other: _Identity) -> bool:
        """Whether both say something, and not the same."""
        if self.etag and other.etag:
            return self.etag != other.etag
        return bool(self.modified and other.modified) and self.modified != other.modified

    @property
    def condition(self) -> str:
        """For If-Range, which takes no weak tag."""
        return self.etag if self.etag.startswith('"') else "" if self.etag else self.modified


class Answer:
    """The bytes of a file from `at` on: to `end` where they are `ranged`, else to its end.

    `size` is that of the whole file, None where the server does not tell.
    """

    def __init__(
        self, response: httpx.Response, at: int, end: int | None, size: int | None, timeout: float
    ) -> None:
        self.at = at
        self.end = end
        self.size = size
        self._response = response
        self.pieces = self._pieces(timeout)

    @property
    def ranged(self) -> bool:
        """Whether it is the range that was asked for."""
        return self.end is not None

    def close(self) -> None:
        """Take no more of it."""
        self._response.close()

    def _pieces(self, timeout: float) -> Iterator[bytes]:
        import httpx

        left = None if self.end is None else self.end - self.at
        began, count = time.monotonic(), 0
        try:
            for piece in self._response.iter_raw():
                count += len(piece)
                if left is not None and count > left:
                    raise _error(self._response, errno.EIO, "the answer has too many bytes")
                yield piece
                passed = time.monotonic() - began - timeout
                if passed > 0 and count < _SLOWEST * passed:
                    message = f"the answer comes too slowly ({count:,} bytes)"
                    raise _error(self._response, errno.ETIMEDOUT, message)
        except httpx.TimeoutException as error:
            raise Again("the server sends no more", errno.ETIMEDOUT) from error
        except httpx.TransportError as error:
            raise Again(f"the answer broke off: {_reason(error)}") from error


class Web:
    """Asks one server for one file, whose identity may not change between the answers."""

    def __init__(self, remote: Remote) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("reading URLs needs httpx", "remote") from None
        self._remote = remote
        try:
            self._url = httpx.URL(remote.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise UrlError(str(remote), f"it is no URL: {_reason(error)}") from None
        if not self._url.host:
            raise UrlError(str(remote), "it is no URL: it names no server")
        if not _has_port(self._url):
            raise UrlError(str(remote), f"it is no URL: ports go from 1 to {_LAST_PORT:,}")
        if not _allowed(self._url):
            raise UrlError(
                str(remote),
                "http:// is read from this machine only, since anyone on the way can change what "
                f"comes; use https://, or set {ALLOW_HTTP}=1",
            )
        self._client: httpx.Client | None = None
        self._identity: _Identity | None = None

    def ask(self, start: int, end: int) -> Answer:
        """Ask for the bytes from `start` up to `end`; the answer may begin at 0 all the same.

        Again for what may pass, Unsatisfiable, and RemoteError for everything else.
        """
        import httpx

        try:
            response = self._send(start, end)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            message = f"no connection: {_reason(error)}"
            raise RemoteError(errno.ECONNREFUSED, message, str(self._remote)) from error
        except httpx.TimeoutException as error:
            raise Again("the server does not answer", errno.ETIMEDOUT) from error
        except httpx.TransportError as error:
            raise Again(f"no answer: {_reason(error)}") from error
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise RemoteError(errno.EIO, _reason(error), str(self._remote)) from error
        try:
            return self._read_head(response, start, end)
        except BaseException:
            response.close()
            raise

    def pause(self) -> None:
        """Close the connection; the next request opens another."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _send(self, start: int, end: int) -> httpx.Response:
        """The answer behind all redirects; later requests go there at once."""
        headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
        if self._identity is not None and self._identity.condition:
            headers["If-Range"] = self._identity.condition
        client = self._connected()
        request = client.build_request("GET", self._url, headers=headers)
        for _ in range(_REDIRECTS + 1):
            response = client.send(request, stream=True, follow_redirects=False)
            if not response.is_redirect:
                self._url = request.url
                return response
            response.close()
            following = response.next_request
            if following is None:
                raise _error(response, errno.EIO, "it redirects to nowhere")
            request = following
        raise _error(response, errno.ELOOP, f"more than {_REDIRECTS} redirects")

    def _connected(self) -> httpx.Client:
        if self._client is None:
            import httpx

            from .. import __version__

            self._client = httpx.Client(
                timeout=self._remote.timeout,
                headers={"User-Agent": f"ggufspec/{__version__}", "Accept": "*/*"},
                trust_env=not _is_loopback(self._url),  # no proxy between us and ourselves
                verify=_certificates(),
                event_hooks={"response": [_check_location]},
            )
        return self._client

    def _read_head(self, response: httpx.Response, start: int, end: int) -> Answer:
        status = response.status_code
        if status == 416:
            match = _RANGE.fullmatch(response.headers.get("content-range", ""))
            raise Unsatisfiable(_number(match[3]) if match else None)
        if status in _AGAIN:
            raise Again(_said(status), errno.EAGAIN, _wait(response.headers))
        if status not in (200, 206):
            raise _error(response, _NUMBERS.get(status, errno.EIO), _said(status))
        coding = response.headers.get("content-encoding", "identity")
        if coding.lower() != "identity":
            raise _error(response, errno.EIO, f"the answer is compressed ({coding:.20})")
        self._identify(response)
        if status == 200:
            size = _number(response.headers.get("content-length"))
            return Answer(response, 0, None, size, self._remote.timeout)
        return self._ranged(response, start, end)

    def _ranged(self, response: httpx.Response, start: int, end: int) -> Answer:
        said = response.headers.get("content-range", "")
        match = _RANGE.fullmatch(said)
        if match is None or match[1] is None:
            raise _error(response, errno.EIO, f"the answer does not say its range ({said[:40]!r})")
        first, stop, size = int(match[1]), int(match[2]) + 1, _number(match[3])
        if first != start or not start < stop <= end or (size is not None and stop > size):
            asked = f"bytes {start}-{end - 1}"
            raise _error(response, errno.EIO, f"the answer to {asked} is another range ({said})")
        length = _number(response.headers.get("content-length"))
        if length is not None and length != stop - first:
            message = f"the answer has {length:,} bytes for a range of {stop - first:,}"
            raise _error(response, errno.EIO, message)
        return Answer(response, first, stop, size, self._remote.timeout)

    def _identify(self, response: httpx.Response) -> None:
        headers = response.headers
        identity = _Identity(headers.get("etag", ""), headers.get("last-modified", ""))
        if self._identity is None:
            self._identity = identity
        elif identity.differs(self._identity):
            raise _error(response, errno.EIO, "it changed while it was read")


@cache
def _certificates() -> ssl.SSLContext:
    """Whom to trust; read once, since it takes longer than many an answer."""
    import httpx

    return httpx.create_ssl_context()


def _allowed(url: httpx.URL) -> bool:
    if url.scheme == "http":
        return _is_loopback(url) or os.environ.get(ALLOW_HTTP) == "1"
    return url.scheme == "https"


def _is_loopback(url: httpx.URL) -> bool:
    if url.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(url.host).is_loopback
    except ValueError:
        return False


def _has_port(url: httpx.URL) -> bool:
    return url.port is None or 0 < url.port <= _LAST_PORT


def _check_location(response: httpx.Response) -> None:
    """Refuse a redirect before httpx looks at it, which takes some of them for another fault."""
    import httpx

    if not response.has_redirect_location:
        return
    old = response.request.url
    try:
        new = old.join(response.headers["location"])
    except (httpx.InvalidURL, UnicodeError, ValueError) as error:
        raise _error(response, errno.EIO, "it redirects to what is no URL") from error
    _check_redirect(response, old, new)


def _check_redirect(response: httpx.Response, old: httpx.URL, new: httpx.URL) -> None:
    """Nobody leads from https to less, or from elsewhere into this machine."""
    if new.scheme not in ("http", "https"):
        scheme = printable(new.scheme, 20)
        raise _error(response, errno.EACCES, f"it redirects to a {scheme}: URL, which is refused")
    less = old.scheme == "https" and new.scheme != "https"
    inward = _is_loopback(new) and not _is_loopback(old)
    if less or inward or not (new.host and _has_port(new) and _allowed(new)):
        target = shown(str(new))
        raise _error(response, errno.EACCES, f"it redirects to {target}, which is refused")


def _error(response: httpx.Response, number: int, message: str) -> RemoteError:
    return RemoteError(number, message, shown(str(response.request.url)))


def _said(status: int) -> str:
    name = responses.get(status, "")
    return f"the server answered {status}" + (f" ({name})" if name else "")


def _reason(error: Exception) -> str:
    return str(error).rstrip(". ") or type(error).__name__


def _number(text: str | None) -> int | None:
    """A header's number; None for what is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= 18 else None


def _wait(headers: Mapping[str, str]) -> float:
    """Seconds that the server asks for."""
    return min(float(_number(headers.get("retry-after")) or 0), _LONGEST_WAIT)
