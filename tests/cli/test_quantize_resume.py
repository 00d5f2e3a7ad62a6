"""Interrupted runs: nothing under the final name, and with --resume the same bytes in the end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec.files.atomic import SUFFIX
from support import models

from .conftest import command_line

Run = Callable[..., Any]

WAITING = """
import time
import ggufspec.jobs.resume as resume
from ggufspec.files.writer import Writer
resume.INTERVAL = 0.0
feed, note, noted = Writer.feed, resume.PartialFile.note, 0
def feed_halves(self, data):
    view = memoryview(data).cast("B")
    feed(self, view[: len(view) // 2])
    self.flush()
    if noted >= {tensors}:
        time.sleep(1)
    feed(self, view[len(view) // 2 :])
def count(self, tensor):
    global noted
    note(self, tensor)
    noted = len(self.done)
Writer.feed, resume.PartialFile.note = feed_halves, count
"""
"""Notes each tensor at once; with so many noted, leaves time to be killed in the middle of one."""


@pytest.fixture(scope="module")
def whole(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What an uninterrupted run makes."""
    out = tmp_path_factory.mktemp("whole") / "out.gguf"
    done = subprocess.run(command_line("quantize", sample, out, "Q4_K_M"), check=False)
    assert done.returncode == 0
    return out.read_bytes()


def interrupt(sample: Path, out: Path, tensors: int, number: int = signal.SIGKILL) -> int:
    """Start the work, or go on with it, and end it when so many tensors are noted as done."""
    command = command_line(
        "quantize", sample, out, "Q4_K_M", "--resume", script=WAITING.format(tensors=tensors)
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(3000):
            if noted(out) >= tensors:
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        return process.wait(timeout=60)
    finally:
        process.kill()
        process.communicate()


def noted(out: Path) -> int:
    """Tensors that are noted as done."""
    try:
        state = json.loads(out.with_name(out.name + ".partial.json").read_text())
    except FileNotFoundError:
        return 0
    return len(state["tensors"])


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.mark.parametrize("points", [[1], [17], [36], [2, 9, 10, 30]], ids=str)
def test_killed_and_resumed(
    run: Run, sample: Path, whole: bytes, tmp_path: Path, points: list[int]
) -> None:
    out = tmp_path / "out.gguf"
    before = sample.read_bytes()
    for point in points:
        assert interrupt(sample, out, point) == -signal.SIGKILL
        assert not out.exists()
        assert noted(out) >= point
    result = run("quantize", sample, out, "Q4_K_M", "--resume")
    assert result.code == 0, result.err
    assert "going on from" in result.err
    assert out.read_bytes() == whole
    assert names(tmp_path) == ["out.gguf"]
    assert sample.read_bytes() == before


def test_told_to_stop(run: Run, sample: Path, whole: bytes, tmp_path: Path) -> None:
    """What is done by then is kept and noted, whatever the interval."""
    out = tmp_path / "out.gguf"
    assert interrupt(sample, out, 5, signal.SIGTERM) == 130
    assert names(tmp_path) == ["out.gguf.partial", "out.gguf.partial.json"]
    assert run("quantize", sample, out, "Q4_K_M", "--resume", "--verify").code == 0
    assert out.read_bytes() == whole


def test_done_tensors_are_not_made_again(
    run: Run, sample: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggufspec.jobs import tensors

    out = tmp_path / "out.gguf"
    interrupt(sample, out, 20)
    made = []
    pieces = tensors.pieces

    def watched(tensor: Any, *arguments: Any, **options: Any) -> Any:
        made.append(tensor.name)
        return pieces(tensor, *arguments, **options)

    monkeypatch.setattr(tensors, "pieces", watched)
    done = {entry["name"] for entry in state(out)["tensors"]}
    assert run("quantize", sample, out, "Q4_K_M", "--resume").code == 0
    assert len(done) >= 20
    assert not done & set(made)
    assert out.read_bytes() == whole


def state(out: Path) -> Any:
    return json.loads(out.with_name(out.name + ".partial.json").read_text())


@pytest.mark.parametrize("damage", ["flip", "cut", "front", "longer", "torn new note"])
def test_only_what_the_bytes_confirm_is_believed(
    run: Run, sample: Path, whole: bytes, tmp_path: Path, damage: str
) -> None:
    out = tmp_path / "out.gguf"
    interrupt(sample, out, 12)
    partial, note = (tmp_path / f"out.gguf.{name}" for name in ("partial", "partial.json"))
    data, third = bytearray(partial.read_bytes()), state(out)["tensors"][3]
    match damage:
        case "flip":
            data[third["offset"] + 5] ^= 1
        case "cut":
            del data[third["offset"] + 5 :]
        case "front":
            data[100] ^= 1
        case "longer":
            data += bytes(1000)
        case "torn new note":
            note.with_name(note.name + ".new").write_bytes(note.read_bytes()[:7])
    partial.write_bytes(data)
    result = run("quantize", sample, out, "Q4_K_M", "--resume")
    if damage == "front":
        assert result.code == 2
        assert "it starts with other bytes" in result.err
        assert not out.exists()
    else:
        assert result.code == 0, result.err
        assert out.read_bytes() == whole
        assert names(tmp_path) == ["out.gguf"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (["Q4_K_S"], "file_type was"),
        (["Q4_K_M", "--pure"], "options was {}, now it is"),
        (["Q4_K_M", "--override-kv", "general.name=str:other"], "options was"),
        (["Q4_K_M", "older"], "another version of ggufspec made it"),
    ],
    ids=str,
)
def test_other_work_is_refused(
    run: Run, sample: Path, tmp_path: Path, change: list[str], told: str
) -> None:
    model, out = tmp_path / "model.gguf", tmp_path / "out.gguf"
    model.write_bytes(sample.read_bytes())
    interrupt(model, out, 3)
    before = (tmp_path / "out.gguf.partial").read_bytes()
    match change:
        case [_, "older"]:
            old = {**state(out), "ggufspec": "0.0.1"}
            (tmp_path / "out.gguf.partial.json").write_text(json.dumps(old, indent=1))
            change = change[:1]
    result = run("quantize", model, out, *change, "--resume")
    assert result.code == 2
    assert told in result.err
    assert "remove out.gguf.partial to start anew" in result.err
    assert (tmp_path / "out.gguf.partial").read_bytes() == before


def test_another_process_is_at_it(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    with (tmp_path / "out.gguf.partial").open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = run("quantize", sample, out, "Q8_0", "--resume")
    assert result.code == 2
    assert "another process is writing it" in result.err


def test_threads_and_memory_may_change(
    run: Run, sample: Path, whole: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out.gguf"
    interrupt(sample, out, 8)
    limit = ("--threads", "1", "--max-memory", "1G")
    assert run("quantize", sample, out, "Q4_K_M", "--resume", *limit).code == 0
    assert out.read_bytes() == whole


def test_several_types_and_an_output_that_was_not_begun(
    run: Run, sample: Path, whole: bytes, tmp_path: Path
) -> None:
    interrupt(sample, tmp_path / "out-Q4_K_M.gguf", 8)
    pattern = tmp_path / "out-{type}.gguf"
    assert run("quantize", sample, pattern, "Q4_K_M,Q8_0", "--resume").code == 0
    assert (tmp_path / "out-Q4_K_M.gguf").read_bytes() == whole
    assert run("quantize", sample, tmp_path / "8.gguf", "Q8_0").code == 0
    assert (tmp_path / "8.gguf").read_bytes() == (tmp_path / "out-Q8_0.gguf").read_bytes()


def test_without_resume_it_starts_anew_and_says_what_lies_there(
    run: Run, sample: Path, whole: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "out.gguf"
    interrupt(sample, out, 3)
    result = run("quantize", sample, out, "Q4_K_M")
    assert result.code == 0
    assert "--resume goes on from it" in result.err
    assert out.read_bytes() == whole


def test_leftovers_of_killed_runs_are_named(run: Run, sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    stale, used = (tmp_path / f"out.gguf.{digit * 12}{SUFFIX}" for digit in "ab")
    stale.write_bytes(bytes(1000))
    (tmp_path / f"other.gguf.{'a' * 12}{SUFFIX}").touch()
    with used.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = run("quantize", sample, out, "Q8_0")
    assert result.code == 0
    assert result.err == (
        f"warning: {stale} (1.0 kB) was left by a run that was killed; it can be removed\n"
    )


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_output_that_appears_meanwhile_stays(
    run: Run, sample: Path, tmp_path: Path, resume: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggufspec.jobs import outputs

    out = tmp_path / "out.gguf"
    finish = outputs.finish

    def late(works: Any) -> None:
        out.write_text("precious")
        finish(works)

    monkeypatch.setattr("ggufspec.jobs.convert.finish", late)
    result = run("quantize", sample, out, "Q8_0", *resume)
    assert result.code == 4
    assert "it has appeared meanwhile; what was written is out.gguf." in result.err
    assert out.read_text() == "precious"
    (kept,) = (path for path in tmp_path.iterdir() if path.suffix in (SUFFIX, ".partial"))
    out.unlink()
    with ggufspec.open(kept) as file:
        assert len(file.tensors) == 39


@pytest.mark.parametrize("stop", [1, 9, 25, 47])
def test_sets_and_several_types_go_on_together(
    run: Run, tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of four files goes on from where it was."""
    from ggufspec.files.writer import Writer

    first = models.write_set(tmp_path / "in", models.llama(), models.metadata(), 13)
    words = ("quantize", first, "--keep-split", "--resume")
    assert run(*words[:3], tmp_path / "whole-{type}", "Q4_K_M,Q8_0").code == 0
    feed, left = Writer.feed, [stop]

    def stopping(self: Any, data: Any) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        feed(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(Writer, "feed", stopping)
        result = run(*words, tmp_path / "out-{type}", "Q4_K_M,Q8_0")
    assert result.code == 130
    assert "the same command goes on" in result.err
    assert not list(tmp_path.glob("out-*.gguf"))
    assert run(*words, tmp_path / "out-{type}", "Q4_K_M,Q8_0").code == 0
    made = sorted(tmp_path.glob("out-*"))
    assert len(made) == 4
    for path in made:
        other = path.with_name(path.name.replace("out", "whole"))
        assert path.read_bytes() == other.read_bytes()


def stop_after(run: Run, model: Path, out: Path, tensors: int) -> None:
    """As `interrupt`, in this process."""
    from ggufspec.jobs.outputs import Work

    ends, left = Work.ends, [tensors]

    def stopping(self: Any, *arguments: Any) -> None:
        ends(self, *arguments)
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Work, "ends", stopping)
        assert run("quantize", model, out, "Q8_0", "--resume").code == 130
    assert noted(out) == tensors


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("beside", ["partial", "partial.json", "partial.json.new"])
@pytest.mark.parametrize("way", ["same", "hard", "symbolic"])
def test_input_that_would_be_written_to(
    run: Run, small: Path, tmp_path: Path, beside: str, way: str
) -> None:
    out = tmp_path / "out.gguf"
    name = out.with_name(f"out.gguf.{beside}")
    match way:
        case "same":
            small = small.rename(name)
        case "hard":
            name.hardlink_to(small)
        case "symbolic":
            name.symlink_to(small)
    before = contents(tmp_path)
    result = run("quantize", small, out, "Q8_0", "--resume", "--force")
    assert result.code == 2
    assert "the output is the input" in result.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("beside", ["partial", "partial.json", "partial.json.new"])
@pytest.mark.parametrize("what", ["file", "link", "dangling link", "pipe", "folder", "model"])
def test_what_is_not_ours_is_left_alone(
    run: Run, small: Path, tmp_path: Path, beside: str, what: str
) -> None:
    out, other = tmp_path / "out.gguf", tmp_path / "precious"
    name = out.with_name(f"out.gguf.{beside}")
    match what:
        case "file":
            name.write_text("precious")
        case "model":
            name.write_bytes(small.read_bytes())
        case "link":
            other.write_text("")
            name.symlink_to(other)
        case "dangling link":
            name.symlink_to(other)
        case "pipe":
            os.mkfifo(name)
        case "folder":
            name.mkdir()
    before = contents(tmp_path)
    result = run("quantize", small, out, "Q8_0", "--resume")
    assert result.code == 2, result.err
    assert f"{name}: this was not left by an interrupted run" in result.err
    assert "hint: remove it, or run without --resume" in result.err
    after = contents(tmp_path)
    if beside != "partial":
        assert after.pop("out.gguf.partial") == b""
    assert after == before


def test_other_file_beside_our_note(run: Run, small: Path, tmp_path: Path) -> None:
    """Nothing is cut off before the beginning was found to be ours."""
    out = tmp_path / "out.gguf"
    stop_after(run, small, out, 1)
    (tmp_path / "out.gguf.partial").write_text("precious" * 1000)
    before = contents(tmp_path)
    result = run("quantize", small, out, "Q8_0", "--resume")
    assert result.code == 2
    assert "it starts with other bytes" in result.err
    assert contents(tmp_path) == before


def test_empty_file_is_taken(run: Run, small: Path, tmp_path: Path) -> None:
    (tmp_path / "out.gguf.partial").touch()
    assert run("quantize", small, tmp_path / "out.gguf", "Q8_0", "--resume").code == 0
    assert names(tmp_path) == ["out.gguf", "small.gguf"]


def test_note_is_there_before_the_first_byte(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggufspec.jobs.resume import PartialFile

    def stopping(self: PartialFile, _: Any) -> None:
        assert not self.temporary.stat().st_size
        raise KeyboardInterrupt

    monkeypatch.setattr(PartialFile, "write", stopping)
    out = tmp_path / "out.gguf"
    assert run("quantize", small, out, "Q8_0", "--resume").code == 130
    assert state(out)["tensors"] == []


@pytest.mark.parametrize(
    "fault",
    [
        {"offset": -7},
        {"offset": 1 << 62},
        {"offset": 1 << 70},
        {"nbytes": 1 << 62},
        {"offset": True},
        {"name": 3},
        {"sha256": None},
        {"more": 1},
        "{",
        "[" * 200_000,
        "",
        '{\n "partial_format": ' + "[" * 200_000,
        '{\n "partial_format": 2, "tensors": 7}',
        '{\n "partial_format": 2, "tensors": [7]}',
        '{\n "partial_format": ' + "9" * 9999 + "}",
        b"\xff",
    ],
    ids=lambda fault: repr(fault)[:40],
)
def test_hostile_note(run: Run, small: Path, tmp_path: Path, fault: Any) -> None:
    out = tmp_path / "out.gguf"
    stop_after(run, small, out, 2)
    note = tmp_path / "out.gguf.partial.json"
    match fault:
        case dict():
            wild = state(out)
            wild["tensors"][1].update(fault)
            note.write_text(json.dumps(wild, indent=1))
        case str():
            note.write_text(fault)
        case bytes():
            note.write_bytes(fault)
    before = contents(tmp_path)
    result = run("quantize", small, out, "Q8_0", "--resume")
    assert result.code == 2, result.err
    assert f"{note}: this was not left by an interrupted run" in result.err
    assert contents(tmp_path) == before


@pytest.mark.parametrize("change", ["touched", "copied", "done data", "data to come", "none"])
@pytest.mark.parametrize("settled", [0, 1 << 62])
def test_no_mixture_of_two_inputs(
    run: Run, small: Path, tmp_path: Path, change: str, settled: int, monkeypatch: Any
) -> None:
    """Same size, header and modification time; settled: whether the clock can be believed."""
    from ggufspec.jobs import origin

    monkeypatch.setattr(origin, "SETTLED", settled)
    out = tmp_path / "out.gguf"
    with ggufspec.open(small) as file:
        offsets = [tensor.file_offset for tensor in file.tensors.values()]
    stop_after(run, small, out, 1)
    first = state(out)["tensors"][0]["name"]
    times = small.stat().st_atime_ns, small.stat().st_mtime_ns
    data = bytearray(small.read_bytes())
    with ggufspec.open(small) as file:
        done = file.tensors[first].file_offset
    match change:
        case "touched":
            os.utime(small, ns=(1, 1))
        case "copied":
            small.unlink()
            small.write_bytes(data)
        case "done data" | "data to come":
            place = done if change == "done data" else max(set(offsets) - {done})
            data[place] ^= 1
            small.write_bytes(data)
            os.utime(small, ns=times)
    result = run("quantize", small, out, "Q8_0", "--resume")
    if change == "done data":
        assert result.code == 2
        assert "the input is another one, or was changed since" in result.err
        return
    assert result.code == 0, result.err
    assert run("quantize", small, tmp_path / "whole.gguf", "Q8_0").code == 0
    assert out.read_bytes() == (tmp_path / "whole.gguf").read_bytes()


def test_renamed_between_opening_and_locking(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another run finishes just then: its file is not touched."""
    from ggufspec.files.atomic import lock

    out = tmp_path / "out.gguf"
    partial = tmp_path / "out.gguf.partial"

    def late(descriptor: int) -> bool:
        partial.write_text("precious")
        partial.rename(out)
        return lock(descriptor)

    monkeypatch.setattr("ggufspec.jobs.resume.lock", late)
    result = run("quantize", small, out, "Q8_0", "--resume", "--force")
    assert result.code == 2
    assert "another process is writing it" in result.err
    assert out.read_text() == "precious"


def test_locked_until_it_has_its_name(
    run: Run, small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ggufspec.files.atomic import name_it

    def watched(temporary: Path, target: Path, *, replace: bool) -> None:
        with temporary.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        name_it(temporary, target, replace=replace)

    monkeypatch.setattr("ggufspec.jobs.resume.name_it", watched)
    assert run("quantize", small, tmp_path / "out.gguf", "Q8_0", "--resume").code == 0


def test_killed_between_the_two_names(run: Run, small: Path, tmp_path: Path) -> None:
    """The file has both; then the one in the making goes."""
    out = tmp_path / "out.gguf"
    stop_after(run, small, out, 3)
    out.hardlink_to(tmp_path / "out.gguf.partial")
    assert run("quantize", small, out, "Q8_0", "--resume", "--force").code == 0
    assert names(tmp_path) == ["out.gguf", "small.gguf"]
    with ggufspec.open(out) as file:
        assert len(file.tensors) == 3
