"""Where a file keeps chat templates: keys of its own, arrays of them, and a tokenizer's JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from ...files.arrays import NestedArray, Stored, StringArray

if TYPE_CHECKING:
    from ..model import Model

NAMES = "tokenizer.chat_templates"
"""The key that lists the names of further templates."""

_KEY = "chat_template"
_JSON = "tokenizer.huggingface.json"
_LONGEST_JSON = 1 << 28  # bytes
_LONGEST_MEMBER = 1 << 21  # bytes of it that are decoded at a time
_LONGEST_NAME = 200  # characters: the places in deep arrays get long names
_TAGS = (b"{{", b"{%", b"{#")


class Item(NamedTuple):
    """Something to look at: the key it is found under, what to call it, and a template's bytes.

    `data` is None where there is no template; `why` says so if one cannot be read.
    """

    key: str
    name: str
    data: bytes | memoryview | None = None
    why: str = ""


def items(model: Model) -> Iterator[Item]:
    """All templates in the order of the file, and what else is looked at, so that it counts."""
    for key in model.metadata:
        if _KEY in key:
            yield from _stored(key, model.metadata.stored(key))
        elif key == _JSON:
            yield from _in_json(key, model.metadata.stored(key))


def _stored(key: str, value: Stored) -> Iterator[Item]:
    """The strings of a value, however deep its arrays are nested."""
    waiting = [iter([(key, value)])]
    while waiting:
        name, stored = next(waiting[-1], (key, None))
        if stored is None:
            waiting.pop()
            continue
        is_text = stored.kind.kind == "string"
        if not stored.is_array:
            yield Item(key, name, stored.bytes() if is_text else None)
            continue
        yield Item(key, name)
        if is_text:
            strings = StringArray(stored)
            for number in range(len(strings)):
                raw = strings.raw(number)
                # The names of templates stand in such arrays too.
                is_template = key != NAMES or any(tag in bytes(raw) for tag in _TAGS)
                yield Item(key, _item(name, number), raw if is_template else None)
        elif stored.kind.kind == "array":
            waiting.append(_inner(name, NestedArray(stored)))


def _inner(name: str, nested: NestedArray) -> Iterator[tuple[str, Stored]]:
    return ((_item(name, number), nested.inner(number)) for number in range(len(nested)))


def _item(name: str, number: int) -> str:
    return f"{name[:_LONGEST_NAME]}[{number}]"


def _any_spelling(word: str) -> str:
    """A pattern of a word in JSON, each letter as it is or as an escape."""
    return "".join(rf"(?:{re.escape(c)}|\\u00{ord(c):02x})" for c in word)


_MEMBER = re.compile(
    rf'(?<!\\)"{_any_spelling(_KEY)}"[ \t\r\n]*:[ \t\r\n]*'.encode(), re.IGNORECASE
)


def _in_json(key: str, value: Stored) -> Iterator[Item]:
    """Templates in the JSON of a tokenizer, of which nothing else is read."""
    if value.is_array or value.kind.kind != "string":
        return
    data = value.bytes()
    if len(data) > _LONGEST_JSON:
        yield Item(key, key, why=f"it has more than {_LONGEST_JSON} bytes")
        return
    # Numbers are left as text: long ones take long to read.
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    end = 0
    for match in _MEMBER.finditer(data):
        if match.start() < end:  # inside of one that was read
            continue
        start = match.end()
        text = str(data[start : start + _LONGEST_MEMBER], "utf-8", "surrogateescape")
        try:
            member, length = decoder.raw_decode(text)
        except (ValueError, RecursionError):
            # The next ones may be inside of this, and as long: looking at each would take for ever.
            why = f"{_KEY} at byte {match.start()} of it is no JSON, or long"
            yield Item(key, key, why=why)
            return
        end = start + len(text[:length].encode("utf-8", "surrogateescape"))
        for path, found in _texts(_KEY, member):
            raw = None if found is None else found.encode("utf-8", "surrogatepass")
            yield Item(key, f"{key}: {path}", raw)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str | None]]:
    """The texts in a value, and None for each other part of it."""
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        yield path, value if isinstance(value, str) else None
        if isinstance(value, list):
            waiting += [(_item(path, n), item) for n, item in reversed(list(enumerate(value)))]
        elif isinstance(value, dict):
            start = path[:_LONGEST_NAME]
            pairs = [(f"{start}.{name}", item) for name, item in value.items() if name != "name"]
            waiting += reversed(pairs)
