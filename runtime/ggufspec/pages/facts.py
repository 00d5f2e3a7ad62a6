"""What is said first of a file: its name, its size, what it was made for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..cli import text
from .places import Cell, shown

if TYPE_CHECKING:
    from ..files.metadata import Metadata
    from ..files.reader import File

_OF_ARCHITECTURE = (
    ("context length", "context_length"),
    ("layers", "block_count"),
    ("embedding length", "embedding_length"),
    ("feed-forward length", "feed_forward_length"),
    ("attention heads", "attention.head_count"),
    ("key and value heads", "attention.head_count_kv"),
    ("sliding window", "attention.sliding_window"),
    ("experts", "expert_count"),
    ("experts used", "expert_used_count"),
)
_GENERAL = (
    ("base name", "general.basename"),
    ("fine-tune", "general.finetune"),
    ("size label", "general.size_label"),
    ("organization", "general.organization"),
    ("licence", "general.license"),
    ("kind", "general.type"),
    ("quantized by", "general.quantized_by"),
    ("tokenizer", "tokenizer.ggml.model"),
    ("pre-tokenizer", "tokenizer.ggml.pre"),
)


class Fact(NamedTuple):
    """Something of the file in two words."""

    name: str
    value: str


def title(path: Path | None, file: File | None) -> str:
    """The model's own name, or the file's."""
    named = file.metadata.get("general.name") if file else None
    if isinstance(named, (str, bytes)) and named.strip():
        return shown(named)
    return shown(path.name) if path else "GGUF file"


def headline(size: int, file: File | None) -> list[Fact]:
    """The few numbers that everybody asks for."""
    facts = [Fact("size", text.size(size))]
    if file is None:
        return facts
    every = Cell(list(file.tensors.values()))
    told = file.metadata.get("general.architecture")
    if isinstance(told, (str, bytes)):
        facts.insert(0, Fact("architecture", shown(told)))
    if every.tensors:
        facts.insert(1, Fact("parameters", text.amount(every.weights)))
        facts.append(Fact("bits per weight", f"{every.bits:.2f}"))
    number = file.metadata.get("general.file_type")
    if every.tensors and isinstance(number, int) and not isinstance(number, bool):
        from ..recipes import display_name

        facts.append(Fact("file type", display_name(number)))
    elif not every.tensors:
        facts.append(Fact("tensors", "none"))
    return facts


def further(file: File) -> list[Fact]:
    """What else there is to know at a glance."""
    metadata = file.metadata
    architecture = metadata.get("general.architecture")
    keys = [(name, f"{architecture}.{key}") for name, key in _OF_ARCHITECTURE]
    facts = [Fact(name, value) for name, key in keys if (value := _short(metadata, key))]
    tokens = (
        metadata.stored("tokenizer.ggml.tokens") if "tokenizer.ggml.tokens" in metadata else None
    )
    if tokens is not None and tokens.is_array:
        facts.append(Fact("tokens", f"{tokens.count:,}"))
    facts += [Fact(name, value) for name, key in _GENERAL if (value := _short(metadata, key))]
    order = "little-endian" if file.byte_order == "little" else "big-endian"
    facts += [
        Fact("tensors", f"{len(file.tensors):,}"),
        Fact("metadata keys", f"{len(metadata):,}"),
        Fact("container", f"version {file.version}, {order}"),
        Fact("alignment", f"{file.alignment:,} bytes"),
        Fact("dialect", file.dialect),
        Fact("exact size", f"{file.size:,} bytes"),
    ]
    if len(file.paths) > 1:
        facts.append(Fact("files of the set", f"{len(file.paths):,}"))
    return facts


def _short(metadata: Metadata, key: str) -> str:
    """A value in one word; "" where there is none, or where it takes more."""
    if key not in metadata:
        return ""
    if metadata.stored(key).is_array:
        return _spread(metadata, key)
    value = metadata[key]
    if isinstance(value, (str, bytes)):
        return shown(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _spread(metadata: Metadata, key: str) -> str:
    """A number a layer: from the least to the greatest."""
    stored = metadata.stored(key)
    if stored.kind.kind not in ("uint", "int") or not 0 < stored.count <= 4096:
        return ""
    values = [int(value) for value in metadata[key]]
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}, by layer"
