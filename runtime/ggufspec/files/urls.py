"""Files that are named by a URL."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST = 1 << 16
"""Bytes that are asked for first; then as many as there are, again and again."""

MAX_BYTES = 256_000_000
"""Bytes that are fetched of one file at most, unless somebody says otherwise."""

_SCHEMES = ("https://", "http://")


class UrlError(ValueError):
    """A URL that is none, or from which nothing is read: `url`, fit to be shown, and why."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url = url
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.url}: {self.reason}"


@dataclass(frozen=True)
class Remote:
    """A file by its URL, and how much to ask of its server.

    `max_bytes` are fetched at most; `timeout` is in seconds, for a connection and for each piece
    of an answer; `tries` counts for each range, with `pause` seconds behind the first that failed
    and twice as long behind each other. `str()` leaves out what may be secret: user, password,
    query.
    """

    url: str = field(repr=False)
    max_bytes: int = MAX_BYTES
    timeout: float = 20.0
    tries: int = 5
    pause: float = 0.5
    first: int = FIRST

    def __str__(self) -> str:
        return shown(self.url)

    @property
    def name(self) -> str:
        """The last part of the path, which is the name of the file."""
        from urllib.parse import unquote, urlsplit

        return unquote(urlsplit(self.url).path.rpartition("/")[2]) or "the file"


def is_url(origin: object) -> bool:
    """Whether a string is the URL of a file: `https://...`, or `http://...`."""
    return isinstance(origin, str) and origin[:8].lower().startswith(_SCHEMES)


def shown(url: str) -> str:
    """A URL for people: without user and password, and without its query, which may sign it."""
    scheme, _, rest = url.partition("://")
    rest, _, _ = rest.partition("#")
    rest, query, _ = rest.partition("?")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}" + ("?..." if query else "")
