"""One file from a set: any file opens it, and what does not fit together is told and refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

import ggufspec
from ggufspec import GGUFError, TensorData, Value
from ggufspec.files.shard_names import shard_name
from ggufspec.jobs.errors import ConversionError
from ggufspec.jobs.sets import merge, split
from support import crafted, models
from support.command import command
from support.crafted import V3

COUNT = 3


def write_set(folder: Path, **changed: dict[str, Any]) -> list[Path]:
    """Three files of two tensors; `changed` are keys and options of one file, by number."""
    paths = []
    for number in range(COUNT):
        own = changed.get(f"file{number}", {})
        keys = {"general.name": "set", "llama.block_count": 2} if number == 0 else {}
        keys |= models.split_keys(number, COUNT, 2 * COUNT) | own.get("keys", {})
        keys = {key: value for key, value in keys.items() if value is not None}
        tensors = {f"t{number}{n}": np.full(5, 10 * number + n, np.float32) for n in range(2)}
        path = folder / own.get("name", shard_name("model", number + 1, COUNT))
        ggufspec.write(path, keys, {**tensors, **own.get("tensors", {})}, **own.get("options", {}))
        paths.append(path)
    return paths


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("number", range(COUNT))
def test_any_file_of_the_set_will_do(number: int, tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    before = contents(tmp_path)
    plan = merge(paths[number], tmp_path / "out.gguf")
    assert plan.inputs == tuple(paths)
    assert [change.kind for change in plan.changes] == ["removed"]
    expected = {f"t{n}{m}": np.full(5, 10 * n + m, np.float32) for n in range(3) for m in range(2)}
    keys = {"general.name": "set", "llama.block_count": 2}
    ggufspec.write(tmp_path / "expected.gguf", keys, expected)
    assert (tmp_path / "out.gguf").read_bytes() == (tmp_path / "expected.gguf").read_bytes()
    assert contents(tmp_path).items() >= before.items()


@pytest.mark.parametrize("limits", [{"split_max_tensors": 3}, {"split_max_size": 1500}])
def test_sets_of_gguf_py(limits: dict[str, int], tmp_path: Path) -> None:
    """Merged they are what gguf-py writes as one file."""
    for name, options in (("whole", {}), ("set", limits)):
        writer = gguf.GGUFWriter(tmp_path / f"{name}.gguf", "llama", **options)
        writer.add_name("a name")
        writer.add_array("some.array", ["a", "b"])
        for number in range(10):
            writer.add_tensor(f"t{number}", np.full((3, 7 * number + 1), number, np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
    made = sorted(tmp_path.glob("set-*"))
    assert len(made) > 2
    merge(made[1], tmp_path / "out.gguf")
    assert (tmp_path / "out.gguf").read_bytes() == (tmp_path / "whole.gguf").read_bytes()


def swap(paths: list[Path]) -> None:
    data = [path.read_bytes() for path in paths]
    paths[1].write_bytes(data[2])
    paths[2].write_bytes(data[1])


BROKEN: dict[str, tuple[str, dict[str, Any], Callable[[list[Path]], object] | None]] = {
    "missing": ("GG0803", {}, lambda paths: paths[2].unlink()),
    "swapped": ("GG0804", {}, swap),
    "named otherwise": ("GG0805", {"file1": {"name": "model-00002-of-00004.gguf"}}, None),
    "no name of a set": ("GG0801", {"file1": {"name": "model.gguf"}}, None),
    "count": ("GG0805", {"file2": {"keys": {"split.count": Value("UINT16", 4)}}}, None),
    "count missing": ("GG0802", {"file2": {"keys": {"split.count": None}}}, None),
    "count is text": ("GG0802", {"file2": {"keys": {"split.count": Value("STRING", "3")}}}, None),
    "number": ("GG0804", {"file2": {"keys": {"split.no": Value("UINT16", 1)}}}, None),
    "tensor twice": ("GG0806", {"file2": {"tensors": {"t00": np.ones(1, np.float32)}}}, None),
    "tensors": ("GG0807", {"file0": {"keys": {"split.tensors.count": Value("INT32", 7)}}}, None),
    "version": ("GG0808", {"file1": {"options": {"version": 2}}}, None),
    "alignment": ("GG0809", {"file1": {"keys": {"general.alignment": 64}}}, None),
    "byte order": ("GG0810", {"file1": {"options": {"byte_order": "big"}}}, None),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_what_does_not_belong_together(broken: str, tmp_path: Path) -> None:
    rule, changed, damage = BROKEN[broken]
    paths = write_set(tmp_path, **changed)
    if damage is not None:
        damage(paths)
    before = contents(tmp_path)
    done = command("merge", paths[1], tmp_path / "out.gguf", "--json")
    assert done.returncode == 1
    error = json.loads(done.stdout)["error"]
    assert error["rule"] == rule
    assert error["hint"]
    assert rule in done.stderr
    assert contents(tmp_path) == before


def test_every_way_has_a_rule_of_its_own() -> None:
    from ggufspec.generated.shards import RULES

    assert {rule for rule, _, _ in BROKEN.values()} == {rule.id for rule in RULES.values()}


@pytest.mark.parametrize(
    "other",
    ["other", Value("UINT32", 3), Value("ARRAY[STRING]", ["set"]), "se", np.float32(1)],
    ids=repr,
)
def test_files_that_contradict_each_other(other: Any, tmp_path: Path) -> None:
    paths = write_set(tmp_path, file2={"keys": {"general.name": other}})
    for job in (merge, split):
        with pytest.raises(ConversionError, match=r"general\.name is STRING 'set' in .* and "):
            job(paths[0], tmp_path / "out")
    done = command("merge", paths[0], tmp_path / "out.gguf")
    assert done.returncode == 1
    assert f"{paths[2]}: general.name is STRING 'set' in model-00001-of-00003.gguf" in done.stderr
    assert not (tmp_path / "out.gguf").exists()


def test_keys_of_further_files_are_not_lost(tmp_path: Path) -> None:
    """The same again is nothing; what only they have is taken over, and told."""
    keys = {"general.name": "set", "my.own": Value("INT8", -3)}
    paths = write_set(tmp_path, file1={"keys": keys}, file2={"keys": keys})
    plan = merge(paths[2], tmp_path / "out.gguf")
    assert [(change.kind, change.file) for change in plan.changes] == [
        ("removed", ""), ("taken", paths[1].name),
    ]  # fmt: skip
    with ggufspec.open(tmp_path / "out.gguf") as f:
        assert dict(f.metadata) == {"general.name": "set", "llama.block_count": 2, "my.own": -3}
        assert f.metadata.type_of("my.own") == "INT8"
    done = command("merge", paths[0], tmp_path / "out.gguf", "--force")
    assert "key taken over: model-00002-of-00003.gguf: my.own stands in this file" in done.stdout


def test_what_is_no_set(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {"general.name": "x"}, {"a": np.ones(1, np.float32)})
    done = command("merge", path, tmp_path / "out.gguf")
    assert done.returncode == 2
    assert "belongs to no split set" in done.stderr
    named = path.rename(tmp_path / "m-00002-of-00003.gguf")
    done = command("merge", named, tmp_path / "out.gguf")
    assert done.returncode == 2
    assert "its name says one of 3, but split.count is missing" in done.stderr
    ggufspec.write(named, models.split_keys(0, 1, 1), {"a": np.ones(1, np.float32)})
    done = command("merge", named, tmp_path / "out.gguf")
    assert done.returncode == 1
    assert "its name says that it is one of 3, split.count that the set has 1" in done.stderr
    assert not (tmp_path / "out.gguf").exists()


def test_a_set_of_one_has_to_be_one(tmp_path: Path) -> None:
    path = tmp_path / "m-00001-of-00001.gguf"
    for number, tensors, rule in ((0, 1, None), (1, 1, "GG0804"), (0, 2, "GG0807")):
        ggufspec.write(
            path, models.split_keys(number, 1, tensors), {"a": np.ones(1, np.float32)}
        )  # fmt: skip
        if rule is None:
            merge(path, tmp_path / "out.gguf")
            continue
        with pytest.raises(GGUFError) as caught:
            merge(path, tmp_path / "out.gguf", replace=True)
        assert caught.value.code == rule


def test_the_file_that_shows_it_is_named(tmp_path: Path) -> None:
    """Not the one that was opened; and a set of one is named, too."""
    paths = write_set(tmp_path, file2={"keys": {"split.no": Value("UINT16", 1)}})
    done = command("merge", paths[0], tmp_path / "out.gguf", "--json")
    assert json.loads(done.stdout)["error"]["file"] == str(paths[2])
    one = tmp_path / "m-00001-of-00001.gguf"
    ggufspec.write(one, models.split_keys(1, 1, 1), {"a": np.ones(1, np.float32)})
    done = command("merge", one, tmp_path / "out.gguf")
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {one}: split.no")


def test_what_llama_gguf_split_leaves_is_taken_out(tmp_path: Path) -> None:
    """Its merge sets the count to 0 and keeps the other two keys."""
    path = tmp_path / "m.gguf"
    tensors = {"a": np.ones(1, np.float32)}
    ggufspec.write(path, {"general.name": "x", **models.split_keys(0, 0, 7)}, tensors)
    merge(path, tmp_path / "out.gguf")
    ggufspec.write(tmp_path / "expected.gguf", {"general.name": "x"}, tensors)
    assert (tmp_path / "out.gguf").read_bytes() == (tmp_path / "expected.gguf").read_bytes()


def test_sets_that_lost_their_alignment(tmp_path: Path) -> None:
    """llama-gguf-split copies the key to the first file and pads the others to 32."""
    paths = write_set(tmp_path, file0={"keys": {"general.alignment": 64}})
    plan = merge(paths[0], tmp_path / "out.gguf")
    assert [(change.kind, change.file) for change in plan.changes[1:]] == [
        ("alignment", path.name) for path in paths[1:]
    ]
    with ggufspec.open(tmp_path / "out.gguf", profile="strict") as f:
        assert f.alignment == 64
        assert [t.array()[0] for t in f.tensors.values()] == [0, 1, 10, 11, 20, 21]


@pytest.mark.parametrize("how", ["itself", "symbolic", "hard"])
@pytest.mark.parametrize("number", range(COUNT))
def test_no_file_of_the_set_is_written_over(how: str, number: int, tmp_path: Path) -> None:
    """Nor by the mistake of a shell's pattern, whose second match would be the output."""
    paths = write_set(tmp_path)
    target = paths[number] if how == "itself" else tmp_path / "out.gguf"
    if how == "symbolic":
        target.symlink_to(paths[number])
    elif how == "hard":
        target.hardlink_to(paths[number])
    before = contents(tmp_path)
    if number == 1:
        done = command("merge", paths[0], target, "--force")
        assert done.returncode == 2
        assert "the output is the input" in done.stderr
    with pytest.raises(ConversionError, match="the output is the input"):
        merge(paths[0], target, replace=True)
    assert contents(tmp_path) == before


