"""Kinds of files other than models: spec/kinds.yaml in, generated/kinds.py out."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from .errors import YamlPath
from .metadata import known_key
from .output import Output
from .schema import load_checked
from .source import Source
from .spec import Spec

_FILE = "kinds.yaml"

_HEAD = '''"""Files that are no whole models: keys they need, what projectors are made of."""

from __future__ import annotations

from typing import NamedTuple


class Modality(NamedTuple):
    """What a projector turns into embeddings."""

    flag: str  # the key that says it is there
    tensors: str  # the start of its tensors' names
    requires: tuple[str, ...]


class Dimension(NamedTuple):
    """One dimension of a tensor; axis 0 is the length of its rows."""

    tensor: str
    axis: int


'''


def outputs(spec: Spec) -> list[Output]:
    """generated/kinds.py. Raises SpecError."""
    schema = spec.root / "schema" / "kinds.schema.json"
    source = load_checked(spec.root / _FILE, spec.root, schema)
    known = spec.keys
    data = source.data
    body = [_HEAD + "REQUIRES: dict[str, tuple[str, ...]] = {"]
    for kind, keys in data["requires"].items():
        body.append(f"    {kind!r}: {_keys(source, keys, known, ('requires', kind))!r},")
    body += ["}", "", "MODALITIES: tuple[Modality, ...] = ("]
    for name, entry in data["modalities"].items():
        path = ("modalities", name)
        _keys(source, [entry["flag"]], known, (*path, "flag"))
        full = (f"clip.{name}.{key}" for key in entry["requires"])
        keys = _keys(source, full, known, (*path, "requires"))
        body.append(f"    Modality({entry['flag']!r}, {entry['tensors']!r}, {keys!r}),")
    body += [")", "", "OUTPUTS: dict[str, Dimension] = {"]
    for name, entry in data["outputs"].items():
        body.append(f"    {name!r}: Dimension({entry['tensor']!r}, {entry['axis']}),")
    return [Output("kinds.py", "\n".join([*body, "}"]) + "\n", (_FILE,))]


def _keys(
    source: Source, keys: Iterable[str], known: Collection[str], path: YamlPath
) -> tuple[str, ...]:
    """The same keys; SpecError for one that is not well known."""
    return tuple(known_key(known, source, path, key) for key in keys)
