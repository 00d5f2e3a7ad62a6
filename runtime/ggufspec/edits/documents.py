"""Metadata as a document, JSON or YAML, that can be edited and applied again."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Literal

from ..files.encode import name_bytes
from .errors import EditError
from .plain import Entry, bytes_of, from_plain, to_plain, type_of

Format = Literal["json", "yaml"]

_MARK = "gguf_metadata"
_VERSION = 1


def write_document(entries: Mapping[str, Any], form: Format = "json") -> str:
    """The text of a document with these entries of a file (`Stored`), in their order."""
    if form == "yaml":
        return _yaml_text({_MARK: _VERSION, "metadata": list(_records(entries))})
    lines = (json.dumps(record, ensure_ascii=False) for record in _records(entries))
    return f'{{"{_MARK}": {_VERSION}, "metadata": [\n' + ",\n".join(lines) + "\n]}\n"


def read_document(text: str, form: Format = "json") -> dict[str, Entry]:
    """The entries of a document; EditError says what is wrong with it, and where."""
    data = _parsed(text, form)
    if not isinstance(data, dict) or _MARK not in data:
        raise _wrong(f'it has no "{_MARK}"', "`ggufspec meta export` writes one")
    if data[_MARK] != _VERSION or set(data) != {_MARK, "metadata"}:
        raise _wrong(f'it is not {{"{_MARK}": {_VERSION}, "metadata": [...]}}')
    records = data["metadata"]
    if not isinstance(records, list):
        raise _wrong("its metadata are no list")
    entries: dict[str, Entry] = {}
    for number, record in enumerate(records):
        key, entry = _entry(number, record)
        if key in entries:
            raise _wrong(f"metadata[{number}]: the key {key!r:.80} stands there twice")
        entries[key] = entry
    return entries


def _records(entries: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key, stored in entries.items():
        yield {"key": _key(key), "type": type_of(stored), "value": to_plain(stored)}


def _entry(number: int, record: Any) -> tuple[str, Entry]:
    place = f"metadata[{number}]"
    if not isinstance(record, dict) or set(record) != {"key", "type", "value"}:
        raise _wrong(f'{place} is not {{"key": ..., "type": ..., "value": ...}}')
    try:
        key = _key_of(record["key"])
        place = f"{place} ({key!r:.60})"
        if not isinstance(record["type"], str):
            raise ValueError("its type is no text")
        return key, from_plain(record["type"].upper(), record["value"])
    except ValueError as error:
        raise _wrong(f"{place}: {error}") from None
    except RecursionError:
        raise _wrong(f"{place}: its arrays are nested too deeply") from None


def _key(key: str) -> Any:
    try:
        key.encode()
    except UnicodeEncodeError:
        return {"base64": b64encode(name_bytes(key)).decode()}
    return key


def _key_of(plain: Any) -> str:
    if isinstance(plain, dict) and set(plain) == {"base64"}:
        return bytes_of(plain["base64"]).decode("utf-8", "surrogateescape")
    if not isinstance(plain, str) or not plain:
        raise ValueError(f"{plain!r:.40} is no key")
    return plain


def _parsed(text: str, form: Format) -> Any:
    try:
        return _yaml_data(text) if form == "yaml" else json.loads(text)
    except RecursionError:
        raise _wrong("it is nested too deeply") from None
    except ValueError as error:
        raise _wrong(f"it is no JSON: {error!s:.80}") from None


def _yaml() -> Any:
    try:
        return import_module("yaml")  # by name: the package does not need it
    except ImportError:
        raise EditError(
            "YAML needs PyYAML", "unsupported", file="",
            hint="pip install 'ggufspec[codegen]', or use JSON, which always works",
        ) from None  # fmt: skip


def _yaml_text(data: Any) -> str:
    yaml = _yaml()
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(
        data, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100,
        default_flow_style=None,
    )  # fmt: skip
    return str(text)


def _yaml_data(text: str) -> Any:
    yaml = _yaml()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(_repeats(event, yaml) for event in _events(yaml, text, loader)):
            raise _wrong("it has aliases; write out what they stand for")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        reason = getattr(error, "problem", None) or str(error)
        raise _wrong(f"it is no YAML: {reason!s:.80}{line}") from None


def _events(yaml: Any, text: str, loader: Any) -> Iterable[Any]:
    events: Iterable[Any] = yaml.parse(text, Loader=loader)
    return events


def _repeats(event: Any, yaml: Any) -> bool:
    return isinstance(event, yaml.AliasEvent)


def _wrong(reason: str, hint: str = "") -> EditError:
    return EditError(f"the document cannot be used: {reason}", "data", hint=hint)
