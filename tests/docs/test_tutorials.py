"""The tutorials are true: their Python runs, their commands are commands with these options."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ggufspec.cli.app import application
from support.project import ROOT

PAGES = sorted([*(ROOT / "docs").glob("tutorials/*.md"), *(ROOT / "docs").glob("guide/*.md")])


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the pages' programs open."""
    folder = tmp_path_factory.mktemp("models")
    ours(folder, "sample", "model.gguf")
    for name in ("a.gguf", "b.gguf", "f16.gguf", "model-F16.gguf", "q4_k_m.gguf"):
        shutil.copy(folder / "model.gguf", folder / name)
    (folder / "parts").mkdir()
    return folder


def ours(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "ggufspec", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def programs() -> list[tuple[str, str]]:
    """Every program of a page, but for T3_0 (test_walkthrough runs it) and those of servers."""
    return [
        (path.stem, program)
        for path in PAGES
        for program in blocks(path, "python")
        if "T3_0" not in program and "https://" not in program
    ]


@pytest.mark.parametrize(("page", "program"), programs(), ids=lambda text: text[:20].split("\n")[0])
def test_python_runs(page: str, program: str, models: Path, tmp_path: Path) -> None:
    shutil.copytree(models, tmp_path / page)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path / page, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def commands(path: Path) -> list[list[str]]:
    """The words of every line that calls us, up to the explanation behind two spaces."""
    lines = [line for block in blocks(path, "text") for line in block.splitlines()]
    shown = [re.split(r" {3,}", line)[0] for line in lines if line.startswith("ggufspec ")]
    return [shlex.split(line, comments=True)[1:] for line in shown]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_options_exist(path: Path) -> None:
    for line in commands(path):
        command: Any = application()
        words = list(line)
        while words and hasattr(command, "commands"):
            assert words[0] in command.commands, line
            command = command.commands[words.pop(0)]
        known = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
        used = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
        assert used <= known | {"--help"}, (line, used - known)
