"""Spec trees for tests: small ones, and whole checkouts with more types, made and run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np

from ggufspec.codegen import generate
from ggufspec.codegen.model import BlockType
from ggufspec.codegen.output import Output
from ggufspec.codegen.spec import Spec, load_spec
from ggufspec.codegen.targets import TARGETS
from support.project import ROOT, SPEC

BASE = ROOT / "tests/codegen/base"
"""Tables and one good type for small trees."""

MADE_UP = ROOT / "tests/codegen/made_up"
"""Types and tables that no ggml has, for every part of the language."""


@cache
def real_spec() -> Spec:
    """The spec of this checkout, loaded once."""
    return load_spec(SPEC)


def small_tree(folder: Path, files: Mapping[str, bytes]) -> Path:
    """A spec under ``folder``: the real scalars and schemas, BASE, and files by relative path."""
    root = folder / "spec"
    shutil.copytree(BASE, root)
    (root / "schema").symlink_to(SPEC / "schema")
    shutil.copy(SPEC / "scalars.yaml", root)
    (root / "VERSION").write_text("1.0.0\n", encoding="utf-8")
    for name, content in files.items():
        (root / name).write_bytes(content)
    return root


def outputs(target: str, kind: BlockType, spec: Spec) -> list[Output]:
    """What a target makes of one type alone."""
    alone = Spec(spec.root, spec.version, spec.scalars, spec.tables, (kind,))
    return TARGETS[target](alone)


def numpy_module(kind: BlockType, spec: Spec) -> ModuleType:
    """The NumPy back end of one type, made and loaded without a file."""
    bodies = {output.path: output.body for output in outputs("numpy", kind, spec)}
    tables = ModuleType("tables")
    exec(bodies["numpy/tables.py"], tables.__dict__)
    text = bodies[f"numpy/{kind.name.lower()}.py"]
    lines = [line for line in text.splitlines() if "numpy.tables import" not in line]
    module = ModuleType(kind.name.lower())
    module.__dict__.update(vars(tables))
    exec("\n".join(lines), module.__dict__)
    return module


# ---- whole checkouts


def checkout(folder: Path, types: Mapping[str, str], tables: Iterable[Path] = ()) -> Path:
    """A copy of the spec with more types (file name -> text), and all that is made from it."""
    shutil.copytree(SPEC, folder / "spec")
    for name, text in types.items():
        (folder / "spec/types" / name).write_text(text, encoding="utf-8")
    for path in tables:
        shutil.copy(path, folder / "spec/tables")
    generate.write(folder / "generated", generate.make_all(folder))
    return folder


def run_in(folder: Path, script: str, *arguments: str, **environment: str) -> str:
    """Run Python with the runtime of this checkout on the generated code of another.

    Without ``site`` no import hook of an editable install is there to prefer our own.
    """
    overlay = folder / "site/ggufspec"
    if not overlay.exists():
        overlay.mkdir(parents=True)
        for entry in (ROOT / "runtime/ggufspec").iterdir():
            (overlay / entry.name).symlink_to(entry)
        (overlay / "generated").symlink_to(folder / "generated")
    packages = Path(np.__file__).parents[1]
    paths = os.pathsep.join(map(str, (overlay.parent, packages)))
    done = subprocess.run(
        [sys.executable, "-S", "-B", "-W", "error", "-c", script, *arguments],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
