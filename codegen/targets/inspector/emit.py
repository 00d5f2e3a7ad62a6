"""generated/inspector/data.ts: what the page says about rules, keys, split sets and block types.

The TypeScript package has what a program needs; this has what people read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...metadata import Key
from ...model import BlockType
from ...output import Output
from ...picture import Line, code_lines, picture
from ...source import load_yaml
from ...spec import Spec

_RULES = "container/rules.yaml"
_SHARDS = "container/shards.yaml"
_FILE_TYPES = "recipes/file_types.yaml"

_FRAME = """/** What the inspector says about rules, keys, split sets and block types. */

/** A rule of the container or of split sets: its name, why it is there, and a case of it. */
export interface RuleText {
  readonly name: string;
  readonly reason: string;
  readonly example: string;
}

/** A cut of a word: highest and lowest bit, the code they hold, the lowest bit of it there. */
export type Cut = readonly [high: number, low: number, code: string, first: number];

/** Words at byte `first` of a block and every `stride` bytes from there, `count` of them. */
export type Run = readonly [first: number, stride: number, count: number];

/** Words that are cut alike; no cuts where a word holds base-3 `digits` of a code. */
export interface Words {
  readonly places: readonly Run[];
  readonly word: string;
  readonly scalar: string;
  readonly bits: number;
  readonly cuts: readonly Cut[];
  readonly digits: readonly [count: number, code: string] | null;
}

/** A type for people: since when, its words in storage order, where codes lie, how they decode. */
export interface Picture {
  readonly since: string;
  readonly words: readonly Words[];
  readonly codes: readonly string[];
  readonly decode: readonly (readonly [name: string, formula: string])[];
  /** What to do about a removed type. */
  readonly removed: readonly (readonly [string, string])[];
}

/** A well-known key (or a pattern of keys), and the names of its values. */
export interface KeyText {
  readonly key: string;
  readonly doc: string;
  readonly values: readonly (readonly [value: number | string, meaning: string])[];
}
"""


def outputs(spec: Spec) -> list[Output]:
    """generated/inspector/data.ts."""
    rules = load_yaml(spec.root / _RULES, spec.root).data
    shards = load_yaml(spec.root / _SHARDS, spec.root).data
    recipes = load_yaml(spec.root / _FILE_TYPES, spec.root).data["file_types"]
    names = {entry["id"]: name for name, entry in recipes.items() if "id" in entry}
    pictures = {kind.name: _picture(kind) for kind in spec.types}
    keys = [_key(key) for key in spec.keys.values() if key.doc or key.values]
    texts = dict(_texts({**rules, **shards["rules"]}))
    body = [
        _FRAME,
        _table("RULE_TEXTS", "Record<string, RuleText>", texts),
        _table("PICTURES", "Record<string, Picture>", pictures),
        _list("KEY_TEXTS", "KeyText", keys),
        "/** What the values of general.file_type are called. */",
        _table("FILE_TYPES", "Record<number, string>", names),
        *_sets(shards),
    ]
    metadata = sorted(path.name for path in (spec.root / "metadata").glob("*.yaml"))
    inputs = (
        *(_RULES, _SHARDS, _FILE_TYPES, "scalars.yaml"),
        *(kind.file for kind in spec.types),
        *(f"metadata/{name}" for name in metadata),
    )
    return [Output("inspector/data.ts", "\n".join(body), inputs)]


def _texts(rules: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, str]]]:
    for number, entry in rules.items():
        texts = {name: entry.get(name, "") for name in ("reason", "example")}
        yield number, {"name": entry["name"], **texts}


def _picture(kind: BlockType) -> dict[str, Any]:
    return {
        "since": kind.since,
        "words": [_words(line) for line in picture(kind)],
        "codes": code_lines(kind),
        "decode": [*kind.decode_text.items()],
        "removed": [(str(name), str(text)) for name, text in kind.removed.items()],
    }


def _words(line: Line) -> dict[str, Any]:
    first = line.cuts[0]  # base-3 digits take a whole word
    cuts = [
        (high, low, cut.code, cut.first)
        for cut in line.cuts
        if not cut.digits
        for high, low in cut.cuts
    ]
    return {
        "places": list(_runs(line.places)),
        "word": line.word,
        "scalar": line.scalar.name,
        "bits": line.scalar.bits,
        "cuts": cuts,
        "digits": (first.digits, first.code) if first.digits else None,
    }


def _runs(places: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Byte offsets as runs (first, stride, count)."""
    at = 0
    while at < len(places):
        stride = places[at + 1] - places[at] if at + 1 < len(places) else 0
        end = at + 1
        while end < len(places) and places[end] - places[end - 1] == stride:
            end += 1
        yield places[at], stride, end - at
        at = end


def _key(key: Key) -> dict[str, Any]:
    return {"key": key.key, "doc": key.doc, "values": key.values}


def _sets(shards: Mapping[str, Any]) -> list[str]:
    keys = shards["keys"]
    rules = {
        entry["check"]: [number, entry["message"], entry["hint"]]
        for number, entry in shards["rules"].items()
    }
    return [
        "/** Keys of a file of a split set: its number, how many files, tensors of all of them. */",
        f"export const SPLIT_KEYS = {_json(keys)} as const;",
        "",
        "/** What files of a set must keep to: rule id, message, what helps. */",
        "export const SET_RULES: Readonly<Record<string, readonly [string, string, string]>> = {",
        *(f"  {name}: {_json(values)}," for name, values in rules.items()),
        "};",
    ]


def _table(name: str, type_: str, entries: Mapping[str, Any]) -> str:
    lines = [f"  {_json(key)}: {_json(value)}," for key, value in entries.items()]
    return "\n".join([f"export const {name}: Readonly<{type_}> = {{", *lines, "};", ""])


def _list(name: str, type_: str, entries: Sequence[Any]) -> str:
    lines = [f"  {_json(value)}," for value in entries]
    return "\n".join([f"export const {name}: readonly {type_}[] = [", *lines, "];", ""])


def _json(value: Any) -> str:
    return json.dumps(value)
