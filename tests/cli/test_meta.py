"""``meta``: what it shows, what it changes, what it refuses, and what interrupted edits leave."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.edits import recover
from ggufspec.files.undo import Undo, undo_path

from .conftest import command_line

Run = Callable[..., Any]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with room for nothing behind its header."""
    path = tmp_path / "model.gguf"
    metadata = {
        "general.architecture": "llama",
        "general.name": "a name",
        "general.file_type": 0,
        "llama.block_count": 1,
        "tokenizer.ggml.tokens": ["<s>", "a", "b"],
        "made.up": Value("FLOAT64", 0.5),
    }
    ggufspec.write(path, metadata, {"token_embd.weight": np.ones((4, 64), np.float32)})
    return path


def value(path: Path, key: str) -> Any:
    with ggufspec.open(path) as file:
        found = file.metadata[key]
        return found if isinstance(found, (str, bytes, bool, int, float)) else list(found)


def keys(path: Path) -> list[str]:
    with ggufspec.open(path) as file:
        return list(file.metadata)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_get(run: Run, model: Path) -> None:
    result = run("meta", "get", model)
    assert result.code == 0
    for line in ("general.name           STRING         a name", "3: [<s>, a, b]"):
        assert line in result.out
    assert run("meta", "get", model, "general.name").out == "a name\n"
    assert run("meta", "get", model, "tokenizer.ggml.tokens").out == "<s>\na\nb\n"
    found = run("meta", "get", model, "general.*", "--json").json
    assert [one["key"] for one in found["metadata"]] == [
        "general.architecture", "general.name", "general.file_type",
    ]  # fmt: skip
    assert found["metadata"][1] == {"key": "general.name", "type": "STRING", "value": "a name"}


def test_get_raw(run: Run, model: Path) -> None:
    text = "a\x1b[2J\nb\n\n"
    assert run("meta", "set", model, f"tokenizer.chat_template={text}").code == 0
    assert run("meta", "get", model, "tokenizer.chat_template", "--raw").out == text
    assert "\\x1b[2J" in run("meta", "get", model, "tokenizer.chat_template").out
    for keys_ in (["general.*"], ["made.up"], ["general.name", "made.up"]):
        assert run("meta", "get", model, *keys_, "--raw").code == 2


def test_get_what_is_not_there(run: Run, model: Path) -> None:
    result = run("meta", "get", model, "none")
    assert (result.code, result.err) == (1, f"error: {model}: there is no key 'none'\n")
    assert run("meta", "get", model.with_name("none.gguf")).code == 4
    assert run("meta", "get", model, "none", "--json").json["error"]["exit"] == 1


def test_set(run: Run, model: Path) -> None:
    before = keys(model)
    result = run("meta", "set", model, "general.name=new", "x.y=ARRAY[INT8]:[1]", "made.up=0.25")
    assert result.code == 0, result.err
    assert "- general.name = STRING:a name\n+ general.name = STRING:new\n" in result.out
    assert "+ x.y = ARRAY[INT8]:[1] (1)\n" in result.out
    assert "- made.up = FLOAT64:0.5\n+ made.up = FLOAT64:0.25\n" in result.out
    assert keys(model) == [*before, "x.y"]
    assert (value(model, "general.name"), value(model, "made.up")) == ("new", 0.25)
    assert names(model.parent) == ["model.gguf"]


def test_delete_and_rename(run: Run, model: Path) -> None:
    assert run("meta", "rename", model, "made.up", "other.name").code == 0
    assert keys(model)[-1] == "other.name"
    assert run("meta", "rename", model, "none", "x").code == 1
    assert run("meta", "rename", model, "other.name", "general.name").code == 2
    assert run("meta", "delete", model, "other.*", "general.name").code == 0
    assert keys(model) == [
        "general.architecture", "general.file_type", "llama.block_count", "tokenizer.ggml.tokens",
    ]  # fmt: skip
    assert run("meta", "delete", model, "none").code == 1


