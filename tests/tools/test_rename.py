"""``rename``: names as gguf-py builds them, taken apart as the convention has it; no file lost."""

from __future__ import annotations

import errno
import json
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from gguf.utility import naming_convention
from gguf.utility import size_label as label_of_gguf_py
from hypothesis import given, settings
from hypothesis import strategies as st

import ggufspec
from ggufspec import TensorData, Value
from ggufspec.jobs import renaming
from ggufspec.jobs.errors import ConversionError
from ggufspec.jobs.names import (
    StandardName,
    name_of_model,
    parse_name,
    read_name,
    size_label,
    standard_name,
)
from ggufspec.jobs.sets import split
from support import kills, models, realfiles
from support.command import command

# Names taken apart

KNOWN = {
    "Mixtral-8x7B-v0.1-KQ2": StandardName("Mixtral", "8x7B", "", "v0.1", "KQ2"),
    "Grok-100B-v1.0-Q4_0-00003-of-00009": StandardName(
        "Grok", "100B", "", "v1.0", "Q4_0", shard=(3, 9)
    ),
    "Hermes-2-Pro-Llama-3-8B-v1.0-F16": StandardName(
        "Hermes-2-Pro-Llama-3", "8B", "", "v1.0", "F16"
    ),
    "Phi-3-mini-3.8B-ContextLength4k-instruct-v1.0": StandardName(
        "Phi-3-mini", "3.8B-ContextLength4k", "instruct", "v1.0"
    ),
    "mtp-Qwen3-27B-v1.0-Q4_K_M": StandardName("Qwen3", "27B", "", "v1.0", "Q4_K_M", sidecar="mtp"),
    "mmproj-Qwen2-VL-7B-v1.0-F16": StandardName(
        "Qwen2-VL", "7B", "", "v1.0", "F16", sidecar="mmproj"
    ),
    "Base-7B-my-tune-v2-LoRA": StandardName("Base", "7B", "my-tune", "v2", "", "LoRA"),
    "Base-7B-v2-Q8_0-LoRA": StandardName("Base", "7B", "", "v2", "Q8_0", "LoRA"),
    "Base-v1.0-vocab": StandardName("Base", version="v1.0", type="vocab"),
    "Base--v1.0-F16": StandardName("Base", version="v1.0", encoding="F16"),
    "Base-v1.0": StandardName("Base", version="v1.0"),
    "Base-v1-v2": StandardName("Base-v1", version="v2"),
    "v1-v2": StandardName("v1", version="v2"),
    "mmproj-v1": StandardName("mmproj", version="v1"),
}
"""The examples that the format's description tests its pattern with, and more of the form."""


@pytest.mark.parametrize("stem", KNOWN)
def test_names_of_the_form(stem: str) -> None:
    expected = KNOWN[stem]
    if stem == "mmproj-v1":
        expected = None  # type: ignore[assignment] - a sidecar of nothing
    assert parse_name(f"{stem}.gguf") == expected
    if expected is not None:
        assert str(expected) == f"{stem.replace('--', '-')}.gguf"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("not-a-known-arrangement.gguf", "no Version"),
        ("Hermes-2-Pro-Llama-3-8B-F16.gguf", "no Version"),
        ("Mixtral-8x7B-v0.1-KQ2", "does not end in .gguf"),
        ("Mixtral-8x7B-v0.1-KQ2.bin", "does not end in .gguf"),
        ("Grok-100B-v1.0-Q4_0-00010-of-00009.gguf", "no file 10 of 9"),
        ("Grok-100B-v1.0-Q4_0-00000-of-00009.gguf", "no file 0 of 9"),
        ("-7B-v1.0.gguf", "no BaseName"),
        ("Model_x-7B-v1.0.gguf", "no BaseName"),
        ("v1.0.gguf", "no BaseName"),
        (".gguf", "no Version"),
        ("-.gguf", "no Version"),
        ("Model-7Z-v1.0.gguf", "neither part of a BaseName nor a SizeLabel"),
        ("Qwen-2.5-7B-v1.0.gguf", "neither part of a BaseName nor a SizeLabel"),
        ("Model-7B-fine.tune-v1.0.gguf", "no FineTune"),
        ("Model-7B-v1.0-LoRA2.gguf", "cannot be an Encoding"),
        ("Model-7B-v1.0-Q4.0.gguf", "cannot be an Encoding"),
        ("Model-7B-v1.0-Q4-K.gguf", "no Version"),
        ("Model-7B-1.0.gguf", "no Version"),
    ],
)
def test_names_of_another_form(name: str, reason: str) -> None:
    assert parse_name(name) is None
    with pytest.raises(ValueError, match=reason):
        read_name(name)


