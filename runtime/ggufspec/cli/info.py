"""``ggufspec info``: what a file holds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files.arrays import NumberArray
from ..files.remote import RemoteSource
from ..files.shards import stated_count
from . import machine, screen, text
from .failures import usage
from .options import Dialect, Json, MaxBytes, limited, target_argument
from .paths import open_model
from .screen import Column

if TYPE_CHECKING:
    from ..files.metadata import Metadata
    from ..files.reader import File
    from ..files.tensor import Tensor
    from ..files.urls import Remote

KEYS = (Column("key", style="cyan"), Column("type", style="green"), Column("value"))
TENSORS = (
    Column("name", style="cyan"),
    Column("type", style="green"),
    Column("shape"),
    Column("bytes", right=True),
    Column("offset", right=True),
)
BLOCKS = (
    Column("block"),
    Column("tensors", right=True),
    Column("weights", right=True),
    Column("bytes", right=True),
    Column("bits per weight", right=True),
)
_BLOCK = re.compile(r"(?:enc\.|dec\.)?blk\.[0-9]+", re.ASCII)
TYPES = (
    Column("type", style="green"),
    Column("tensors", right=True),
    Column("weights", right=True),
    Column("bytes", right=True),
)


def command(
    file: Annotated[
        Any,
        target_argument(
            "FILE", "A GGUF file, any shard of a split set, or an https:// URL: then the header "
            "alone is fetched.",
        ),
    ],
    elements: Annotated[
        int | None,
        typer.Option(
            "--elements",
            min=0,
            metavar="N",
            help="Elements of an array to show; 6 by default, all of them as JSON.",
        ),
    ] = None,
    no_tensors: Annotated[
        bool, typer.Option("--no-tensors", help="Leave out the list of tensors.")
    ] = False,
    as_markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print Markdown, with sums for each block."),
    ] = False,
    dialect: Dialect = None,
    max_bytes: MaxBytes = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Say what a file holds: header, metadata, tensors and their types."""
    target = limited(file, max_bytes)
    if as_json and as_markdown:
        raise usage("--json and --markdown: one of them", file=str(file))
    with open_model(target, dialect=dialect) as model:
        if as_json:
            record = _record(file, model, elements)
            if no_tensors:
                del record["tensors"]
            machine.emit(record)
            return
        first = 6 if elements is None else elements
        tensors = [] if no_tensors else list(model.tensors.values())
        (_show_markdown if as_markdown else _show)(file, model, first, tensors)


def _show(path: Path | Remote, model: File, elements: int, tensors: list[Tensor]) -> None:
    metadata, every = model.metadata, list(model.tensors.values())
    screen.say(_headline(path, model), "bold")
    for line in _summary(metadata, every):
        screen.say(line)
    for line in _remarks(model):
        screen.say(line, "yellow")
    if every:
        screen.table(TYPES, _types(every), "types")
    if metadata:
        rows = key_rows(metadata, metadata, elements)
        screen.table(KEYS, rows, text.plural(len(metadata), "key"))
    if tensors:
        screen.table(TENSORS, map(_row, tensors), text.plural(len(tensors), "tensor"))


def _show_markdown(path: Path | Remote, model: File, elements: int, tensors: list[Tensor]) -> None:
    from .markdown import code, table

    metadata, every = model.metadata, list(model.tensors.values())
    screen.say(f"# {code(Path(str(path)).name)}\n")
    for line in (_headline(path, model), *_summary(metadata, every), *_remarks(model)):
        screen.say(f"- {code(line)}")
    if every:
        screen.say(f"\n## Types\n\n{table(TYPES, _types(every))}")
        screen.say(f"\n## Blocks\n\n{table(BLOCKS, _block_rows(every))}")
    if metadata:
        rows = [
            (code(key), kind, code(value))
            for key, kind, value in key_rows(metadata, metadata, elements)
        ]
        screen.say(f"\n## {text.plural(len(metadata), 'key')}\n\n{table(KEYS, rows)}")
    if tensors:
        told = [(code(name), *more) for name, *more in map(_row, tensors)]
        screen.say(f"\n## {text.plural(len(tensors), 'tensor')}\n\n{table(TENSORS, told)}")


def _block_rows(tensors: list[Tensor]) -> list[tuple[str, ...]]:
    """A row for each block, and one for the tensors of none."""
    groups: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        found = _BLOCK.match(tensor.name)
        groups.setdefault(found[0] if found else "", []).append(tensor)
    return [
        (
            name or "(none)",
            f"{len(group):,}",
            f"{sum(map(_weights, group)):,}",
            f"{sum(tensor.nbytes for tensor in group):,}",
            f"{_bits(group):.4f}",
        )
        for name, group in groups.items()
    ]


def _headline(path: Path | Remote, model: File) -> str:
    order = "" if model.byte_order == "little" else ", big-endian"
    files = f", {text.plural(len(model.paths), 'file')}" if len(model.paths) > 1 else ""
    dialect = "" if model.dialect == "ggml" else f", dialect {model.dialect}"
    return (
        f"{text.printable(str(path))}: GGUF version {model.version}{order}, "
        f"{text.size(model.size)}{files}, alignment {model.alignment}, "
        f"data at byte {model.parts[0].scan.data_offset:,}{dialect}"
    )


