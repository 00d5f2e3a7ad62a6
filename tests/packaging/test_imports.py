"""The import rule: the runtime never imports the generator of its code."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.project import ROOT

RUNTIME = ROOT / "runtime" / "ggufspec"


def imported(path: Path) -> set[str]:
    """Absolute names of the modules that a file of the package imports, wherever in it."""
    package = ["ggufspec", *path.relative_to(RUNTIME).parent.parts]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *filter(None, [node.module])])
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


@pytest.mark.parametrize("path", sorted(RUNTIME.rglob("*.py")), ids=lambda path: path.stem)
def test_runtime_does_not_import_codegen(path: Path) -> None:
    for name in imported(path):
        assert not f"{name}.".startswith(("ggufspec.codegen.", "yaml.", "jsonschema."))


@pytest.mark.parametrize("path", sorted((ROOT / "generated").rglob("*.py")), ids=lambda p: p.stem)
def test_generated_code_does_not_import_codegen(path: Path) -> None:
    tree = ast.parse(path.read_text())
    froms = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in froms if "codegen" in name.split(".")]