_WORD = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,6}", fullmatch=True)
_NAMES = st.builds(
    StandardName,
    base_name=st.lists(_WORD | st.from_regex(r"[0-9]{1,3}", fullmatch=True), min_size=1, max_size=3)
    .filter(lambda words: words[0] not in ("mmproj", "mtp"))
    .map("-".join),
    size_label=st.from_regex(r"([0-9]{1,2}x)?([0-9]\.)?[0-9]{1,3}[QTBMK]", fullmatch=True),
    fine_tune=st.just("") | st.lists(_WORD, min_size=1, max_size=2).map("-".join),
    version=st.from_regex(r"v[0-9](\.[0-9])*", fullmatch=True),
    encoding=st.sampled_from(["", "F16", "Q4_K_M", "IQ2_XXS"]),
    type=st.sampled_from(["", "LoRA", "vocab"]),
    sidecar=st.sampled_from(["", "mmproj", "mtp"]),
    shard=st.none() | st.integers(1, 9).map(lambda count: (1, count)),
)


@given(name=_NAMES)
def test_built_and_taken_apart(name: StandardName) -> None:
    found = parse_name(str(name))
    assert found is not None
    assert str(found) == str(name)
    if not name.fine_tune or not name.fine_tune.partition("-")[0][-1:].isalpha():
        assert replace(found, size_label="", fine_tune="") == replace(
            name, size_label="", fine_tune=""
        )


@given(text=st.text("aB0-v.x1QK \\n", max_size=40), suffix=st.sampled_from([".gguf", ""]))
def test_any_text_is_a_name_or_none(text: str, suffix: str) -> None:
    found = parse_name(text + suffix)
    if found is not None:
        assert str(found) in (text + suffix, (text + suffix).replace("--", "-"))


def test_long_names_take_no_time() -> None:
    for unit in (" ", "- ", "-a", "1", "-1", "1.", "x", "v1-"):
        assert parse_name(unit * 50_000 + ".gguf") is None


# Names made


_TEXT = st.none() | st.text("abcZ09 .-/_", min_size=1, max_size=8).filter(str.strip)


@settings(max_examples=300)
@given(
    name=_TEXT, base=_TEXT, tune=_TEXT, version=_TEXT, encoding=_TEXT,
    label=st.none() | st.from_regex(r"[0-9]x?[0-9]B", fullmatch=True),
    kind=st.sampled_from([None, "LoRA", "vocab"]),
)  # fmt: skip
def test_built_as_gguf_py_builds(
    name: Any, base: Any, tune: Any, version: Any, encoding: Any, label: Any, kind: Any
) -> None:
    if any("/" in (part or "") for part in (tune, version, encoding)):
        return  # it would name a folder there; we do not
    theirs = naming_convention(name, base, tune, version, label, encoding, kind)
    ours = standard_name(
        name=name, base_name=base, size_label=label, fine_tune=tune, version=version,
        encoding=encoding, type=kind,
    )  # fmt: skip
    assert str(ours) == f"{theirs}.gguf"


@pytest.mark.parametrize("part", ["name", "base_name", "size_label", "fine_tune", "version"])
def test_no_part_names_a_folder(part: str) -> None:
    given: dict[str, Any] = {"name": "model", part: "../../etc/x"}
    assert "/" not in str(standard_name(**given))


def by_gguf_py(shapes: dict[str, tuple[int, ...]]) -> str:
    writer = gguf.GGUFWriter(None, "llama")
    for name, shape in shapes.items():
        writer.add_tensor_info(name, shape, np.dtype(np.float32), 4)
    total, shared, expert, count = writer.get_total_parameter_count()
    return str(label_of_gguf_py(total, shared, expert, count)) if total > 0 else ""