def test_copy(run: Run, model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    metadata = {
        "general.alignment": 64,
        "general.name": b"\xff",
        "a.n": Value("ARRAY[ARRAY]", [Value("ARRAY[UINT8]", [1])]),
        "split.no": Value("UINT16", 0),
    }
    ggufspec.write(other, metadata, byte_order="big", version=2)
    assert run("meta", "copy", model, other, "general.n*", "a.n").code == 0
    assert value(model, "general.name") == b"\xff"
    assert [list(one) for one in value(model, "a.n")] == [[1]]
    result = run("meta", "copy", model, other, "--json")
    assert result.code == 0, result.err
    assert result.json["way"] == "nothing"  # neither the alignment nor keys of a set
    assert run("meta", "copy", model, other, "none").err.startswith(f"error: {other}: ")


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_export_and_apply(run: Run, model: Path, tmp_path: Path, suffix: str) -> None:
    document = tmp_path / f"m.{suffix}"
    assert run("meta", "export", model, "-o", document).code == 0
    assert run("meta", "export", model, "-o", document).code == 2
    assert run("meta", "export", model, "-o", document, "--force").code == 0
    shown = run("meta", "export", model, "--format", suffix).out
    assert shown == document.read_text()
    result = run("meta", "apply", model, document)
    assert "nothing changes" in result.out
    document.write_text(document.read_text().replace("a name", "another"))
    before = model.read_bytes()
    assert run("meta", "apply", model, document, "--dry-run").code == 0
    assert model.read_bytes() == before
    assert run("meta", "apply", model, document).code == 0
    assert value(model, "general.name") == "another"
    run("meta", "set", model, "x.y=BOOL:true")
    assert run("meta", "apply", model, document).code == 0
    assert "x.y" in keys(model)
    assert run("meta", "apply", model, document, "--exact").code == 0
    assert "x.y" not in keys(model)


def test_export_of_some_keys(run: Run, model: Path) -> None:
    document = run("meta", "export", model, "general.*").json
    assert [one["key"] for one in document["metadata"]] == [
        "general.architecture", "general.name", "general.file_type",
    ]  # fmt: skip


def test_documents_that_cannot_be_used(run: Run, model: Path, tmp_path: Path) -> None:
    document = tmp_path / "m.json"
    before = model.read_bytes()
    for data, code in ((b"{", 1), (b"\xff", 1), (b"[]", 1)):
        document.write_bytes(data)
        result = run("meta", "apply", model, document)
        assert result.code == code
        assert str(document) in result.err
    assert run("meta", "apply", model, tmp_path / "none.json").code == 4
    assert run("meta", "apply", model, os.devnull).code == 2
    assert model.read_bytes() == before


def test_dry_run(run: Run, model: Path) -> None:
    before, stamp = model.read_bytes(), model.stat()
    for arguments, told in (
        (["general.name=b name", "--in-place"], "would be changed in place; no data moves\n"),
        (["general.name=b name"], "a new file of "),
        (["general.name=" + "x" * 999, "--in-place"], "(not in place: the new header has "),
        (["general.name=", "--in-place"], "would be changed in place"),
        (["general.name=a name"], "nothing changes; nothing would be written\n"),
        (["general.name=b", "-o", model.with_name("x.gguf")], "x.gguf of "),
    ):
        result = run("meta", "set", model, *arguments, "--dry-run")
        assert result.code == 0, result.err
        assert told in result.out
    result = run("meta", "set", model, "general.name=b name", "--in-place", "--dry-run", "--json")
    assert result.json["way"] == "in place"
    assert result.json["written"] is False
    assert result.json["changes"] == [
        {
            "key": "general.name",
            "kind": "change",
            "before": {"type": "STRING", "value": "a name"},
            "after": {"type": "STRING", "value": "b name"},
        }
    ]
    refused = run("meta", "set", model, "llama.block_count=7", "--dry-run", "--json")
    assert refused.code == 2
    assert refused.json["refused"][0]["key"] == "llama.block_count"
    assert (model.read_bytes(), model.stat()) == (before, stamp)
    assert names(model.parent) == ["model.gguf"]


def test_difference_of_long_texts(run: Run, model: Path) -> None:
    lines = [f"line {n}" for n in range(20)]
    run("meta", "set", model, "tokenizer.chat_template=" + "\n".join(lines))
    lines[10] = "other\x1b[2J"
    out = run("meta", "set", model, "tokenizer.chat_template=" + "\n".join(lines)).out
    assert "-   line 10\n+   other\\x1b[2J\n" in out
    assert "line 5" not in out


def test_difference_of_arrays(run: Run, model: Path) -> None:
    words = 'tokenizer.ggml.tokens=["<s>", "c", "b"]'
    out = run("meta", "set", model, words, "--force").out
    assert "other elements: 1, the first is number 1: a becomes c" in out


def test_dangerous_keys_need_force(run: Run, model: Path) -> None:
    before = model.read_bytes()
    for assignment, reason in (
        ("llama.block_count=2", "readers look for the tensors of so many layers"),
        ("general.architecture=qwen2", "it chooses the code"),
        ("general.name=UINT32:1", "its type is STRING, not UINT32"),
        ("general.alignment=64", "the data of every tensor"),
    ):
        result = run("meta", "set", model, assignment)
        assert result.code == 2
        assert reason in result.err
        assert "hint: --force changes it all the same" in result.err
        assert model.read_bytes() == before
    assert run("meta", "delete", model, "tokenizer.*").code == 2
    assert run("meta", "set", model, "llama.block_count=1").code == 0  # it is that already
    assert run("meta", "set", model, "llama.block_count=2", "--force").code == 0
    assert value(model, "llama.block_count") == 2
    both = run("meta", "set", model, "llama.block_count=1", "general.architecture=x")
    assert "also refused:" in both.err


def test_alignment_moves_data(run: Run, model: Path) -> None:
    result = run("meta", "set", model, "general.alignment=4096", "--force", "--in-place")
    assert result.code == 0
    assert "not in place: " in result.err
    with ggufspec.open(model) as file:
        assert file.alignment == 4096
        assert file.tensors["token_embd.weight"].file_offset == 4096
        assert (file.tensors["token_embd.weight"].array() == 1).all()
    assert run("meta", "set", model, "general.alignment=33", "--force").code == 2


def test_output(run: Run, model: Path, tmp_path: Path) -> None:
    before, out = model.read_bytes(), tmp_path / "out.gguf"
    assert run("meta", "set", model, "general.name=b", "-o", out).code == 0
    assert model.read_bytes() == before
    assert value(out, "general.name") == "b"
    assert run("meta", "set", model, "general.name=c", "-o", out).code == 2
    assert value(out, "general.name") == "b"
    assert run("meta", "set", model, "general.name=c", "-o", out, "--force").code == 0
    assert value(out, "general.name") == "c"
    assert run("meta", "set", model, "general.name=c", "-o", model).code == 2
    assert run("meta", "set", model, "general.name=c", "-o", out, "--in-place").code == 2
    assert run("meta", "copy", model, out, "-o", out, "--force").code == 2
    assert run("meta", "set", model, "general.name=c", "-o", tmp_path / "none" / "x").code == 4
    copied = run("meta", "set", model, "general.name=a name", "-o", tmp_path / "same.gguf")
    assert copied.code == 0
    assert (tmp_path / "same.gguf").read_bytes() == before


def test_in_place_keeps_the_file(run: Run, model: Path) -> None:
    inode = model.stat().st_ino
    data = model.read_bytes()[-1024:]
    for name in ("b name", "x", "a name"):
        result = run("meta", "set", model, f"general.name={name}", "--in-place", "--json")
        assert (result.code, result.json["way"]) == (0, "in place")
        assert model.stat().st_ino == inode
        assert model.read_bytes()[-1024:] == data
        assert value(model, "general.name") == name
    assert names(model.parent) == ["model.gguf"]


def test_a_file_of_a_set(run: Run, tmp_path: Path) -> None:
    from support import models

    weights = {f"blk.{n}.ffn_up.weight": np.full((2, 32), n, np.float32) for n in range(2)}
    first = models.write_set(tmp_path / "m", weights, {"general.architecture": "llama"}, 1)
    second = tmp_path / "m-00002-of-00002.gguf"
    untouched = second.read_bytes()
    assert run("meta", "set", first, "general.name=b").code == 0
    assert second.read_bytes() == untouched
    assert value(second, "general.name") == "b"
    assert "split.count" in run("meta", "get", second).out
    assert run("meta", "set", second, "split.count=3").code == 2
    with ggufspec.open(first) as file:
        assert len(file.tensors) == 2


def test_broken_files_are_left_alone(run: Run, model: Path) -> None:
    for data in (b"", b"GGUF", model.read_bytes()[:-600]):
        model.write_bytes(data)
        result = run("meta", "set", model, "general.name=b")
        assert result.code == 1
        assert str(model) in result.err
        assert model.read_bytes() == data


@pytest.fixture
def interrupted(model: Path) -> Path:
    """A file in the middle of an edit in place."""
    old = model.read_bytes()
    start = old.index(b"a name")
    undo = Undo(len(old), len(old), start, b"a name", b"b eman")
    undo_path(model).write_bytes(undo.pack())
    model.write_bytes(old.replace(b"a name", b"b eame"))
    return model


TOLD = "an edit in place was interrupted, or is under way: model.gguf.undo has not been removed"


@pytest.mark.parametrize(
    "words",
    [
        ["info", "{}"],
        ["validate", "{}"],
        ["validate", "{}", "--checks", "meaning"],
        ["quantize", "{}", "out.gguf", "Q8_0"],
        ["quantize", "{}", "Q8_0", "--plan"],
        ["dequantize", "{}", "out.gguf"],
        ["compare", "{}", "{}"],
        ["meta", "get", "{}"],
        ["meta", "set", "{}", "general.name=x"],
        ["meta", "set", "{}", "general.name=x", "--in-place"],
        ["meta", "export", "{}"],
        ["meta", "copy", "other.gguf", "{}"],
        ["quantize", "other.gguf", "{}", "Q8_0", "--force"],
        ["sample", "{}", "--force"],
        ["meta", "set", "other.gguf", "general.name=x", "-o", "{}", "--force"],
    ],
    ids=" ".join,
)
def test_commands_tell_of_interrupted_edits(
    run: Run, interrupted: Path, tmp_path: Path, words: list[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    ggufspec.write(
        "other.gguf", {"general.architecture": "llama"}, {"t": np.ones((2, 32), np.float32)}
    )
    before = interrupted.read_bytes()
    there = names(tmp_path)
    result = run(*[word.replace("{}", str(interrupted)) for word in words])
    assert result.code == 1
    assert TOLD in result.err + result.out
    assert "meta recover" in result.err + result.out
    assert interrupted.read_bytes() == before
    assert names(tmp_path) == there


@pytest.mark.parametrize("profile", ["strict", "lenient", "spec", "ggml"])
def test_every_profile_tells_of_it(interrupted: Path, profile: str) -> None:
    report = ggufspec.validate(interrupted, profile)
    assert report.findings[0].rule == "GG0905"
    assert report.findings[0].severity == ("info" if profile == "ggml" else "error")
    assert report.ok == (profile == "ggml")


def test_a_link_does_not_hide_it(run: Run, interrupted: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.gguf"
    link.symlink_to(interrupted)
    assert TOLD in run("info", link).err
    assert run("meta", "recover", link).code == 0
    assert value(link, "general.name") == "a name"


@pytest.mark.parametrize(("options", "name"), [([], "a name"), (["--new"], "b eman")])
def test_recover(run: Run, interrupted: Path, options: list[str], name: str) -> None:
    result = run("meta", "recover", interrupted, *options, "--json")
    assert result.json["state"] == ("new" if options else "old")
    assert value(interrupted, "general.name") == name
    assert names(interrupted.parent) == ["model.gguf"]
    again = run("meta", "recover", interrupted)
    assert again.code == 1
    assert "there is nothing to recover" in again.err


def test_recover_does_not_touch_another_file(run: Run, interrupted: Path) -> None:
    data = interrupted.read_bytes().replace(b"b eame", b"zz zz ")
    interrupted.write_bytes(data)
    result = run("meta", "recover", interrupted)
    assert result.code == 1
    assert "the file is not the one" in result.err
    assert interrupted.read_bytes() == data
    assert undo_path(interrupted).exists()


def test_damaged_undo_file(run: Run, interrupted: Path) -> None:
    undo = undo_path(interrupted)
    undo.write_bytes(undo.read_bytes()[:-1])
    before = interrupted.read_bytes()
    result = run("meta", "recover", interrupted)
    assert result.code == 1
    assert "the undo file is damaged" in result.err
    assert interrupted.read_bytes() == before


def test_undo_file_of_somebody_else(run: Run, model: Path) -> None:
    """Other programs may call their files so; we do not take them for ours, nor write over them."""
    undo = undo_path(model)
    undo.write_text("notes")
    assert run("info", model).code == 0
    assert run("meta", "set", model, "general.name=b").code == 0
    result = run("meta", "set", model, "general.name=c", "--in-place")
    assert result.code == 2
    assert "model.gguf.undo is there already" in result.err
    assert run("meta", "recover", model).code == 1
    assert undo.read_text() == "notes"
    assert value(model, "general.name") == "b"


def test_two_edits_at_once(run: Run, model: Path) -> None:
    import fcntl

    before = model.read_bytes()
    with model.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        for option in ([], ["--in-place"]):
            result = run("meta", "set", model, "general.name=b name", *option)
            assert result.code == 2
            assert "another edit of the file is under way" in result.err
    assert model.read_bytes() == before
    assert names(model.parent) == ["model.gguf"]


def test_disk_that_is_full(spawn: Run, model: Path) -> None:
    big = model.with_name("big.gguf")
    ggufspec.write(big, {"general.name": "a"}, {"t": np.ones((1024, 1024), np.float32)})
    before = big.read_bytes()
    result = spawn(
        "meta", "set", big, "general.name=b" + "x" * 100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)),
    )  # fmt: skip
    assert result.code == 4
    assert "file too large" in result.err
    assert big.read_bytes() == before
    assert names(model.parent) == ["big.gguf", "model.gguf"]


SLOW = """
import time
import ggufspec.edits.transfer as t, ggufspec.edits.in_place as i, ggufspec.edits.beside as b
def slow(*arguments):
    time.sleep(5)
b.transfer = slow
put = i.put
def slow_put(file, start, data, size):
    put(file, start, data[: len(data) // 2], size)
    time.sleep(0 if data.startswith(b"a") else 5)
    put(file, start, data, size)
i.put = slow_put
"""


@pytest.mark.parametrize("option", [[], ["--in-place"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_told_to_stop(model: Path, option: list[str], number: int) -> None:
    """An edit that is interrupted is taken back, also one in place."""
    before = model.read_bytes()
    command = command_line("meta", "set", model, "general.name=b name", *option, script=SLOW)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    for _ in range(600):
        if len(names(model.parent)) > 1:
            break
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "error: interrupted\n")
    assert model.read_bytes() == before
    assert names(model.parent) == ["model.gguf"]


def test_help_has_examples(run: Run) -> None:
    for name in ("get", "set", "delete", "rename", "copy", "export", "apply", "recover"):
        out = run("meta", name, "--help").out
        assert "Examples:" in out
        assert f"ggufspec meta {name} model.gguf" in " ".join(out.split())


def test_json_of_an_edit(run: Run, model: Path) -> None:
    result = run("meta", "set", model, "general.name=b", "x.y=FLOAT32:nan", "--json")
    assert result.json["written"] is True
    assert result.json["changes"][1]["after"] == {"type": "FLOAT32", "value": "NaN"}
    assert json.loads(result.out)["size"] == model.stat().st_size
    with pytest.raises(ValueError, match="nothing to recover"):
        recover(model)


def test_inner_arrays_with_types_of_their_own(run: Run, model: Path) -> None:
    words = 'x.y=ARRAY[ARRAY]:[{"type": "ARRAY[UINT8]", "value": [1]}]'
    result = run("meta", "set", model, words, "--dry-run", "--json")
    assert result.json["changes"][0]["after"] == {
        "type": "ARRAY[ARRAY]",
        "value": [{"type": "ARRAY[UINT8]", "value": [1]}],
    }
    assert "+ x.y = ARRAY[ARRAY]:[ARRAY[UINT8]:[1]] (1)" in run("meta", "set", model, words).out
    assert run("meta", "get", model, "x.y", "--json").json["metadata"][0]["value"] == [[1]]


def test_document_from_standard_input(spawn: Run, run: Run, model: Path) -> None:
    document = run("meta", "export", model, "general.name").out.replace("a name", "b")
    assert spawn("meta", "apply", model, "-", input=document).code == 0
    assert value(model, "general.name") == "b"


def test_undo_file_that_is_a_link(run: Run, model: Path, tmp_path: Path) -> None:
    """Nothing is written to where somebody else's link leads."""
    undo_path(model).symlink_to(tmp_path / "elsewhere")
    result = run("meta", "set", model, "general.name=c", "--in-place")
    assert result.code == 2
    assert "model.gguf.undo is there already" in result.err
    assert not (tmp_path / "elsewhere").exists()
    assert run("meta", "recover", model).code == 4
    assert value(model, "general.name") == "a name"


def test_undo_file_of_a_lost_file(run: Run, model: Path, tmp_path: Path) -> None:
    undo = tmp_path / "out.gguf.undo"
    undo.write_bytes(Undo(1, 1, 0, b"a", b"b").pack())
    result = run("meta", "set", model, "general.name=c", "-o", tmp_path / "out.gguf")
    assert result.code == 1
    assert "out.gguf.undo has not been removed" in result.err
    assert not (tmp_path / "out.gguf").exists()
