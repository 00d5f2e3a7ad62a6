"""What docs/tutorials/add-a-type.md gives to be copied, and a spec that lacks Q2_0."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from support.project import ROOT, SPEC

PAGE = ROOT / "docs/tutorials/add-a-type.md"

NAMING = {
    "recipes/file_types.yaml": ("  Q2_0: {id: 41, type: Q2_0}\n", "    Q2_0: Q2_0\n"),
    "recipes/rules.yaml": (", Q2_0", "    Q2_0: Q4_0\n"),
    "tools.yaml": (", Q2_0",),
}
"""The text about Q2_0 in the files of the spec that name it, besides its own."""


def fenced(path: Path, language: str) -> list[str]:
    """The blocks of a page in one language."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def given(start: str) -> str:
    """The page's YAML that starts with this."""
    (found,) = (block for block in fenced(PAGE, "yaml") if block.startswith(start))
    return found


def t3_0() -> str:
    """The page's made-up type, with the section that lets it be quantized to."""
    return given("name: T3_0") + given("quantize:")


def q2_0() -> str:
    """Q2_0 as the page finishes its draft."""
    return given("id: 42")


def spec_without_q2_0(folder: Path) -> Path:
    """A copy of the spec that never heard of Q2_0."""
    root = folder / "spec"
    shutil.copytree(SPEC, root, ignore=shutil.ignore_patterns("conformance"))
    (root / "types/q2_0.yaml").unlink()
    for name, parts in NAMING.items():
        text = (root / name).read_text(encoding="utf-8")
        for part in parts:
            count = text.count(part)
            text = text.replace(part, "")
            assert count, (name, part)
        (root / name).write_text(text, encoding="utf-8")
    return root


def put_back(root: Path) -> None:
    """The entries of Q2_0 in the files that name it."""
    for name in NAMING:
        shutil.copy(SPEC / name, root / name)