def test_a_shells_pattern(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    before = contents(tmp_path)
    assert command("merge", *paths).returncode == 2
    assert command("merge", *paths[:2]).returncode == 2
    assert command("merge", paths[0]).returncode == 2
    assert contents(tmp_path) == before


def test_dry_run_and_names(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    target = tmp_path / "out-00001-of-00002.gguf"
    done = command("merge", paths[0], target, "--dry-run", "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["written"]) == (0, False)
    assert "is the name of a file of a set" in done.stderr
    assert not target.exists()
    done = command("merge", paths[0], target)
    assert done.returncode == 0
    assert record["size"] == target.stat().st_size
    assert command("merge", paths[0], target).returncode == 2
    assert command("merge", paths[0], target, "--force").returncode == 0


def test_what_differs_from_how_we_write_is_told(tmp_path: Path) -> None:
    """Values and data stay, and the command says what does not."""
    form = V3
    pairs = [form.pair("general.name", crafted.STRING, form.string("x"))]
    infos = [form.tensor("a", [8], offset=64), form.tensor("b", [5], offset=0)]
    data = b"b" * 20 + b"dirt" + bytes(40) + b"a" * 32 + b"tail"
    path = tmp_path / "m.gguf"
    path.write_bytes(crafted.file(pairs, infos, data))
    done = command("split", path, tmp_path / "out", "--json")
    changes = json.loads(done.stdout)["changes"]
    assert [change["kind"] for change in changes] == ["places", "padding", "bytes"]
    assert "4 bytes between tensors were not zero" in changes[1]["message"]
    assert "4 bytes behind the last tensor" in changes[2]["message"]
    merge(next(tmp_path.glob("out-*")), tmp_path / "back.gguf")
    with ggufspec.open(tmp_path / "back.gguf", profile="strict") as f:
        assert f.tensors["a"].data.tobytes() == b"a" * 32
        assert f.tensors["b"].data.tobytes() == b"b" * 20


def test_missing_padding_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    ggufspec.write(path, {"a": "b"}, {"a": TensorData(b"abcd", "F32", (1,))})
    path.write_bytes(path.read_bytes()[:-28])
    plan = split(path, tmp_path / "out")
    assert [change.text for change in plan.changes] == [
        "the padding behind the last tensor was missing"
    ]
