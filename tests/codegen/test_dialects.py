"""Faults of a dialect file are refused with file, line, YAML path and a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from ggufspec.codegen.dialects import Dialect, load_dialects, outputs
from ggufspec.codegen.errors import SpecError
from support.project import SPEC
from support.specs import real_spec

TYPES = {"PQ2_0": (128, 34, 0, 0), "Q4_2": (0, 0, 0, 0)}
HEAD = "name: mine\ndoc: made up\nverified: true\nsource: me\ntypes:\n"


def load(folder: Path, text: str, name: str = "mine.yaml") -> tuple[Dialect, ...]:
    (folder / "dialects").mkdir()
    (folder / "dialects" / name).write_text(text, encoding="utf-8")
    return load_dialects(folder / "dialects", TYPES, root=folder, schemas=SPEC / "schema")


EITHER = "types[0]: either type, which the spec describes, or name"
LINE = 'is not one line of text without ", \\ and */ (it becomes a comment in every language)'
BAD = {
    "- {id: 7, type: Q4_9}": "types[0].type: the spec has no layout Q4_9",
    "- {id: 7, type: Q4_2}": "types[0].type: the spec has no layout Q4_2",
    "- {id: 7, name: PQ2_0}": "types[0].name: PQ2_0 is a type of the spec; say type: instead",
    "- {id: 7, name: A}\n- {id: 7, name: B}": "types[1].id: A has this id already",
    "- {id: -1, name: A}": "types[0].id: -1 is too small; at least 0",
    "- {id: 7, name: a}": 'types[0].name: "a" is not a type name (a capital letter, then letters, '
    "digits and _)",
    "- {name: A}": "types[0]: missing key: id",
    "- {id: 7}": EITHER,
    "- {id: 7, name: A, type: PQ2_0}": EITHER,
    "- {id: 7, name: A, elements: 32}": "types[0]: elements needs bytes",
    "- {id: 7, name: A, row_prefix: 4}": "types[0]: row_prefix needs bytes",
    "- {id: 7, name: A, elements: 0, bytes: 1}": "types[0].elements: 0 is too small; at least 1",
    '- {id: 7, name: A, note: "a\\nb"}': 'types[0].note: "a\\nb" ' + LINE,
    "- {id: 7, name: A, colour: red}": "types[0].colour: unknown key; known here: id, type, name, "
    "elements, bytes, row_prefix, tensor_suffix, verified, source, note",
}


@pytest.mark.parametrize("entries", BAD)
def test_message(entries: str, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, HEAD + entries + "\n")
    line = 7 if "types[1]" in BAD[entries] else 6
    assert str(caught.value) == f"dialects/mine.yaml:{line}: {BAD[entries]}"


def test_file_is_named_after_the_dialect(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"name: file other\.yaml must be named mine\.yaml"):
        load(tmp_path, HEAD.replace("types:", "types: []"), "other.yaml")


def test_every_type_says_where_it_comes_from(tmp_path: Path) -> None:
    text = "name: mine\ndoc: made up\ntypes:\n- {id: 7, name: A, verified: false}\n"
    with pytest.raises(SpecError, match=r"types\[0\]: missing key: source \(here or for the"):
        load(tmp_path, text)


def test_entries_inherit_from_the_file(tmp_path: Path) -> None:
    entries = "- {id: 9, type: PQ2_0}\n- {id: 8, name: A, verified: false, source: other}\n"
    (dialect,) = load(tmp_path, HEAD + entries)
    first, second = dialect.types
    assert (first.id, first.verified, first.source, first.elements) == (8, False, "other", 0)
    assert (second.id, second.verified, second.source) == (9, True, "me")
    assert (second.elements, second.bytes, second.described) == (128, 34, True)


def test_a_part_of_the_types_changes_nothing() -> None:
    """``generate --types`` may leave out the types that dialects name."""
    spec = real_spec()
    assert outputs(spec.only(["Q4_0"])) == outputs(spec)
