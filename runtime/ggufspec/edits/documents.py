"""Metadata as a document, JSON or YAML, that can be edited and applied again."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Literal

from ..files.arrays import Form, Stored, value_of
from ..files.encode import Encoder, name_bytes
from ..files.writer import checked_alignment
from ..generated.container import ALIGNMENT_KEY, CURRENT_VERSION
from .errors import EditError
from .front import pair
from .json_text import brief, parse_json
from .plain import Entry, bytes_of, from_plain, to_plain, type_of

Format = Literal["json", "yaml"]

_ENCODER = Encoder(Form(CURRENT_VERSION, "little"))

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
    if type(data[_MARK]) is not int or data[_MARK] != _VERSION or set(data) != {_MARK, "metadata"}:
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
        entry = from_plain(_type_name(record["type"]), record["value"])
        for _ in pair(_ENCODER, key, entry):  # what cannot be stored is a fault of the document
            pass
        if key == ALIGNMENT_KEY:
            checked_alignment(value_of(entry) if isinstance(entry, Stored) else entry.value, key)
        return key, entry
    except (TypeError, ValueError) as error:
        raise _wrong(f"{place}: {error}") from None
    except RecursionError:
        raise _wrong(f"{place}: its arrays are nested too deeply") from None


def _type_name(plain: Any) -> str:
    if not isinstance(plain, str):
        raise ValueError("its type is no text")
    if not plain.isascii():  # upper() makes letters of ASCII of some that are none
        raise ValueError(f"there is no type {plain!r:.40}")
    return plain.upper()


def _key(key: str) -> Any:
    try:
        key.encode()
    except UnicodeEncodeError:
        return {"base64": b64encode(name_bytes(key)).decode()}
    return key


def _key_of(plain: Any) -> str:
    if isinstance(plain, dict) and set(plain) == {"base64"}:
        plain = bytes_of(plain["base64"]).decode("utf-8", "surrogateescape")
    if not isinstance(plain, str) or not plain:
        raise ValueError(f"{brief(plain)} is no key")
    return plain


def _parsed(text: str, form: Format) -> Any:
    try:
        return _yaml_data(text) if form == "yaml" else parse_json(text)
    except RecursionError:
        raise _wrong("it is nested too deeply") from None
    except EditError:
        raise
    except ValueError as error:
        raise _wrong(f"it is no JSON: {error!s:.120}") from None


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
    loader = _loader(yaml)
    try:
        if any(_repeats(event, yaml) for event in _events(yaml, text, loader)):
            raise _wrong("it has aliases; write out what they stand for")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        reason = getattr(error, "problem", None) or str(error)
        raise _wrong(f"it is no YAML: {reason!s:.80}{line}") from None


def _loader(yaml: Any) -> Any:
    """PyYAML's safe loader, for data that say one thing and are what their tags say."""
    base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc, valid-type]
        """One for our documents."""

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """The object; whatever the constructors of PyYAML raise becomes a YAMLError."""
            try:
                return super().construct_object(node, deep=deep)
            except (RecursionError, MemoryError):
                raise
            except Exception as error:
                if isinstance(error, yaml.YAMLError) and not str(node.tag).endswith(":binary"):
                    raise
                kind = str(node.tag).rpartition(":")[2]
                what = f"{node.value!r:.40}" if isinstance(node.value, str) else "a value"
                raise _problem(yaml, f"{what} is no {kind}", node) from None

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            """The mapping, without members that stand there twice."""
            found = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                name = (key.tag, key.value) if isinstance(key.value, str) else None
                if name and name in found:
                    raise _problem(yaml, f"the member {key.value!r:.60} stands there twice", key)
                found.add(name)
            return super().construct_mapping(node, deep=deep)

    def number(loader: Any, node: Any) -> float:
        value: float = base.construct_yaml_float(loader, node)
        if math.isinf(value) and "inf" not in node.value.lower():
            raise _problem(yaml, f"{node.value:.40} is beyond what FLOAT64 holds", node)
        return value

    Loader.add_constructor("tag:yaml.org,2002:float", number)
    return Loader


def _problem(yaml: Any, reason: str, node: Any) -> Exception:
    error: Exception = yaml.constructor.ConstructorError(None, None, reason, node.start_mark)
    return error


def _events(yaml: Any, text: str, loader: Any) -> Iterable[Any]:
    events: Iterable[Any] = yaml.parse(text, Loader=loader)
    return events


def _repeats(event: Any, yaml: Any) -> bool:
    return isinstance(event, yaml.AliasEvent)


def _wrong(reason: str, hint: str = "") -> EditError:
    return EditError(f"the document cannot be used: {reason}", "data", hint=hint)
