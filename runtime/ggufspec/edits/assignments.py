"""The texts ``KEY=TYPE:VALUE``, ``KEY=VALUE`` and ``KEY=@file`` of the command line."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_letters, digits
from typing import TYPE_CHECKING, Any

from ..files.arrays import Stored, StringArray
from ..files.values import Value, array_element
from .changes import described
from .draft import Draft, architecture
from .errors import EditError
from .filler import KEY as FILLER
from .json_text import parse_json
from .literals import check_type, parse_string, parse_value
from .plain import Entry, from_plain, type_of

if TYPE_CHECKING:
    from ..generated.metadata import Key

_TYPED = re.compile(r"([A-Za-z][A-Za-z0-9]*(?:\[[A-Za-z0-9\[\]]*\])?):(.*)", re.DOTALL)
_LIKE_A_TYPE = re.compile(r"U?INT[0-9]*|FLOAT[0-9]*|BOOL|STRING|ARRAY(\[.*\])?|DOUBLE|TEXT")
_TOKEN = "TOKEN"
"""Stands where a type does, for a key that numbers a token: ``TOKEN:<s>``."""

_TEMPLATE = "tokenizer.chat_template"
_TEMPLATE_NAMES = "tokenizer.chat_templates"
_IN_NAMES = frozenset(ascii_letters + digits + "_")

Assigned = list[tuple[str, Entry]]


def parse_assignment(text: str, draft: Draft) -> Assigned:
    """The keys and values that a text gives, by what the draft holds and the specification says.

    ``KEY=TYPE:VALUE`` with a GGUF type, arrays as JSON. Without a type it is the one of the
    well-known key, or the one that the key has. ``@FILE`` in place of VALUE is what the file
    holds, ``@FILE#MEMBER`` a member of the JSON in it, ``@-`` standard input, ``@@`` an @.
    ``TOKEN:TEXT`` is the number of a token. EditError says what is wrong.
    """
    key, equals, rest = text.partition("=")
    if not key or not equals:
        raise _wrong(text, "it is not KEY=TYPE:VALUE", "as in general.name=STRING:Tiny")
    if key == FILLER:
        raise _wrong(key, "it is reserved for the blanks of --in-place and --room")
    try:
        return _assigned(key, rest, draft)
    except ValueError as error:
        if isinstance(error, EditError):
            raise
        raise _wrong(key, str(error)) from None
    except RecursionError:
        raise _wrong(key, "its arrays are nested too deeply") from None


def _assigned(key: str, rest: str, draft: Draft) -> Assigned:
    known = described(key, (draft.architecture, architecture(draft.before)))
    name, text = _taken_apart(rest)
    if name == _TOKEN:
        return [(key, _token(text, known, draft))]
    given = _content(text)
    if name is not None:
        return [(key, _made(name, given))]
    if key == _TEMPLATE and isinstance(given, _Member) and isinstance(given.value, list):
        return list(_templates(given.value))
    return [(key, _first_that_fits(_types_of(key, known, draft), given))]


class _Member:
    """A member of a JSON file."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _taken_apart(rest: str) -> tuple[str | None, str]:
    """Type and value; no type where what stands in front of a colon is none."""
    match = _TYPED.fullmatch(rest)
    if match is None:
        return None, rest
    name = match[1].upper()
    if name == _TOKEN and match[1] == _TOKEN:
        return name, match[2]
    if not _LIKE_A_TYPE.fullmatch(name):
        return None, rest
    check_type(name)
    return name, match[2]


def _content(text: str) -> str | bytes | _Member:
    """What stands for a value: itself, or what a file holds."""
    if text.startswith("@@"):
        return text[1:]
    if not text.startswith("@"):
        return text
    if text == "@-":
        return sys.stdin.buffer.read()
    path = Path(text[1:])
    if "#" not in text or path.is_file():
        return _read(path)
    name, _, member = text[1:].rpartition("#")
    return _Member(_member(Path(name), member))


def _read(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise EditError("it is not a regular file", "usage", file=str(path))
    return path.read_bytes()


def _member(path: Path, member: str) -> Any:
    try:  # of what others wrote, members twice are none of our business
        data = parse_json(_read(path), once=False)
    except ValueError as error:
        raise EditError(f"it is no JSON: {error!s:.120}", "data", file=str(path)) from None
    except RecursionError:
        raise EditError("it is nested too deeply", "data", file=str(path)) from None
    for word in member.split("/"):
        if not isinstance(data, dict) or word not in data:
            raise EditError(f"there is no member {member!r:.80}", "data", file=str(path))
        data = data[word]
    return data


def _made(name: str, given: str | bytes | _Member) -> Entry:
    """The value of a type."""
    if isinstance(given, _Member):
        return from_plain(name, given.value)
    if isinstance(given, bytes):
        if name == "STRING":
            return Value(name, _text(given))
        try:
            given = given.decode("utf-8").strip()
        except UnicodeDecodeError:
            raise ValueError("what the file holds is not UTF-8") from None
    return parse_value(name, given)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _types_of(key: str, known: Key | None, draft: Draft) -> Sequence[str]:
    """Types that a key may have, the likeliest first."""
    entry = draft.entries.get(key)
    own = (type_of(entry),) if entry is not None else ()
    if known is not None:
        kept = [name for name in own if name in known.types]
        return tuple(dict.fromkeys([*kept, *known.types]))
    if not own:
        raise ValueError(
            f"it is neither well known nor in the file, so it needs a type: {key}=STRING:..."
        )
    return own


def _first_that_fits(names: Sequence[str], given: str | bytes | _Member) -> Entry:
    first: ValueError | None = None
    for name in names:
        try:
            return _made(name, given)
        except ValueError as error:
            first = first or error
    assert first is not None
    raise ValueError(f"{first} (its type is {' or '.join(names)})") from None


def _token(text: str, known: Key | None, draft: Draft) -> Entry:
    """The number of a token."""
    if known is None or not known.indexes or array_element(known.types[0]) is not None:
        raise ValueError("it does not number a token")
    tokens = draft.entries.get(known.indexes)
    if isinstance(tokens, Stored) and type_of(tokens) == "ARRAY[STRING]":
        wanted = parse_string(text)
        for number, token in enumerate(StringArray(tokens)):
            if token == wanted:
                return Value(known.types[0], number)
    raise ValueError(f"there is no token {text!r:.60} in {known.indexes}")


def _templates(choices: list[Any]) -> Iterator[tuple[str, Entry]]:
    """Several templates with names, as tokenizer_config.json has them and gguf-py stores them."""
    found: dict[str, tuple[str, str]] = {}
    for choice in choices:
        of = choice if isinstance(choice, dict) else {}
        given, template = of.get("name"), of.get("template")
        if not isinstance(given, str) or not given or not isinstance(template, str):
            raise ValueError('a template is not {"name": ..., "template": ...}')
        name = "".join(c if c in _IN_NAMES else "_" for c in given)
        if name in found:
            raise ValueError(
                f"the templates {found[name][0]!r:.40} and {given!r:.40} would have one name here"
            )
        found[name] = given, template
    default = found.pop("default", None)
    for name, (_, template) in found.items():
        yield f"{_TEMPLATE}.{name}", Value("STRING", template)
    if found:
        yield _TEMPLATE_NAMES, Value("ARRAY[STRING]", list(found))
    if default is not None:
        yield _TEMPLATE, Value("STRING", default[1])


def _wrong(subject: str, reason: str, hint: str = "") -> EditError:
    return EditError(f"{subject!r:.80}: {reason}", "usage", hint=hint, file="")
