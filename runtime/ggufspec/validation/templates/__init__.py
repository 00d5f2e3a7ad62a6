"""GG14: chat templates, which are programs; they are parsed and looked at, never run.

How much is looked at is counted in tokens, over all templates of a file: the same file gives
the same report on every machine, in about a second at most.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .sources import items
from .text import MANY, Sign, text_signs

if TYPE_CHECKING:
    from ..findings import Collector
    from ..model import Model

_MOST_ITEMS = 1000
"""Arrays, strings and the like of a file at which the search for templates ends."""

_LINE_END = re.compile(r"\r\n?")  # besides \n


def check(model: Model, found: Collector) -> None:
    """Add what there is to say about each template."""
    if not found.asks("GG1401"):
        return
    work = _Work(found)
    number = 0
    for looked_at, item in enumerate(items(model)):
        place, data = model.place(item.key), item.data
        full = number == found.limit("GG1407") or not work.has_room(data or b"")
        if looked_at == _MOST_ITEMS or (data is not None and full):
            found.add("GG1407", **place, template=item.name)
            break
        if item.why:
            found.add("GG1408", **place, template=item.key, why=item.why)
        if data is None:
            continue
        number += 1
        _check_size(item.name, data, place, found)
        if len(data) <= found.limit("GG1402"):
            work.look(item.name, bytes(data), place)
    if work.left_out:
        found.add("GG0902", checks="chat templates", why="install ggufspec[templates]")


def _check_size(
    name: str, data: bytes | memoryview, place: dict[str, Any], found: Collector
) -> None:
    digest, size = hashlib.sha256(data).hexdigest(), len(data)
    found.add("GG1401", **place, template=name, size=size, digest=digest)
    if size > found.limit("GG1402"):
        found.add("GG1402", **place, template=name, size=size)


class _Work:
    """Looks at one template after the other until there is no room left."""

    def __init__(self, found: Collector) -> None:
        self._found = found
        self._tokens = found.limit("GG1403")
        self._longest = self._bytes = found.limit("GG1402")
        self.left_out = False

    def has_room(self, data: bytes | memoryview) -> bool:
        """Whether a template can be looked at; one that is too long takes no room."""
        return len(data) > self._longest or len(data) <= self._bytes

    def look(self, name: str, data: bytes, place: dict[str, Any]) -> None:
        """Add the signs of a template."""
        self._bytes -= len(data)
        text = _LINE_END.sub("\n", data.decode("utf-8", "surrogateescape"))
        signs: dict[tuple[str, str], Sign] = {}
        for sign in self._signs(name, text, place):
            what = sign.rule, sign.evidence
            known = signs.get(what)
            signs[what] = known._replace(times=known.times + sign.times) if known else sign
        for sign in signs.values():
            self._found.add(
                sign.rule,
                **place,
                template=name,
                line=sign.line,
                column=sign.column,
                evidence=sign.evidence,
                count=_times(sign.times),
            )

    def _signs(self, name: str, text: str, place: dict[str, Any]) -> Iterator[Sign]:
        try:
            from .signs import Limits, tree_signs
            from .syntax import parse
        except ImportError:
            self.left_out = True
            yield from text_signs(text, dunder=True)
            return
        parsed = parse(text, self._tokens)
        self._tokens -= parsed.tokens
        if parsed.rule:
            self._found.add(
                parsed.rule,
                **place,
                template=name,
                line=int(parsed.place),
                column=parsed.place.column,
                why=parsed.why,
            )
        seen = list(text_signs(text, dunder=parsed.tree is None))
        yield from seen
        for at, spelled in parsed.escaped:
            yield Sign("GG1409", int(at), at.column, spelled)
        if parsed.tree is not None:
            limits = Limits(*map(self._found.limit, ("GG1405", "GG1415", "GG1414")))
            yield from tree_signs(parsed.tree, limits, {sign.evidence for sign in seen})


def _times(count: int) -> str:
    return "" if count == 1 else f" ({count} times{' or more' if count >= MANY else ''})"