_SHAPES = st.lists(st.integers(1, 70_000), min_size=1, max_size=4).map(tuple)
_TENSORS = st.sampled_from(
    ["token_embd.weight", "blk.0.ffn_up_exps.weight", "blk.0.ffn_down_exps.weight",
     "blk.0.ffn_up_exps.bias", "blk.1.ffn_up_exps.weight", "output_norm.weight"]
)  # fmt: skip


@settings(max_examples=300)
@given(shapes=st.dictionaries(_TENSORS, _SHAPES, min_size=1))
def test_size_labels_of_gguf_py(shapes: dict[str, tuple[int, ...]]) -> None:
    assert size_label(shapes) == by_gguf_py(shapes)


@pytest.mark.parametrize(
    "count", [1, 9, 10, 94, 95, 99, 100, 999, 1000, 1001, 9_500, 99_499, 999_999, 10**6, 10**6 + 1,
              1_500_000, 10**9, 10**9 + 1, 6_738_415_616, 46_702_792_704, 10**12, 10**12 + 1]
)  # fmt: skip
def test_size_labels_round_as_gguf_py(count: int) -> None:
    assert size_label({"w": (count,)}) == label_of_gguf_py(count, count, 0, 0)


def test_adapters_have_no_size_label() -> None:
    assert size_label({"w.lora_a": (8, 4), "w.lora_b": (4, 8)}) == ""


def write_model(path: Path, kind: str = "Q4_0", **metadata: Any) -> None:
    """A model whose matrices are of one type; underscores in the keys are dots."""
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((8, 512), np.float32)
    tensors = {
        "blk.0.ffn_up.weight": TensorData(ggufspec.quantize(weights, kind), kind, weights.shape),
        "output_norm.weight": np.ones(64, np.float32),
    }
    keys = {key.replace("__", "."): value for key, value in metadata.items()}
    ggufspec.write(path, {"general.architecture": "llama", **keys}, tensors)


def named(path: Path, **given: str) -> tuple[str, str]:
    """The name of a model, and all notes about it."""
    with ggufspec.open(path) as file:
        made = name_of_model(file, given)
    return str(made.name), "\n".join(made.notes)


@pytest.mark.parametrize("number", [t.value for t in gguf.LlamaFileType if t.value < 1024])
def test_encodings_are_named_as_gguf_py_names_them(number: int, tmp_path: Path) -> None:
    from ggufspec.recipes import file_type

    theirs = gguf.LlamaFileType(number).name.partition("_")[2]
    kind = file_type(number)
    path = tmp_path / "a.gguf"
    importance = {"IQ2_XXS": 1, "IQ2_XS": 1, "IQ1_S": 1}.get(kind.type)
    rows = np.ones((2, 512), np.float32)
    data = ggufspec.quantize(
        rows, kind.type or "NVFP4", np.ones(512, np.float32) if importance else None
    )
    tensor = TensorData(data, kind.type or "NVFP4", rows.shape)
    metadata = {"general.file_type": number, "general.name": "m", "general.size_label": "1B"}
    ggufspec.write(path, metadata, {"w": tensor})
    assert named(path)[0] == f"{naming_convention('m', None, None, None, '1B', theirs)}.gguf"


