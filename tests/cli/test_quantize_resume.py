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

SLOW = """
import time
import ggufspec.jobs.resume as resume
from ggufspec.files.writer import Writer
resume.INTERVAL = 0.0
feed = Writer.feed
def slow_feed(self, data):
    view = memoryview(data).cast("B")
    feed(self, view[: len(view) // 2])
    self.flush()
    time.sleep(0.03)
    feed(self, view[len(view) // 2 :])
Writer.feed = slow_feed
"""
"""Writes tensors in halves, with time in between to be killed, and notes each one at once."""


@pytest.fixture(scope="module")
def whole(sample: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What an uninterrupted run makes."""
    out = tmp_path_factory.mktemp("whole") / "out.gguf"
    done = subprocess.run(command_line("quantize", sample, out, "Q4_K_M"), check=False)
    assert done.returncode == 0
    return out.read_bytes()


def interrupt(sample: Path, out: Path, tensors: int, number: int = signal.SIGKILL) -> int:
    """Start the work, or go on with it, and end it when so many tensors are noted as done."""
    command = command_line("quantize", sample, out, "Q4_K_M", "--resume", script=SLOW)
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


@pytest.mark.parametrize(
    "damage", ["flip", "cut", "front", "no note", "broken note", "wild note", "longer"]
)
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
        case "no note":
            note.unlink()
        case "broken note":
            note.write_text('{"tensors": [{"name"')
        case "wild note":
            wild = state(out)
            wild["tensors"][5]["offset"] = -7
            note.write_text(json.dumps(wild))
        case "longer":
            data += bytes(1000)
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
        (["Q4_K_M", "touched"], "the input is another one, or was changed since"),
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
        case [_, "touched"]:
            os.utime(model, ns=(1, 1))
            change = change[:1]
        case [_, "older"]:
            old = {**state(out), "ggufspec": "0.0.1"}
            (tmp_path / "out.gguf.partial.json").write_text(json.dumps(old))
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
