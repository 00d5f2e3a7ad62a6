"""GG17: text that misleads people, links and names that programs should not follow.

Looked at are keys, tensor names and all texts outside of the tokenizer, whose tokens may be
anything and whose templates are looked at elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ..files.arrays import StringArray
from .links import bad_links

if TYPE_CHECKING:
    from .findings import Collector
    from .model import Model

_TOKENIZER = "tokenizer."
_TEXTS = 1000  # texts of one array that are looked at
_LONGEST = 1 << 20  # bytes of one text that are looked at

_PLAIN = re.compile(rb"[\t\n\r -9;-\[\]-~]*")
"""Text of which nothing below can be said: ASCII without a colon, a backslash or controls."""
_PLAIN_NAME = re.compile(r"(?!-|\.{1,2}$)[ -.0-9;-\[\]-~]*")

CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
DIRECTION = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
    # Joiners belong into emoji and many scripts; beside ASCII they only hide.
    "|(?<=[ -~])[\u200c\u200d]|[\u200c\u200d](?=[ -~])"
)
_PATH = re.compile(r"[/\\]|^\.\.?$|^[A-Za-z]:")

_OF_TEXT = {"GG1702": CONTROL, "GG1703": DIRECTION, "GG1704": INVISIBLE}


def check(model: Model, found: Collector) -> None:
    """Add what is wrong with names and texts."""
    if not found.asks("GG1701"):
        return
    _check_tensors(model, found)
    for key in model.metadata:
        if not key.isascii() and (match := INVISIBLE.search(key)):
            place = model.key_place(key)
            found.add("GG1701", **place, what="key", name=key, character=_code(match))
    for key, text in _texts(model):
        for rule_id, pattern in _OF_TEXT.items():
            if match := pattern.search(text):
                found.add(
                    rule_id,
                    **model.place(key),
                    key=key,
                    count=len(pattern.findall(text)),
                    character=_code(match),
                    at=len(_raw(text[: match.start()])),
                )
        for rule_id, link in bad_links(text).items():
            found.add(rule_id, **model.place(key), key=key, link=link)


def _check_tensors(model: Model, found: Collector) -> None:
    for name in model.tensors:
        if _PLAIN_NAME.fullmatch(name):
            continue
        place = model.tensor_place(name, "name")
        if match := INVISIBLE.search(name):
            found.add("GG1701", **place, what="tensor", name=name, character=_code(match))
        if _PATH.search(name):
            found.add("GG1709", **place, name=name)
        if name.startswith("-"):
            found.add("GG1710", **place, name=name)


def _texts(model: Model) -> Iterator[tuple[str, str]]:
    """Texts that are not plain, with their keys; of a long one its start."""
    part = model.file.parts[0]
    view, columns = part.source.view, part.scan.keys
    kinds = part.form.layout.value_types
    strings = {kind.id for kind in kinds if kind.kind == "string"}
    arrays = {kind.id for kind in kinds if kind.kind == "array"}
    for key in model.metadata:
        row = model.metadata.row(key)
        if columns.element_type[row] not in strings or key.startswith(_TOKENIZER):
            continue
        start, end = columns.value_offset[row], columns.value_end[row]
        if columns.value_type[row] in arrays:
            pieces = _first_strings(model, key)
        else:
            pieces = [bytes(view[start : min(end, start + _LONGEST)])]
        for raw in pieces:
            if not _PLAIN.fullmatch(raw):
                yield key, raw.decode("utf-8", "surrogateescape")


def _first_strings(model: Model, key: str) -> list[bytes]:
    stored = model.metadata.stored(key)
    strings = StringArray(replace(stored, count=min(stored.count, _TEXTS)))
    return [bytes(strings.raw(number)[:_LONGEST]) for number in range(len(strings))]


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _code(match: re.Match[str]) -> str:
    return f"U+{ord(match[0]):04X}"
