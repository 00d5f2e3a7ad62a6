"""``meta`` with input that nobody should give, and in places where nothing can be written."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.files.undo import Undo, undo_path

Run = Callable[..., Any]

NOBODY = 65534
AS_NOBODY = f"""
import contextlib, os, sys
from ggufspec.cli import main
words = sys.argv
sys.argv = [words[0], "meta", "set", os.environ["REHEARSAL"], "general.name=x"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
    main()  # so that all is imported: another user may not be able to read the package
sys.argv = words
os.getuid() or (os.setgid({NOBODY}), os.setuid({NOBODY}))
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.gguf"
    metadata = {
        "general.architecture": "llama",
        "general.name": "a name",
        "a.nested": Value("ARRAY[ARRAY[UINT8]]", [[1], [2, 3], []]),
        "a.long": Value("ARRAY[ARRAY[UINT32]]", [list(range(50))]),
    }
    ggufspec.write(path, metadata, {"t": np.ones(8, np.float32)})
    return path


def test_arrays_in_arrays_are_shown(run: Run, model: Path) -> None:
    assert run("meta", "get", model, "a.nested").out == "[1]\n[2, 3]\n[]\n"
    whole = ", ".join(map(str, range(50)))
    assert run("meta", "get", model, "a.long").out == f"[{whole}]\n"
    for command in (["meta", "get", model], ["info", model, "--no-tensors"]):
        out = run(*command).out
        assert "3: [[1], [2, 3], []]" in out
        assert "1: [[0, 1, 2, 3, 4, 5, ... 44 more]]" in out
    assert "1: [[0, 1, ... 48 more]]" in run("info", model, "--elements", 2).out


def test_deep_arrays_stay_short(run: Run, model: Path) -> None:
    deep: Any = 1
    for _ in range(6):
        deep = [deep] * 6
    kind = "ARRAY[" * 6 + "UINT8" + "]" * 6
    assert run("meta", "set", model, f"a.deep={kind}:{json.dumps(deep)}").code == 0
    for command in (["meta", "get", model], ["info", model, "--no-tensors"]):
        line = next(line for line in run(*command).out.splitlines() if "a.deep" in line)
        assert len(line) < 1500


@pytest.mark.parametrize(
    ("key", "kind", "before", "after", "told"),
    [
        ("x.a", "ARRAY[ARRAY[UINT8]]", "[[1],[2]]", "[[1],[3]]", "number 1: [2] becomes [3]"),
        (
            "x.a", "ARRAY[ARRAY[UINT8]]", "[[1,2,3,4,5,6,7,8]]", "[[1,2,3,4,5,6,7,9]]",
            "number 0, number 7: 8 becomes 9",
        ),
        (
            "x.a", "ARRAY[ARRAY[ARRAY[STRING]]]", '[[["a"],[],[],[],[],[],["b"]]]',
            '[[["a"],[],[],[],[],[],["c"]]]', "number 0, number 6: [b] becomes [c]",
        ),
        (
            "x.a", "ARRAY[FLOAT64]", "[0.1]", "[0.10000000000000002]",
            "0.1 becomes 0.10000000000000002",
        ),
        ("x.a", "FLOAT64", "0.1", "0.10000000000000002", "+ x.a = FLOAT64:0.10000000000000002"),
        (
            "x.a", "ARRAY[STRING]", json.dumps(["x" * 300 + "a"]), json.dumps(["x" * 300 + "b"]),
            "from character 300 on",
        ),
        ("x.a", "ARRAY[FLOAT32]", "[0.1,1]", "[0.1,2]", "other elements: 1, the first"),
    ],
)  # fmt: skip
def test_a_difference_looks_different(
    run: Run, model: Path, key: str, kind: str, before: str, after: str, told: str
) -> None:
    assert run("meta", "set", model, f"{key}={kind}:{before}").code == 0
    assert told in run("meta", "set", model, f"{key}={kind}:{after}", "--dry-run").out


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may enter, as pytest's own are not."""
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("way", ["beside", "copy"])
def test_read_only_file_of_its_owner(spawn: Run, run: Run, public: Path, way: str) -> None:
    """Root is allowed everything, so this runs as somebody else."""
    folder = public / "theirs"
    folder.mkdir()
    path = folder / "m.gguf"
    ggufspec.write(path, {"general.name": "a"}, {"t": np.ones(8, np.float32)})
    path.chmod(0o444)
    shutil.copy(path, public / "rehearsal.gguf")
    (public / "rehearsal.gguf").chmod(0o644)
    how = {"script": AS_NOBODY, "env": {"REHEARSAL": str(public / "rehearsal.gguf")}}
    if os.getuid() == 0:
        for one in (folder, path):
            os.chown(one, NOBODY, NOBODY)
    output = ["-o", folder / "o.gguf"] if way == "copy" else []
    result = spawn("meta", "set", path, "general.name=b", *output, **how)
    assert result.code == 0, result.err
    written = folder / "o.gguf" if output else path
    assert stat.S_IMODE(written.stat().st_mode) == 0o444
    assert run("meta", "get", written, "general.name").out == "b\n"
    result = spawn("meta", "set", path, "general.name=c", "--in-place", **how)
    assert (result.code, path.exists()) == (4, True)
    assert {one.name for one in folder.iterdir()} == {"m.gguf", written.name}


@pytest.mark.parametrize("json_", [[], ["--json"]], ids=["people", "machines"])
def test_dry_run_refuses_what_the_run_refuses(
    run: Run, model: Path, tmp_path: Path, json_: list[str]
) -> None:
    (tmp_path / "there.gguf").write_bytes(b"x")
    (tmp_path / "link.gguf").symlink_to(model)
    (tmp_path / "hard.gguf").hardlink_to(model)
    undo_path(tmp_path / "lost.gguf").write_bytes(Undo(1, 1, 0, b"a", b"b").pack())
    for output in ("no/x.gguf", ".", "link.gguf", "hard.gguf", "there.gguf", "m.gguf", "lost.gguf"):
        words = ["meta", "set", model, "general.name=b", "-o", tmp_path / output, *json_]
        real, dry = run(*words), run(*words, "--dry-run")
        assert real.code in (1, 2, 4), output
        assert (dry.code, dry.out, dry.err) == (real.code, real.out, real.err)
    undo_path(model).write_text("notes")
    words = ["meta", "set", model, "general.name=b", "--in-place", *json_]
    real, dry = run(*words), run(*words, "--dry-run")
    assert (dry.code, dry.out, dry.err) == (real.code, real.out, real.err)
    assert real.code == 2


@pytest.mark.parametrize("room", [2**28 + 1, 2**40, 10**20])
@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--in-place"]], ids=str)
def test_room_that_nobody_wants(run: Run, model: Path, room: int, more: list[str]) -> None:
    result = run("meta", "set", model, "x.y=UINT8:1", "--room", room, *more)
    assert (result.code, result.err) == (2, "error: the room is 0 to 268,435,456 bytes\n")


def test_blanks_are_not_in_memory(spawn: Run, model: Path) -> None:
    most = 2**29  # of it NumPy and the interpreter take half
    script = f"import resource, numpy; resource.setrlimit(resource.RLIMIT_DATA, ({most}, {most}))"
    words = ["meta", "set", model, "x.y=UINT8:1", "-o", model.with_name("o.gguf"), "--json"]
    result = spawn(*words, "--room", 2**28, script=script)
    model.with_name("o.gguf").unlink()
    assert result.code == 0, result.err
    assert result.json["filler"] >= 2**28
    assert len(result.out) < 2000


TEMPLATES = {
    "a number": [1],
    "a list": [[1]],
    "nothing": [None],
    "no template": [{"name": "a"}],
    "no name": [{"name": "", "template": "t"}],
    "another type": [{"name": "a", "template": 1}],
    "one name": [{"name": "x y", "template": "1"}, {"name": "x_y", "template": "2"}],
    "two defaults": [{"name": "default", "template": "1"}, {"name": "default", "template": "2"}],
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_that_are_none(run: Run, model: Path, tmp_path: Path, name: str) -> None:
    source = tmp_path / "t.json"
    source.write_text(json.dumps({"t": TEMPLATES[name]}))
    result = run("meta", "set", model, f"tokenizer.chat_template=@{source}#t")
    assert result.code == 2
    assert "template" in result.err


@pytest.mark.parametrize("content", [b"\xff", b"{", b"[" * 100_000, b'{"t": 1e999}'], ids=str)
def test_files_that_are_no_json(run: Run, model: Path, tmp_path: Path, content: bytes) -> None:
    source = tmp_path / "t.json"
    source.write_bytes(content)
    result = run("meta", "set", model, f"general.name=@{source}#t")
    assert result.code == 1
    assert "codec" not in result.err


@pytest.mark.parametrize("word", ["ggufspec.pad=STRING:mine", "ggufspec.pad=UINT8:1"])
def test_the_key_of_blanks_is_reserved(run: Run, model: Path, tmp_path: Path, word: str) -> None:
    before = model.read_bytes()
    assert "reserved" in run("meta", "set", model, word).err
    assert "reserved" in run("meta", "rename", model, "general.name", "ggufspec.pad").err
    record = {"key": "ggufspec.pad", "type": "STRING", "value": "mine"}
    document = tmp_path / "d.json"
    document.write_text(json.dumps({"gguf_metadata": 1, "metadata": [record]}))
    assert "reserved" in run("meta", "apply", model, document).err
    assert model.read_bytes() == before


def test_text_of_others_under_the_key_of_blanks_stays(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    metadata = {"ggufspec.pad": "mine, and long enough to hold a name", "general.name": "a" * 60}
    ggufspec.write(path, metadata, {"t": np.ones(8, np.float32)})
    result = run("meta", "set", path, "general.name=b", "--in-place")
    assert result.code == 0
    assert "ggufspec.pad holds something else than blanks" in result.err
    assert run("meta", "get", path, "ggufspec.pad").out.startswith("mine")
    assert run("meta", "set", path, "general.name=c", "--room", 10).code == 2


@pytest.mark.parametrize("words", [["general.name=b"], ["general.name=b", "--in-place"]], ids=len)
@pytest.mark.parametrize("json_", [[], ["--json"]], ids=["people", "machines"])
def test_output_that_takes_no_more(
    spawn: Run, run: Run, model: Path, words: list[str], json_: list[str]
) -> None:
    script = "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)"
    result = spawn("meta", "set", model, *words, *json_, script=script)
    assert result.code == 4
    assert "no space left" in result.err
    assert "the edit was made" in result.err
    assert run("meta", "get", model, "general.name").out == "b\n"


def test_other_names_and_leftovers_are_mentioned(run: Run, model: Path) -> None:
    model.with_name("hard.gguf").hardlink_to(model)
    left = model.with_name("m.gguf.undo.0123456789ab.ggufspec-tmp")
    left.write_bytes(b"x")
    result = run("meta", "set", model, "general.name=b", "--in-place")
    assert result.code == 0
    assert "has 1 other name: the content changes there, too" in result.err
    assert left.name in result.err
    assert "the old content stays there" in run("meta", "set", model, "general.name=c").err


def test_report_beside_an_undo_file(run: Run, model: Path, tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    pytest.importorskip("vl_convert")
    size = model.stat().st_size
    undo_path(model).write_bytes(Undo(size, size, 4, b"\3", b"\3").pack())
    result = run("report", model, "-o", tmp_path / "r.html")
    assert result.code == run("info", model).code == 1
    assert "GG0905" in result.err
    assert not (tmp_path / "r.html").exists()


def test_space_that_is_told_is_the_space_that_is_missing(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What must stay free is part of what is needed."""
    free = 446_500
    usage = shutil.disk_usage(model.parent)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    result = run("meta", "set", model, "general.name=b")
    assert result.code == 4
    assert "1.0 MB are needed (1.0 MB of them stay free) and 446.5 kB are free" in result.err
