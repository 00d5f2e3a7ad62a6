"""The rules of split sets: spec/container/shards.yaml in, generated/shards.py out."""

from __future__ import annotations

from typing import Any

from .output import Output
from .schema import load_checked
from .spec import Spec

_FILE = "container/shards.yaml"

_FRAME = '''"""Split sets: keys and names that number their files, and what they must keep to."""

from __future__ import annotations

from typing import NamedTuple


class SetRule(NamedTuple):
    """One thing the files of a set must keep to; breaking it is an error in every profile."""

    id: str
    name: str
    source: tuple[str, ...]
    message: str
    hint: str


NUMBER_KEY = {number!r}  # which file of the set, from 0
COUNT_KEY = {count!r}
TENSORS_KEY = {tensors!r}  # tensors of all files together
NAME_PARTS = {parts!r}  # the end of a file's name; its number counts from 1
DIGITS = {digits!r}

RULES: dict[str, SetRule] = {{
{rules}}}
'''


def outputs(spec: Spec) -> list[Output]:
    """generated/shards.py."""
    schema = spec.root / "schema" / "container_shards.schema.json"
    data = load_checked(spec.root / _FILE, spec.root, schema).data
    body = _FRAME.format(
        **data["keys"],
        parts=tuple(data["name"]),
        digits=data["digits"],
        rules="".join(_rule(number, entry) for number, entry in data["rules"].items()),
    )
    return [Output("shards.py", body, (_FILE,))]


def _rule(number: str, entry: dict[str, Any]) -> str:
    values = (number, entry["name"], tuple(entry["source"]), entry["message"], entry["hint"])
    return f"    {entry['check']!r}: SetRule({', '.join(map(repr, values))}),\n"
