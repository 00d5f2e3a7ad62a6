"""What kinds of tokenizers ask of a vocabulary: spec/tokenizers.yaml in, tokenizers.py out."""

from __future__ import annotations

from typing import Any

from .metadata import load_keys
from .output import Output
from .schema import check_schema
from .source import load_yaml
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
    source = load_yaml(spec.root / _FILE, spec.root)
    check_schema(source, spec.root / "schema" / "tokenizers.schema.json")
    known = {key.key for key in load_keys(spec.root)}
    lines = []
    for name, entry in source.data["tokenizers"].items():
        for kind in entry.get("defaults", {}):
            if _id_key(kind) not in known:
                path = ("tokenizers", name, "defaults", kind)
                source.fail(path, f"{_id_key(kind)} is no key of metadata/")
        lines.append(f"    {name!r}: {_call(entry)},\n")
    return [Output("tokenizers.py", _HEAD + "".join(lines) + "}\n", (_FILE,))]


def _id_key(kind: str) -> str:
    return f"tokenizer.ggml.{kind}_token_id"


def _call(entry: dict[str, Any]) -> str:
    needs = tuple(f"tokenizer.ggml.{name}" for name in entry.get("needs", ()))
    defaults = {_id_key(kind): number for kind, number in entry.get("defaults", {}).items()}
    flags = f"{entry.get('bytes', False)}, {entry.get('vocabulary', True)}"
    return f"Tokenizer({needs!r}, {defaults!r}, {flags})"
