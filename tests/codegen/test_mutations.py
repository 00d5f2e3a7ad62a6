"""Whatever stands in a spec file, the front end answers with a model or a SpecError.

Every node of the real files is lost, replaced, doubled or renamed in turn (a seeded sample of
all those mutations), and their text is cut and stirred. What is still accepted must generate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ggufspec.codegen.blocks import load_type
from ggufspec.codegen.errors import SpecError
from ggufspec.codegen.picture import picture
from ggufspec.codegen.source import load_yaml, parse_yaml
from ggufspec.codegen.spec import load_spec
from support.project import SPEC
from support.specs import MADE_UP, outputs, real_spec, small_tree

FILES = sorted([*(SPEC / "types").glob("*.yaml"), *(MADE_UP / "types").glob("*.yaml")])
OTHERS = (
    "scalars.yaml", "tables/ksigns.yaml", "tables/kvalues_iq4nl.yaml", "VERSION"
)  # fmt: skip

MUTATIONS_A_FILE = 14
CUTS_A_FILE = 4

VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, 2, -1, 7, 65536, 1 << 31, 1 << 64, 10**40, 0.5, -0.0, 1e39, 1e400,
    float("nan"), "", " ", "x", "q", "0", "1", "-1", "l", "h", "d", "f16", "u8", "i8[32]", "u8[0]",
    "u8[99999]", "u64", "pad", "é", "\n", "\0", "a b", "class", "sum", "h=0", "h=0,l=0", "=",
    "qs[l]", "qs[0]", "qs[l][l]", "qs[l].qs", "bits(qs[l], 0, 8)", "bits(qs[l], 0, 1)",
    "bits(d, 0, 1)", "bits(qs, 0, 1)", "bits(qs[l], l, 1)", "bits(qs[l], 0, True)", "bits()",
    "trit(qs[l], 0)", "trit(qs[l], h)", "trit(d, 0)", "1/0", "1//0", "0*l", "l*l", "-" * 3000,
    "(" * 300, "9" * 5000, "0x" + "f" * 700, "1e999", "q[0]", "d[q]", "d.d", "__import__('os')",
    "sum(q over l)", "finite(d)", "f16(q)", "bit(q, 0)", "sign(q)", "select(q, 1, 2)", "q <= 1",
    "ksigns[q]", "iq1s_grid[q, l]", "live", "removed", "fork", [], [[]], [1], ["qs[l]"], [None],
    ["bits(qs[l], 0, 4)", "bits(qs[l], 4, 4)"], [{}, {}], {}, {"x": 1}, {"l": 32},
    {"h": 2, "l": 16}, {"a": "u8"}, {"count": 2, "of": {"a": "u8"}}, {"count": 0, "of": {}},
    {"type": "u8"}, {"type": "u8", "derived": "q"}, {"h=0": "qs[0]", "h=1": "qs[1]"}, {"": ""},
    {"x": "v"},
)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from places(value, (*path, key))


def mutated(data: Any, rng: Random) -> Any:
    """The data with one node lost, replaced, renamed, doubled, or swapped for another of it."""
    everywhere = list(places(data))
    path = rng.choice(everywhere)
    if not path:
        return rng.choice(VALUES)
    changed = deepcopy(data)
    node = changed
    for key in path[:-1]:
        node = node[key]
    last = path[-1]
    match rng.choice(["lose", "replace", "replace", "replace", "rename", "double", "swap"]):
        case "lose":
            del node[last]
        case "rename" if isinstance(node, dict):
            names = [str(value) for value in VALUES if isinstance(value, str)]
            node[rng.choice([*names, *node])] = node.pop(last)
        case "double" if isinstance(node, list):
            node.insert(last, deepcopy(node[last]))
        case "double":
            node[f"{last}2"] = deepcopy(node[last])
        case "swap":
            other = data
            for key in rng.choice(everywhere):
                other = other[key]
            node[last] = deepcopy(other)
        case _:
            node[last] = deepcopy(rng.choice(VALUES))
    return changed


def stirred(text: str, rng: Random) -> str:
    """The text with a piece lost, doubled, moved, or some characters replaced."""
    start = rng.randrange(len(text))
    stop = min(len(text), start + rng.choice([1, 1, 2, 5, 40]))
    piece = text[start:stop]
    match rng.choice(["lose", "double", "replace", "move", "insert"]):
        case "lose":
            return text[:start] + text[stop:]
        case "double":
            return text[:stop] + piece + text[stop:]
        case "replace":
            letters = "".join(
                rng.choice("0123456789abhlqx[](){}*+-,:'\"#&!|>%@\t\n\0é") for _ in piece
            )
            return text[:start] + letters + text[stop:]
        case "move":
            rest = text[:start] + text[stop:]
            at = rng.randrange(len(rest) + 1)
            return rest[:at] + piece + rest[at:]
        case _:
            strange = rng.choice(
                ["&a ", "*a", "!!int ", "---\n", "? ", "<<: ", "\ud800", "\ufeff", "~"]
            )
            return text[:start] + strange + text[start:]


def answer(text: str) -> SpecError | None:
    """Load a type file; what is accepted must have a picture and code."""
    spec = real_spec()
    try:
        kind = load_type(parse_yaml(text, "types/any.yaml"), SPEC, spec.scalars, spec.tables)
    except SpecError as error:
        return error
    if kind.regions:
        picture(kind)
        for target in ("numpy", "c"):
            outputs(target, kind, spec)
    return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_types(path: Path) -> None:
    rng = Random(path.stem)
    text = path.read_text(encoding="utf-8")
    data = load_yaml(path).data
    texts = [json.dumps(mutated(data, rng)) for _ in range(MUTATIONS_A_FILE)]
    texts += [stirred(text, rng) for _ in range(CUTS_A_FILE)]
    refused = 0
    for changed in texts:
        print(changed)  # shown where it fails
        error = answer(changed)
        if error:
            refused += 1
            assert error.line >= 1
            assert 0 < len(error.message) < 6000
    assert refused, "mutations that all load are none"


@pytest.mark.parametrize("name", OTHERS)
def test_other_files(name: str, tmp_path: Path) -> None:
    rng = Random(name)
    text = (SPEC / name).read_text(encoding="utf-8")
    root = small_tree(tmp_path, {})
    data = parse_yaml(text, name).data
    for number in range(24):
        changed = stirred(text, rng) if number % 2 else json.dumps(mutated(data, rng))
        (root / name).write_text(changed, encoding="utf-8", errors="replace")
        with suppress(SpecError):
            load_spec(root)
