"""What models keep in memory while they run: spec/memory.yaml in, generated/memory.py out."""

from __future__ import annotations

from typing import Any

from .metadata import known_key
from .output import Output
from .schema import load_checked
from .source import Source
from .spec import Spec

_FILE = "memory.yaml"

_HEAD = '''"""Which blocks of an architecture keep keys and values, and which a recurrent state."""

from __future__ import annotations

from typing import NamedTuple


class Window(NamedTuple):
    """Blocks that see the last tokens only."""

    every: int  # each so manieth sees all, where no key says which; 0: the key must be there
    full_first: bool  # the first of them, not the last
    all: bool  # every block with keys and values has a window
    size: int  # where no key gives one; 0: the key must be there
    fixed: int  # whatever the key gives, if not 0
    off: tuple[str, ...]  # none where the key is "missing" or "zero"
    blocks: int  # only models with so many blocks have windows; 0: all


class Recurrent(NamedTuple):
    """Blocks with a state: heads, heads_ffn, flags, all or both."""

    where: str
    every: int  # of flags, where no key lists the blocks: all but each of these


class Index(NamedTuple):
    """Blocks with keys of an indexer: all, types or dense."""

    where: str
    switch: str  # a key that must be there and above 0, or ""


class Keeps(NamedTuple):
    """What the blocks of an architecture keep."""

    cache: bool = True
    logits: bool = True  # whether there is an output, be it the token embedding
    uncounted: str = ""
    window: Window | None = None
    recurrent: Recurrent | None = None
    latent: bool = False
    indexer: Index | None = None
    shared: str = ""  # a key: how many of the last blocks use the cache of others
    own: int = 0  # how many of the first have their own; 0: all


'''


def outputs(spec: Spec) -> list[Output]:
    """generated/memory.py. Raises SpecError."""
    source = load_checked(spec.root / _FILE, spec.root, spec.root / "schema/memory.schema.json")
    data = source.data
    types = {kind.name for kind in spec.every}
    for at, name in enumerate(data["caches"]):
        if name not in types:
            source.fail(("caches", at), f"{name} is no type of types/")
    for at, name in enumerate(data["plain"]):
        if name in data["architectures"]:
            source.fail(("plain", at), f"{name} stands in architectures, too")
    lines = [
        f"CACHES = {tuple(data['caches'])!r}",
        f"PADDING = {data['padding']}",
        *(f"{place.upper()} = {tuple(data['tensors'][place])!r}" for place in data["tensors"]),
        "",
        "KEEPS: dict[str, Keeps] = {",
        *(f"    {name!r}: Keeps()," for name in data["plain"]),
        *(
            f"    {name!r}: {_keeps(spec, source, name, entry)},"
            for name, entry in data["architectures"].items()
        ),
        "}",
    ]
    return [Output("memory.py", _HEAD + "\n".join(lines) + "\n", (_FILE,))]


def _keeps(spec: Spec, source: Source, name: str, entry: dict[str, Any]) -> str:
    given: list[str] = []
    for part, value in entry.items():
        match part:
            case "cache" | "logits":
                given.append(f"{part}=False")
            case "window":
                given.append(f"window={_window(value)}")
            case "recurrent":
                given.append(f"recurrent=Recurrent({value['where']!r}, {value.get('every', 0)})")
            case "index":
                switch = value.get("switch", "")
                if switch:
                    switch = _key(spec, source, (name, "index", "switch"), switch)
                given.append(f"indexer=Index({value['where']!r}, {switch!r})")
            case "shared":
                given.append(f"shared={_key(spec, source, (name, part), value)!r}")
            case _:
                given.append(f"{part}={value!r}")
    return f"Keeps({', '.join(given)})"


def _window(value: dict[str, Any]) -> str:
    numbers = [value.get(name, 0) for name in ("every", "size", "fixed", "blocks")]
    every, size, fixed, blocks = numbers
    flags = f"{value.get('full_first', False)}, {value.get('all', False)}"
    return f"Window({every}, {flags}, {size}, {fixed}, {tuple(value.get('off', ()))!r}, {blocks})"


def _key(spec: Spec, source: Source, path: tuple[str, ...], key: str) -> str:
    """A key without its prefix; SpecError where it is not well known."""
    known_key(spec.keys, source, ("architectures", *path), "{arch}." + key)
    return key
