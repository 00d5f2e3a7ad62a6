"""Links in a text that nobody should follow."""

from __future__ import annotations

import re

_GAP = r"[\x00-\x20]*"  # what browsers leave out of a scheme
_SCHEMES = "|".join(
    _GAP.join(word) for word in ("javascript", "vbscript", "view-source", "search-ms", "smb", "jar")
)
_REST = r"[^\s<>\"'`|]"

_DANGEROUS = re.compile(
    rf"(?<![a-z0-9.+-])(?:(?:{_SCHEMES}){_GAP}:{_REST}+"
    rf"|file:[/\\]{_REST}*|data:(?:[\w.+-]+/[\w.+-]+)?[;,]{_REST}*|blob:[a-z]+:{_REST}*)",
    re.IGNORECASE,
)
_CODE = re.compile(rf"\s*(?:{_SCHEMES}){_GAP}:[^(=]*[(=].*", re.IGNORECASE | re.DOTALL)
_WEB = re.compile(rf"(?:https?|ftp)://([^\s/?#\\<>\"'`|]*){_REST}*", re.IGNORECASE)
_SHARE = re.compile(r"(?:^|(?<=[\s\"'(=<>]))\\\\[^\s\\/]+\\[^\s\\]+")
_NUMERIC = re.compile(r"[0-9a-fx.:]+")

_NAMES = ("localhost", "metadata")
_ENDINGS = (".localhost", ".local", ".internal")


def bad_links(text: str) -> dict[str, str]:
    """The first link of each kind that breaks a rule, by the id of the rule."""
    if "&" in text:
        from html import unescape

        text = unescape(text)
    found: dict[str, str] = {}
    if match := _DANGEROUS.search(text) or _CODE.fullmatch(text):
        found["GG1705"] = match[0]
    for match in _WEB.finditer(text):
        user, _, place = match[1].rpartition("@")
        if user:
            found.setdefault("GG1706", match[0])
        if _internal(place):
            found.setdefault("GG1707", match[0])
    if match := _SHARE.search(text):
        found["GG1708"] = match[0]
    return found


def _internal(place: str) -> bool:
    """Whether a host, with or without a port, is of the network of whoever asks for it."""
    bare, closing, _ = place.rpartition("]")
    host = (bare.lstrip("[") if closing else place.partition(":")[0]).lower().rstrip(".")
    if host in _NAMES or host.endswith(_ENDINGS):
        return True
    return bool(_NUMERIC.fullmatch(host)) and _internal_number(host)


def _internal_number(host: str) -> bool:
    import ipaddress
    import socket

    try:
        # C's way to read it comes first, as in browsers: 127.1, 2130706433 and 0x7f000001 are one.
        address = ipaddress.ip_address(socket.inet_aton(host))
    except OSError:
        try:
            address = ipaddress.ip_address(host)
        except ValueError:
            return False
    inner = getattr(address, "ipv4_mapped", None) or address
    return inner.is_private or inner.is_loopback or inner.is_link_local or inner.is_unspecified
