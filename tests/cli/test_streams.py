"""Streams that are closed, and files that open reads but no job can decode."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ggufspec

from .conftest import Run

COMMAND = [sys.executable, "-m", "ggufspec"]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(closed: str, tmp_path: Path) -> None:
    out = tmp_path / "s.gguf"
    script = f'"$0" -m ggufspec sample "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, str(out)], capture_output=True, check=False
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert ggufspec.validate(out).ok


@pytest.mark.parametrize("command", ["info", "validate"])
def test_we_ask_the_system_and_not_typer(
    command: str, run: Run, small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Typer would answer "not readable" with 2, before anything was opened."""
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert run(command, small).code == 0


@pytest.mark.parametrize("shape", [(31,), (2, 31)])
def test_rows_without_whole_blocks_are_compared_with_a_rule(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    """`open` keeps such a tensor; decoding it is the file's fault, not an internal error."""
    path = tmp_path / "odd.gguf"
    data = ggufspec.TensorData(np.zeros((1, 64), np.uint8), 99, shape)
    ggufspec.write(path, {"general.architecture": "llama"}, {"t": data})
    raw = path.read_bytes()
    at = raw.index((99).to_bytes(4, "little"))
    path.write_bytes(raw[:at] + (2).to_bytes(4, "little") + raw[at + 4 :])
    done = subprocess.run(
        [*COMMAND, "compare", str(path), str(path)], capture_output=True, check=False, text=True
    )
    assert done.returncode in {1, 3}, done.stderr
    assert "internal" not in done.stderr
    assert "GG0512" in done.stderr or "multiple" in done.stderr or "block" in done.stderr


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no pipes that signal")
@pytest.mark.parametrize("command", [["types"], ["types", "--json"], ["info", "--json"]])
def test_nobody_reads_to_the_end(command: list[str], small: Path) -> None:
    """As cat does: ended by the signal, without a word."""
    words = [*COMMAND, *command, *([str(small)] if command[0] == "info" else [])]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_the_output_is_whole_though_nobody_reads_the_summary(small: Path, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    words = [*COMMAND, "quantize", str(small), str(tmp_path / "out.gguf"), "Q8_0"]
    done = subprocess.run(words, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert done.returncode == -signal.SIGPIPE
    assert ggufspec.validate(tmp_path / "out.gguf").ok


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["info", "--nonsense", "x"], "No such option: --nonsense"),
        (["info"], "Missing argument 'FILE'"),
        (["inof", "x"], "No such command 'inof'"),
        (["--nonsense"], "No such option: --nonsense"),
        (["quantize", "a", "b"], "three are needed: IN OUT TYPE"),
        (["quantize", "a", "b", "Q8_0", "--threads", "x"], "'x' is not a valid"),
        (["info", ""], "the name is empty"),
        (["compare", "a", ""], "the name is empty"),
        (["quantize", "a", "", "Q8_0"], "the name is empty"),
        (["quantize", "a", "nowhere/", "Q8_0"], "'nowhere/' names a folder, not a file"),
        (["dequantize", "a", "nowhere/"], "'nowhere/' names a folder, not a file"),
    ],
    ids=" ".join,
)
def test_wrong_usage_for_machines(run: Run, words: list[str], told: str) -> None:
    error = run(*words, "--json").json["error"]
    assert error["exit"] == 2
    assert told in error["message"]
    plain = run(*words)
    assert (plain.code, plain.out) == (2, "")
