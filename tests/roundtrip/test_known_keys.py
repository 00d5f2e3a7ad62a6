"""The well-known keys: what the specification says about them, and how they are found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ggufspec.codegen.errors import SpecError
from ggufspec.codegen.metadata import load_keys
from ggufspec.files.values import array_element, known_key
from ggufspec.generated.container import CURRENT_VERSION, LAYOUTS
from ggufspec.generated.metadata import KEYS
from support.project import SPEC


def test_types_are_value_types() -> None:
    names = {kind.name for kind in LAYOUTS[CURRENT_VERSION].value_types} - {"ARRAY"}
    for key in KEYS:
        for kind in key.types:
            assert (array_element(kind) or kind) in names, key


def test_what_keys_speak_of_exists() -> None:
    names = {key.key for key in KEYS}
    for key in KEYS:
        lengths = [key.length] if isinstance(key.length, str) else []
        for other in (key.indexes, key.deprecated, *lengths):
            assert not other or other in names, key


@pytest.mark.parametrize(
    ("key", "architecture", "found"),
    [
        ("general.name", None, "general.name"),
        ("general.base_model.12.name", None, "general.base_model.{id}.name"),
        ("general.base_model.x.name", None, None),
        ("llama.block_count", None, "{arch}.block_count"),
        ("llama.block_count", "llama", "{arch}.block_count"),
        ("llama.block_count", "bert", None),
        ("command-r.attention.head_count", "command-r", "{arch}.attention.head_count"),
        ("general.block_count", None, None),
        ("clip.vision.block_count", "clip", "clip.vision.block_count"),
        ("clip.gen.audio.projector_type", "clip", "clip.gen.audio.projector_type"),
        ("tokenizer.chat_template", None, "tokenizer.chat_template"),
        ("tokenizer.chat_template.tool_use", None, "tokenizer.chat_template.{name}"),
        ("", None, None),
        ("nodots", None, None),
        (".block_count", None, "{arch}.block_count"),
    ],
)
def test_look_up(key: str, architecture: str | None, found: str | None) -> None:
    known = known_key(key, architecture)
    assert (known and known.key) == found


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("  name: STRING\n", "metadata/general.yaml:{line}: keys.name: duplicate key"),
        ("  odd: [UINT8]\n", "keys.odd"),
        ("  odd: uint8\n", "keys.odd"),
        ("  odd: {type: UINT8, kind: x}\n", "keys.odd"),
        ("  odd: {doc: x}\n", "keys.odd"),
    ],
)
def test_errors_name_the_line(line: str, says: str, tmp_path: Path) -> None:
    shutil.copytree(SPEC, tmp_path / "spec")
    file = tmp_path / "spec/metadata/general.yaml"
    text = file.read_text() + line
    file.write_text(text)
    with pytest.raises(SpecError) as caught:
        load_keys(tmp_path / "spec")
    assert says.format(line=text.count("\n")) in str(caught.value)


def test_a_key_in_two_files_is_refused(tmp_path: Path) -> None:
    shutil.copytree(SPEC, tmp_path / "spec")
    with (tmp_path / "spec/metadata/tokenizer.yaml").open("a") as file:
        file.write("  ggml.tokens2: STRING\n")
    copy = tmp_path / "spec/metadata/zzz.yaml"
    copy.write_text("since: 1.0.0\nprefix: tokenizer.\nkeys:\n  ggml.tokens2: STRING\n")
    with pytest.raises(SpecError, match=r"zzz\.yaml:4: .*described twice"):
        load_keys(tmp_path / "spec")
