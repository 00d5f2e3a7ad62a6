"""Help and completion of every command."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ggufspec.cli import app
from ggufspec.cli.manual import EXIT_CODES

Run = Callable[..., Any]

_EXAMPLE = re.compile(r"^ggufspec .+$", re.MULTILINE)
_SHELL = (">", "<", "|", "&&")
_RUNNABLE = {"info", "types", "validate", "explain", "memory", "meta get", "meta export"}


def _commands() -> Iterator[tuple[str, Any]]:
    for name, command in app.application().commands.items():
        below = getattr(command, "commands", None)
        if below:
            yield from ((f"{name} {inner}", further) for inner, further in below.items())
        else:
            yield name, command


COMMANDS = dict(_commands())


def _examples(name: str) -> list[str]:
    return _EXAMPLE.findall(COMMANDS[name].epilog or "")


def _words(example: str) -> list[str]:
    """The words of one example behind the program's name, up to what is the shell's."""
    words = shlex.split(example)[1:]
    ends = [words.index(word) for word in _SHELL if word in words]
    return words[: min(ends, default=len(words))]


@pytest.mark.parametrize("name", COMMANDS)
def test_all_that_a_command_takes_is_explained(name: str) -> None:
    command = COMMANDS[name]
    assert command.help or command.callback.__doc__
    unexplained = [
        parameter.name for parameter in command.params if not getattr(parameter, "help", None)
    ]
    assert not unexplained


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples_and_exit_codes(name: str) -> None:
    assert _examples(name)
    assert EXIT_CODES in COMMANDS[name].epilog


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_of_the_command_and_have_its_options(name: str) -> None:
    for example in _examples(name):
        words = _words(example)
        parts = name.split()
        assert words[: len(parts)] == parts
        COMMANDS[name].make_context(name, words[len(parts) :])


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("width", ["80", "200"])
def test_help_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch, name: str, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    result = run(*name.split(), "--help")
    assert result.code == 0
    assert not result.err
    assert max(map(len, result.out.splitlines())) <= int(width)
    flat = " ".join(result.out.split())
    assert "Usage: ggufspec " + name in flat
    assert "Exit codes: 0 done;" in flat


@pytest.mark.parametrize("name", sorted(_RUNNABLE & set(COMMANDS)))
def test_examples_run(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.gguf").write_bytes(sample.read_bytes())
    for example in _examples(name):
        result = run(*_words(example))
        # The sample has no name and no template, and `validate` may warn.
        assert result.code in (0, 1), (example, result.err)
        assert "--json" not in example or result.json


def _completed(words: str, shell: str = "bash") -> set[str]:
    """What the shell offers for the last of the words."""
    environment = {
        "_GGUFSPEC_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "_TYPER_COMPLETE_ARGS": words,
    }
    script = "import sys; sys.argv[0] = 'ggufspec'; from ggufspec.cli.app import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return set(done.stdout.split("\n"))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_shown(run: Run, shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    result = run("--show-completion", shell)
    assert result.code == 0
    assert "GGUFSPEC_COMPLETE" in result.out


def test_completion_of_commands() -> None:
    assert {"meta", "memory", "merge"} <= _completed("ggufspec me")
    assert "info" not in _completed("ggufspec me")
    assert {"set", "get"} <= _completed("ggufspec meta ")


def test_completion_of_options() -> None:
    assert {"--json", "--gpu-layers"} <= _completed("ggufspec memory --")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ggufspec types Q4", "Q4_K"),
        ("ggufspec explain GG01", "GG0101"),
        ("ggufspec info --dialect ", "ggml"),
        ("ggufspec validate --profile ", "strict"),
        ("ggufspec memory --cache-type-k Q", "Q8_0"),
        ("ggufspec quantize in out Q4_K", "Q4_K_M"),
    ],
)
def test_completion_of_names(words: str, offered: str) -> None:
    assert offered in _completed(words)