def _remarks(model: File) -> list[str]:
    """What there is to know of the types of forks and their weights, and of a file on a server."""
    notes = [f"{note.message} ({note.hint})" for note in model.notes]
    source = model.parts[0].source
    if not isinstance(source, RemoteSource):
        return notes
    if not source.size_known:
        notes.append("the server does not tell its size: this is what the header makes it")
    count = stated_count(model.parts[0])
    if isinstance(count, int) and count > 1:
        notes.append(f"this is one of {count} files; the others were not looked at")
    return notes


def _summary(metadata: Metadata, tensors: list[Tensor]) -> list[str]:
    names = [metadata.get(key) for key in ("general.architecture", "general.name")]
    told = [text.printable(name) for name in names if isinstance(name, (str, bytes))]
    if tensors:
        weights = sum(_weights(tensor) for tensor in tensors)
        told.append(f"{text.amount(weights)} weights in {text.plural(len(tensors), 'tensor')}")
        told.append(f"{_bits(tensors):.2f} bits per weight")
    return [", ".join(told)] if told else []


def _types(tensors: list[Tensor]) -> list[tuple[str, str, str, str]]:
    """A row for each type, the one with most bytes first."""
    groups: dict[str, list[Tensor]] = {}
    for tensor in tensors:
        groups.setdefault(tensor.type, []).append(tensor)
    rows = [
        (name, len(group), sum(map(_weights, group)), sum(tensor.nbytes for tensor in group))
        for name, group in groups.items()
    ]
    rows.sort(key=lambda row: -row[3])
    return [(name, f"{n:,}", f"{weights:,}", f"{size:,}") for name, n, weights, size in rows]


def _row(tensor: Tensor) -> tuple[str, str, str, str, str]:
    return (
        text.printable(tensor.name),
        tensor.type,
        text.shape(tensor.shape),
        f"{tensor.nbytes:,}",
        f"{tensor.file_offset:,}",
    )


def key_rows(
    metadata: Metadata, keys: Iterable[str], elements: int
) -> Iterator[tuple[str, str, str]]:
    """Rows of a table of `KEYS`: a key, its type and its value."""
    for key in keys:
        yield text.printable(key), metadata.type_of(key), _shown_value(metadata, key, elements)


def _shown_value(metadata: Metadata, key: str, elements: int) -> str:
    """A value for people; of an array its length and first elements."""
    count, first = _head(metadata, key, elements)
    if count is None:
        return text.Brief()(first[0]) + _meaning(key, first[0])
    if not first:
        return f"{count:,}" if count else "0: []"
    brief = text.Brief(40, elements)
    shown = ", ".join(map(brief, first))
    more = ", ..." if count > len(first) else ""
    return f"{count:,}: [{shown}{more}]"


def _meaning(key: str, value: object) -> str:
    """What a number stands for."""
    if key != "general.file_type" or not isinstance(value, int):
        return ""
    from ..recipes import display_name

    return f" ({display_name(value)})"


def _head(metadata: Metadata, key: str, elements: int | None) -> tuple[int | None, Sequence[Any]]:
    """Length and first elements of an array (all if None), or None and the one value."""
    stored = metadata.stored(key)
    if not stored.is_array:
        return None, [metadata[key]]
    if elements is None:
        return stored.count, metadata[key]
    if stored.kind.kind in ("string", "array"):
        return stored.count, metadata[key][:elements]
    return stored.count, NumberArray(stored)[:elements]  # an ndarray would need NumPy


def _record(path: Path | Remote, model: File, elements: int | None) -> dict[str, Any]:
    metadata, tensors = model.metadata, list(model.tensors.values())
    source = model.parts[0].source
    fetched = {"fetched": source.fetched} if isinstance(source, RemoteSource) else {}
    return {
        "file": str(path),
        "files": [str(name) for name in model.paths],
        **fetched,
        "size": model.size,
        "version": model.version,
        "byte_order": model.byte_order,
        "alignment": model.alignment,
        "data_offset": model.parts[0].scan.data_offset,
        "dialect": model.dialect,
        "dialects": model.fitting,
        "notes": [{"rule": note.rule, "message": note.message} for note in model.notes],
        "weights": sum(map(_weights, tensors)),
        "bits_per_weight": _bits(tensors),
        "metadata": [_pair(metadata, key, elements) for key in metadata],
        "tensors": [
            {
                "name": tensor.name,
                "type": tensor.type,
                "type_id": tensor.type_id,
                "shape": tensor.shape,
                "nbytes": tensor.nbytes,
                "offset": tensor.offset,
                "file_offset": tensor.file_offset,
                "info_offset": _info_offset(model, tensor.name),
                "shard": tensor.shard,
            }
            for tensor in tensors
        ],
    }


def _pair(metadata: Metadata, key: str, elements: int | None) -> dict[str, Any]:
    pair: dict[str, Any] = {"key": key, "type": metadata.type_of(key)}
    pair["offset"] = metadata.start(key)
    count, first = _head(metadata, key, elements)
    if count is None:
        return {**pair, "value": first[0]}
    return {**pair, "count": count, "value": first}


def _info_offset(model: File, name: str) -> int:
    """Where the file describes a tensor."""
    part, row = model.tensors.place(name)
    return int(part.scan.tensors.start[row])


def _weights(tensor: Tensor) -> int:
    return prod(tensor.shape)


def _bits(tensors: list[Tensor]) -> float:
    weights = sum(map(_weights, tensors))
    return 8 * sum(tensor.nbytes for tensor in tensors) / weights if weights else 0.0
