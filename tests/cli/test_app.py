"""The application: usage, exit codes, JSON of failures, further commands, terminals."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec
from ggufspec.cli import app
from ggufspec.cli.failures import of_error
from ggufspec.cli.text import amount, plural, printable, shape, size
from ggufspec.generated import SPEC_VERSION

from .conftest import command_line

Run = Callable[..., Any]


def test_version(run: Run) -> None:
    result = run("--version")
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == f"ggufspec {ggufspec.__version__}"
    assert lines[1] == f"specification {SPEC_VERSION}"
    assert lines[2].startswith("kernels: ")


def test_version_without_the_compiled_part(spawn: Run) -> None:
    assert "kernels: numpy" in spawn("--version", env={"GGUFSPEC_NATIVE": "0"}).out


def test_python_m(sample: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ggufspec", "info", sample], capture_output=True, check=False
    )
    assert done.returncode == 0


def test_help_lists_every_command(run: Run) -> None:
    out = run("--help").out
    for name in app.BUILT_IN:
        assert f" {name} " in out
    assert " generate " in out


@pytest.mark.parametrize("name", app.BUILT_IN)
def test_help_of_commands(run: Run, name: str) -> None:
    result = run(name, "--help")
    assert result.code == 0
    assert "--json" in result.out


@pytest.mark.parametrize(
    "arguments",
    [
        ["inof", "x"],
        ["info"],
        ["info", "a", "b"],
        ["info", "--nonsense", "a"],
        ["quantize", "a", "b"],
        ["compare", "a"],
        ["validate", "--profile", "none", "a"],
        ["dequantize", "a", "b", "--type", "Q8_0"],
        ["quantize", "a", "b", "Q8_0", "--threads", "0"],
        ["info", "a", "--elements", "x"],
    ],
    ids=" ".join,
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert "Usage:" in result.err


def test_typo_suggests(run: Run) -> None:
    assert "Did you mean 'info'" in run("inof", "x").err


@pytest.mark.parametrize("place", range(4))
def test_options_stand_anywhere(run: Run, sample: Path, tmp_path: Path, place: int) -> None:
    arguments: list[str | Path] = [sample, tmp_path / "out.gguf", "Q8_0"]
    arguments.insert(place, "--json")
    assert run("quantize", *arguments).json["file_type"] == "Q8_0"


@pytest.mark.parametrize("command", [["info"], ["validate"], ["dequantize"], ["compare"]])
@pytest.mark.parametrize(
    ("kind", "code"),
    [("missing", 4), ("folder", 4), ("pipe", 4), ("text", 1), ("cut", 1), ("empty", 1), ("new", 3)],
)
def test_bad_inputs(
    run: Run, sample: Path, tmp_path: Path, command: list[str], kind: str, code: int
) -> None:
    path = tmp_path / "bad.gguf"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "text":
            path.write_text("This is no model at all.\n")
        case "cut":
            path.write_bytes(sample.read_bytes()[:5000])
        case "empty":
            path.touch()
        case "new":
            path.write_bytes(b"GGUF\x09\0\0\0" + bytes(16))
    more = {"dequantize": [tmp_path / "out.gguf"], "compare": [sample]}.get(command[0], [])
    for flags in ([], ["--json"]):
        result = run(*command, path, *more, *flags)
        assert result.code == code, result.err
        assert "bad.gguf" in result.out + result.err
        if flags and command != ["validate"]:
            assert result.json["error"]["exit"] == code
    assert not (tmp_path / "out.gguf").exists()


def test_cut_file_says_where(run: Run, sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(sample.read_bytes()[:5000])
    error = run("info", path, "--json").json["error"]
    assert error["rule"].startswith("GG")
    assert 0 <= error["offset"] <= 5000
    assert error["file"] == str(path)


def test_unreadable_file(spawn: Run, sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "secret.gguf"
    path.write_bytes(sample.read_bytes())
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root can read anything")
    result = spawn("info", path)
    assert result.code == 4
    assert "permission denied" in result.err


def test_faults_of_ours_are_told_without_a_traceback(spawn: Run, sample: Path) -> None:
    script = "import ggufspec.cli.info as i; i._show = i._record = None"
    result = spawn("info", sample, script=script)
    assert (result.code, result.out) == (4, "")
    assert "error: internal error: TypeError" in result.err
    assert "please report it" in result.err
    assert spawn("info", sample, "--json", script=script).json["error"]["exit"] == 4


def test_out_of_memory(spawn: Run, sample: Path) -> None:
    script = "import ggufspec.cli.info as i\ndef fail(*_): raise MemoryError\ni._show = fail"
    result = spawn("info", sample, script=script)
    assert (result.code, result.err) == (4, "error: out of memory\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_reader_that_goes_away(sample: Path, unbuffered: str, flags: list[str]) -> None:
    process = subprocess.Popen(
        command_line("info", sample, *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (-signal.SIGPIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_takes_nothing(sample: Path, unbuffered: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command_line("info", sample),
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 4
    assert done.stderr.startswith(b"error: no space left on device\n")


def test_commands_of_extras_that_are_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> dict[str, Any]:
        raise ModuleNotFoundError("No module named 'yaml'", name="yaml")

    monkeypatch.setattr(app, "_plugin", missing)
    result = run("generate", "--check")
    assert result.code == 2
    assert "ggufspec[codegen]" in result.err
    assert run("--help").code == 0


def test_a_terminal_without_unicode(spawn: Run, sample: Path) -> None:
    result = spawn("info", sample, "--elements", "260", env={"PYTHONIOENCODING": "ascii"})
    assert result.code == 0
    assert "\\u2581" in result.out


def in_terminal(*arguments: str | Path, script: str = "", columns: int = 200) -> str:
    """What a terminal is sent."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(
        command_line(*arguments, script=script),
        stdout=follower,
        stderr=follower,
        stdin=follower,
        env=environment,
    )
    os.close(follower)
    sent = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        sent += piece
    os.close(leader)
    process.wait(timeout=60)
    return sent.decode(errors="replace")


