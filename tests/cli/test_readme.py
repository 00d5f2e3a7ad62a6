"""The README is true: its commands run, its Python runs, its example is a type."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from ggufspec.cli.app import BUILT_IN
from ggufspec.generated.quantizers import QUANTIZERS
from support.project import ROOT, SPEC
from support.specs import run_in

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def python(*arguments: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_and_python(tmp_path: Path) -> None:
    [shell], [program] = blocks("sh"), blocks("python")
    for line in shell.splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "ggufspec"
        python("-m", "ggufspec", *words[1:], folder=tmp_path)
    out = python("-c", program, folder=tmp_path)
    assert out.startswith("llama 39 tensors\nF16 (256, 256) 131072\nlargest error 0.")
    assert out.endswith("\nvalid\n4.5 bits per weight\n")


def test_every_command_is_shown() -> None:
    for name in BUILT_IN:
        assert f"ggufspec {name} " in TEXT or f"ggufspec {name}\n" in TEXT


def test_adding_a_type(tmp_path: Path) -> None:
    """One file and one command in a copy of the specification give a type that works."""
    shutil.copytree(SPEC, tmp_path / "spec")
    [example] = blocks("yaml")
    name = re.search(r"`(spec/types/\w+\.yaml)`", TEXT)
    assert name is not None
    (tmp_path / name[1]).write_text(example, encoding="utf-8")
    python("-m", "ggufspec", "generate", "--fix", "--root", ".", folder=tmp_path)
    page = run_in(tmp_path, "from ggufspec.cli import main; main()", "types", "t3_0")
    assert "T3_0 (no id of ggml's, fork): 3-bit" in page
    use = """
import numpy as np, ggufspec
data = np.array([[0, 0x3C, 3, *bytes(11)]], np.uint8)
print(ggufspec.dequantize(data, "T3_0", backend="numpy")[0, :2])
"""
    assert run_in(tmp_path, use) == "[-1. -4.]\n"


def test_listed_quantizers_are_there() -> None:
    listed = re.search(r"^\| quantization to (.*?) \|", TEXT, re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split(", ")) == set(QUANTIZERS)
