"""What kinds of tokenizers ask of a vocabulary: spec/tokenizers.yaml in, tokenizers.py out."""

from __future__ import annotations

from typing import Any

from .metadata import known_key
from .output import Output
from .schema import load_checked
from .spec import Spec

_FILE = "tokenizers.yaml"

_HEAD = '''"""What each value of tokenizer.ggml.model asks of the vocabulary."""

from __future__ import annotations

from typing import NamedTuple


class Tokenizer(NamedTuple):
    """Arrays and token ids are names of keys."""

    needs: tuple[str, ...]  # arrays beside the tokens
    defaults: dict[str, int]  # token ids where the key is missing
    bytes: bool  # whether there are tokens <0x00> to <0xFF>
    vocabulary: bool  # whether there are tokens at all


TOKENIZERS: dict[str, Tokenizer] = {
'''


def outputs(spec: Spec) -> list[Output]:
    """generated/tokenizers.py. Raises SpecError."""
    schema = spec.root / "schema" / "tokenizers.schema.json"
    source = load_checked(spec.root / _FILE, spec.root, schema)
    lines = []
    for name, entry in source.data["tokenizers"].items():
        for kind in entry.get("defaults", {}):
            path = ("tokenizers", name, "defaults", kind)
            known_key(spec.keys, source, path, _id_key(kind))
        lines.append(f"    {name!r}: {_call(entry)},\n")
    return [Output("tokenizers.py", _HEAD + "".join(lines) + "}\n", (_FILE,))]


def _id_key(kind: str) -> str:
    return f"tokenizer.ggml.{kind}_token_id"


def _call(entry: dict[str, Any]) -> str:
    needs = tuple(f"tokenizer.ggml.{name}" for name in entry.get("needs", ()))
    defaults = {_id_key(kind): number for kind, number in entry.get("defaults", {}).items()}
    flags = f"{entry.get('bytes', False)}, {entry.get('vocabulary', True)}"
    return f"Tokenizer({needs!r}, {defaults!r}, {flags})"