@pytest.mark.parametrize("columns", [200, 80, 50, 30])
def test_plan_has_a_line_a_tensor_on_any_terminal(sample: Path, columns: int) -> None:
    sent = in_terminal("quantize", sample, "Q4_K_M", "--plan", columns=columns)
    lines = re.sub(r"\x1b\[[0-9;]*m", "", sent).splitlines()
    tensors = [line for line in lines if ".weight" in line]
    assert len(tensors) == 39
    (line,) = (line for line in tensors if "blk.2.ffn_down.weight " in line)
    assert "Q6_K   215,040" in line
    why = "more bits for the outer layers"
    assert (why in line) == (columns == 200)
    assert any(why in line or columns < 80 for line in lines)


def test_colours_on_a_terminal(sample: Path) -> None:
    sent = in_terminal("info", sample)
    assert "\x1b[36m" in sent
    assert "blk.3.ffn_down.weight" in sent


def test_markup_of_a_file_is_text(tmp_path: Path) -> None:
    path = tmp_path / "markup.gguf"
    ggufspec.write(path, {"general.name": "[bold]x[/bold] :smile: \x1b[31m"})
    sent = in_terminal("info", path)
    assert "[bold]x[/bold] :smile: \\x1b[31m" in sent
    assert "\x1b[31m" not in sent


BAR = "import ggufspec.cli.progress as p; p.PATIENCE = 0.0\n"


def test_progress_on_a_terminal(sample: Path, tmp_path: Path) -> None:
    sent = in_terminal("quantize", sample, tmp_path / "out.gguf", "Q8_0", script=BAR)
    assert "Q8_0" in sent
    assert "/s" in sent
    assert "written in" in sent


def test_no_progress_when_piped_or_json(spawn: Run, sample: Path, tmp_path: Path) -> None:
    result = spawn("quantize", sample, tmp_path / "out.gguf", "Q8_0", script=BAR)
    assert result.err == ""
    assert "\x1b" not in result.out
    sent = in_terminal("quantize", sample, tmp_path / "2.gguf", "Q8_0", "--json", script=BAR)
    assert "\x1b" not in sent


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a b\u00e9\u6f22", "a b\u00e9\u6f22"),
        ("\x1b]0;x\x07", "\\x1b]0;x\\x07"),
        ("\u202e\u2066\u200f", "\\u202e\\u2066\\u200f"),
        ("\n\r\t\0\x85\x7f", "\\n\\r\\t\\0\\x85\\x7f"),
        ("\udcff", "\\xff"),
        ("\U000e0041\ue000", "\\U000e0041\\ue000"),
        (b"a\xff", "a\\xff"),
        ("x" * 300, "x" * 200 + "... (100 more characters)"),
    ],
)
def test_printable(text: str | bytes, shown: str) -> None:
    assert printable(text) == shown


def test_numbers_for_people() -> None:
    assert [size(n) for n in (0, 999, 1000, 98_000_000, 999_960)] == [
        "0 B", "999 B", "1.0 kB", "98.0 MB", "1.0 MB",
    ]  # fmt: skip
    assert amount(134_515_008) == "134.5 M"
    assert shape((2, 3)) == "2 x 3"
    assert shape(()) == "scalar"
    assert (plural(1, "key"), plural(1200, "key")) == ("1 key", "1,200 keys")


def test_errors_of_the_system_have_one_code() -> None:
    for error in (FileNotFoundError(2, "no"), PermissionError(13, "no"), MemoryError()):
        assert of_error(error).exit == 4