def test_the_tensors_say_what_a_file_is_of(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    parts: dict[str, Any] = {"general__basename": "m", "general__version": "v1.0"}
    write_model(path, "Q8_0", general__file_type=15, **parts)
    name, notes = named(path)
    assert name == "m-4.2K-v1.0-Q8_0.gguf"
    assert "general.file_type says Q4_K_M, which no tensor is of: most weights are Q8_0" in notes
    write_model(path, "Q8_0", **parts)
    assert named(path) == ("m-4.2K-v1.0-Q8_0.gguf", "")
    write_model(path, "Q8_0", general__file_type=7 | 1024, **parts)
    assert named(path) == ("m-4.2K-v1.0-Q8_0.gguf", "")
    write_model(path, "Q8_0", general__file_type=Value("STRING", "x"), **parts)
    assert named(path)[0] == "m-4.2K-v1.0-Q8_0.gguf"


def test_kinds_of_files(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    write_model(path, general__type="adapter", general__basename="m", general__size_label="7B")
    assert named(path)[0] == "m-7B-Q4_0-LoRA.gguf"
    write_model(path, general__type="mmproj", general__basename="m", general__size_label="7B")
    assert named(path)[0] == "mmproj-m-7B-Q4_0.gguf"
    ggufspec.write(path, {"general.architecture": "llama", "general.name": "a b/c"})
    assert named(path)[0] == "a-b-c-vocab.gguf"
    write_model(path)
    name, notes = named(path)
    assert name == "ggml-model-4.2K-Q4_0.gguf"
    assert "the metadata have no name" in notes
    assert "there is no Version" in notes
    assert named(path, version="v1.0", base_name="given", encoding="f16")[0] == (
        "given-4.2K-v1.0-F16.gguf"
    )
    assert named(path, encoding="")[0] == "ggml-model-4.2K.gguf"


def test_real_models() -> None:
    """As gguf-py puts the same metadata together."""
    for path, encoding in ((realfiles.smollm2(), "Q4_1"), (realfiles.gemma3(), "Q4_K_M")):
        with ggufspec.open(path) as file:
            said = {
                key: file.metadata.get(f"general.{key}")
                for key in ("name", "basename", "finetune", "version", "size_label")
            }
        expected = naming_convention(
            said["name"], said["basename"], said["finetune"], said["version"], said["size_label"],
            encoding,
        )  # fmt: skip
        assert named(path)[0] == f"{expected}.gguf"
    assert named(realfiles.vocabulary("ggml-vocab-llama-bpe.gguf"))[0] == "llama-bpe-vocab.gguf"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\x1b[2J", "cannot have the character"),
        ("a\u202eb", "cannot have the character"),
        ("a\0b", "cannot have the character"),
        ("..", "neither letters nor digits"),
        ("x" * 300, "at most 255"),
        ("\u00e9" * 130, "at most 255"),
        ("CON.1", "takes CON for a device"),
        ("lpt1.x", "takes lpt1 for a device"),
    ],
)
def test_names_that_no_file_should_have(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    write_model(path, general__basename=text)
    with ggufspec.open(path) as file, pytest.raises(ConversionError, match=words):
        name_of_model(file)


def test_a_name_may_be_as_long_as_any(tmp_path: Path) -> None:
    """255 bytes with all that stands behind it, also the number in a set."""
    path = tmp_path / "a.gguf"
    rest = len("-4.2K-Q4_0.gguf")
    write_model(path, general__basename="x" * (255 - rest))
    assert len(named(path)[0]) == 255
    assert command("rename", path).returncode == 0
    (path,) = tmp_path.iterdir()
    assert len(path.name) == 255
    first, *_ = split(path, tmp_path / "set", max_tensors=1).paths
    with ggufspec.open(first) as file:
        assert len(file.paths) > 1
        with pytest.raises(ConversionError, match="would have 270 bytes of at most 255"):
            name_of_model(file)


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        ('a<b>c:d"e|f?g*h', "a-b-c-d-e-f-g-h", "not all systems"),
        ("a/b\\c", "a-b-c", "not all systems"),
        ("-rf", "rf", "would begin with '-'"),
        ("--", None, ""),
        (".hidden", "hidden", "would begin with '.'"),
        ("*x", "x", "would begin with '-'"),
        ("CON", "CON", ""),
        ("a b", "a-b", ""),
    ],
)
def test_names_that_other_systems_or_commands_take_for_something_else(
    text: str, expected: str | None, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.gguf"
    write_model(path, general__basename=text)
    if expected is None:
        with ggufspec.open(path) as file, pytest.raises(ConversionError):
            name_of_model(file)
        return
    name, notes = named(path)
    assert name == f"{expected}-4.2K-Q4_0.gguf"
    assert words in notes
    assert ("hyphens" in notes or "begin with" in notes) == bool(words)
    write_model(path)
    assert named(path, base_name=text)[0] == name


def test_values_of_another_type_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    write_model(path, general__basename=b"\xff", general__version=Value("FLOAT32", 1.0))
    name, notes = named(path)
    assert name == "ggml-model-4.2K-Q4_0.gguf"
    assert "general.basename is no text" in notes
    assert "general.version is no text" in notes


# Files renamed


def listing(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    write_model(path, general__basename="Base", general__version="v1.0", general__size_label="7B")
    return path


NEW = "Base-7B-v1.0-Q4_0.gguf"


def test_the_command(model: Path, tmp_path: Path) -> None:
    data, inode = model.read_bytes(), model.stat().st_ino
    dry = command("rename", model, "--dry-run")
    assert dry.returncode == 0
    assert f"would become {NEW}" in dry.stdout
    assert list(listing(tmp_path)) == ["model.gguf"]
    done = command("rename", model, "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["name"] == NEW
    assert found["renamed"] is True
    assert found["files"] == [{"from": str(model), "to": str(tmp_path / NEW)}]
    assert found["parts"]["size_label"] == "7B"
    assert listing(tmp_path) == {NEW: data}
    assert (tmp_path / NEW).stat().st_ino == inode
    again = command("rename", tmp_path / NEW)
    assert (again.returncode, again.stdout) == (0, f"{tmp_path / NEW}: has the standard name\n")


def test_parse_on_the_command_line() -> None:
    done = command("rename", "--parse", "Mixtral-8x7B-v0.1-KQ2.gguf", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["parts"] == {
        "sidecar": None, "base_name": "Mixtral", "size_label": "8x7B", "fine_tune": None,
        "version": "v0.1", "encoding": "KQ2", "type": None, "shard": None,
    }  # fmt: skip
    shown = command("rename", "--parse", "dir/Grok-100B-v1.0-Q4_0-00003-of-00009.gguf")
    assert "shard       00003-of-00009" in shown.stdout
    wrong = command("rename", "--parse", "not-a-known-arrangement.gguf")
    assert wrong.returncode == 1
    assert "there is no Version" in wrong.stderr
    wrong = command("rename", "--parse", "not-a-known-arrangement.gguf", "--json")
    assert wrong.returncode == 1
    assert json.loads(wrong.stdout)["standard"] is False


def test_wrong_uses(model: Path, tmp_path: Path) -> None:
    for arguments, code in (
        (["rename"], 2),
        (["rename", model, "--parse", "x"], 2),
        (["rename", "--parse", "x", "--dry-run"], 2),
        (["rename", model, "--set", "version"], 2),
        (["rename", model, "--set", "colour=red"], 2),
        (["rename", tmp_path / "no.gguf"], 4),
    ):
        assert command(*arguments).returncode == code, arguments
    assert list(listing(tmp_path)) == ["model.gguf"]


def test_name_that_another_file_has(model: Path, tmp_path: Path) -> None:
    other, data = tmp_path / NEW, model.read_bytes()
    other.write_bytes(b"other")
    done = command("rename", model)
    assert done.returncode == 2
    assert "a file has the new name" in done.stderr
    assert listing(tmp_path) == {"model.gguf": data, NEW: b"other"}
    assert command("rename", model, "--force").returncode == 0
    assert listing(tmp_path) == {NEW: data}


@pytest.mark.parametrize("what", ["folder", "dangling link", "link to it", "hard link"])
def test_name_that_is_something_else(what: str, model: Path, tmp_path: Path) -> None:
    other, data = tmp_path / NEW, model.read_bytes()
    if what == "folder":
        other.mkdir()
    elif what == "hard link":
        other.hardlink_to(model)
    else:
        other.symlink_to(tmp_path / "nothing" if what == "dangling link" else model)
    assert command("rename", model).returncode == 2
    assert model.read_bytes() == data
    done = command("rename", model, "--force")
    if what == "folder":
        assert done.returncode == 4
        assert model.read_bytes() == data
    else:
        assert done.returncode == 0
        assert listing(tmp_path) == {NEW: data}
        assert not other.is_symlink()


def test_a_link_is_renamed_itself(model: Path, tmp_path: Path) -> None:
    """As caches of models have them: the file behind it keeps its name."""
    folder = tmp_path / "links"
    folder.mkdir()
    (folder / "m.gguf").symlink_to(model)
    assert command("rename", folder / "m.gguf").returncode == 0
    assert [entry.name for entry in folder.iterdir()] == [NEW]
    assert (folder / NEW).is_symlink()
    assert model.exists()


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    folder = tmp_path / "set"
    folder.mkdir()
    metadata = {**models.metadata(2), "general.name": "Whole", "general.version": "v1.0"}
    models.write_set(folder / "part", models.llama(2), metadata, 5, 9)
    return sorted(folder.iterdir())


def test_all_files_of_a_set(shards: list[Path]) -> None:
    folder, data = shards[0].parent, [path.read_bytes() for path in shards]
    done = command("rename", shards[1], "--set", "base_name=Whole")
    assert done.returncode == 0, done.stderr
    found = sorted(folder.iterdir())
    assert [path.read_bytes() for path in found] == data
    prefix = found[0].name.removesuffix("-00001-of-00003.gguf")
    assert prefix.startswith("Whole-")
    assert [path.name for path in found] == [
        f"{prefix}-{number:05d}-of-00003.gguf" for number in (1, 2, 3)
    ]
    with ggufspec.open(found[2]) as file:
        assert len(file.parts) == 3


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_that_cannot_be_renamed_stops_all(
    at: int, force: bool, links: bool, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shards[0].parent
    with ggufspec.open(shards[0]) as file:
        plan = renaming.plan_renaming(file, StandardName("New", "1B", version="v1"))
    plan[at].new.write_bytes(b"in the way")
    before = listing(folder)
    link, rename = os.link, Path.rename
    bad = plan[-1 if force else at]

    def no_link(old: Any, new: Any, **options: Any) -> None:
        if not links:
            raise OSError(errno.EPERM, "no hard links", str(new))
        if force and new == bad.new:
            raise OSError(errno.EIO, "broken", str(new))
        link(old, new, **options)

    def no_rename(self: Path, target: Any) -> Any:
        if force and (self, target) == (bad.old, bad.new):
            raise OSError(errno.EIO, "broken", str(self))
        return rename(self, target)

    monkeypatch.setattr(os, "link", no_link)
    monkeypatch.setattr(Path, "rename", no_rename)
    with pytest.raises(OSError, match="broken" if force else "a file has the new name"):
        renaming.carry_out(plan, force=force)
    assert listing(folder) == before


@pytest.mark.parametrize("links", [True, False])
def test_without_hard_links(
    links: bool, shards: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not links:

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(errno.EPERM, "no hard links")

        monkeypatch.setattr(os, "link", refuse)
    folder, data = shards[0].parent, [path.read_bytes() for path in shards]
    with ggufspec.open(shards[0]) as file:
        plan = renaming.plan_renaming(file, StandardName("New", "1B", version="v1"))
    plan[2].new.write_bytes(b"in the way")
    renaming.carry_out(plan, force=True)
    assert [path.read_bytes() for path in sorted(folder.iterdir())] == data
    assert sorted(folder.iterdir()) == [one.new for one in plan]


PROGRAM = """
import ggufspec
from ggufspec.jobs.names import StandardName
from ggufspec.jobs.renaming import carry_out, plan_renaming
def work(folder):
    with ggufspec.open(min(folder.glob("part-*.gguf"))) as file:
        plan = plan_renaming(file, StandardName("New", "1B", version="v1"))
    carry_out(plan)
"""


def test_killed_at_every_step(shards: list[Path], tmp_path: Path) -> None:
    """The whole set is there under its old names, or under its new ones, or under both."""
    data = [path.read_bytes() for path in shards]
    runs = kills.sweep(tmp_path / "runs", shards[0].parent, PROGRAM)
    assert len(runs) > 5
    for folder in runs:
        found = {
            prefix: [path.read_bytes() for path in sorted(folder.glob(f"{prefix}-*.gguf"))]
            for prefix in ("part", "New")
        }
        assert data in found.values()
        assert {path.read_bytes() for path in folder.iterdir()} == set(data)
    assert [path.name[:3] for path in sorted(runs[-1].iterdir())] == ["New"] * 3


logging.getLogger("gguf").setLevel(logging.ERROR)
