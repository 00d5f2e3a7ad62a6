"""The well-known metadata keys: spec/metadata/*.yaml in, generated/metadata.py out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import YamlPath
from .output import Output
from .schema import load_checked
from .source import Source

if TYPE_CHECKING:
    from .spec import Spec


@dataclass(frozen=True)
class Key:
    """One key, or one pattern of keys: {arch} is the architecture, {id} a number, {name} a word."""

    key: str
    types: tuple[str, ...]
    since: str
    doc: str = ""
    minimum: int | None = None
    maximum: int | None = None
    above: int | None = None
    power_of_two: bool = False
    exact: bool = False
    values: tuple[tuple[int | str, str], ...] = ()
    closed: bool = False
    counts: str = ""
    indexes: str = ""
    length: int | str = ""
    deprecated: str = ""
    dangerous: str = ""


def load_keys(spec: Path) -> tuple[Key, ...]:
    """All keys of ``spec``/metadata, in order of file name and line. Raises SpecError."""
    return tuple(key for keys in key_files(spec).values() for key in keys)


def key_files(spec: Path) -> dict[str, tuple[Key, ...]]:
    """The keys by the file, below ``spec``, that describes them. Raises SpecError."""
    schema = spec / "schema" / "metadata.schema.json"
    files: dict[str, tuple[Key, ...]] = {}
    seen: set[str] = set()
    for path in _files(spec):
        source = load_checked(path, spec, schema)
        keys = []
        for name, key in _keys(source):
            if key.key in seen:
                source.fail(("keys", name), f"{key.key} is described twice")
            seen.add(key.key)
            keys.append(key)
        files[source.file] = tuple(keys)
    return files


def known_key(known: Collection[str], source: Source, path: YamlPath, *forms: str) -> str:
    """The first of `forms` that is well known; SpecError names the last."""
    for key in forms:
        if key in known:
            return key
    return source.fail(path, f"{forms[-1]} is no key of metadata/")


def _files(spec: Path) -> list[Path]:
    return sorted((spec / "metadata").glob("*.yaml"))


def _keys(source: Source) -> Iterator[tuple[str, Key]]:
    data = source.data
    dangers = data.get("dangers", {})
    for name, given in data["keys"].items():
        entry = given if isinstance(given, dict) else {"type": given}
        if danger := entry.get("dangerous"):
            if danger not in dangers:
                source.fail(("keys", name, "dangerous"), f"{danger!r} is none of dangers")
            entry = {**entry, "dangerous": dangers[danger]}
        for words in _choices(data.get("expand", {})):
            full = _fill(data["prefix"] + name, words)
            yield name, _key(full, entry, data["since"], words)
            if full == data["prefix"] + name:
                break


def _choices(expand: Mapping[str, list[str]]) -> Iterator[dict[str, str]]:
    for words in product(*expand.values()):
        yield dict(zip(expand, words, strict=True))


def _fill(text: str, words: Mapping[str, str]) -> str:
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text


def _key(name: str, entry: Mapping[str, Any], since: str, words: Mapping[str, str]) -> Key:
    types = entry["type"] if isinstance(entry["type"], list) else [entry["type"]]
    values = entry.get("values", {})
    numeric = "STRING" not in types[0]
    rest = {k: v for k, v in entry.items() if k not in ("type", "values")}
    for reference in ("indexes", "length", "deprecated"):
        if isinstance(rest.get(reference), str):
            rest[reference] = _fill(rest[reference], words)
    return Key(
        key=name,
        types=tuple(types),
        values=tuple((int(v) if numeric else v, meaning) for v, meaning in values.items()),
        **{"since": since, **rest},
    )


_HEAD = '''"""Well-known metadata keys: their types and what their values may be."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """One key, or one pattern of keys: {arch} is the architecture, {id} a number, {name} a word."""

    key: str
    types: tuple[str, ...]  # the usual one first
    since: str  # version of the specification
    doc: str = ""
    minimum: int | None = None
    maximum: int | None = None
    above: int | None = None  # what the number is greater than
    power_of_two: bool = False
    exact: bool = False  # readers accept these types and no other widths of the number
    values: tuple[tuple[int | str, str], ...] = ()  # every known one, with its meaning
    closed: bool = False  # readers refuse other values
    counts: str = ""  # the start of keys that go on with a number below the value
    indexes: str = ""  # the array key whose elements the value numbers
    length: int | str = ""  # elements of an array: a number, or the key that it follows
    deprecated: str = ""  # the key to use instead
    dangerous: str = ""  # why a change of it needs care


KEYS: tuple[Key, ...] = (
'''


def outputs(spec: Spec) -> list[Output]:
    """generated/metadata.py."""
    inputs = tuple(f"metadata/{path.name}" for path in _files(spec.root))
    return [Output("metadata.py", emit_python(tuple(spec.keys.values())), inputs)]


def emit_python(keys: tuple[Key, ...]) -> str:
    """The body of generated/metadata.py."""
    return _HEAD + "".join(f"    {_call(key)},\n" for key in keys) + ")\n"


def _call(key: Key) -> str:
    arguments = [repr(key.key), repr(key.types), repr(key.since)]
    for field in fields(Key)[3:]:
        value = getattr(key, field.name)
        if value != field.default:
            arguments.append(f"{field.name}={value!r}")
    return f"Key({', '.join(arguments)})"
