"""What a wheel holds, and that it works where nothing of the checkout is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from support.project import ROOT
from support.wheels import Run, build_wheel

pytestmark = pytest.mark.slow

FOLDERS = {
    "runtime/ggufspec": "ggufspec",
    "runtime/c": "ggufspec/c",
    "codegen": "ggufspec/codegen",
    "generated": "ggufspec/generated",
    "spec": "ggufspec/spec",
}


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_holds_every_file_of_the_package(wheel: Path) -> None:
    expected = {
        f"{packaged}/{path.relative_to(ROOT / folder).as_posix()}"
        for folder, packaged in FOLDERS.items()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    packaged_names = {name for name in names(wheel) if "/_native/" not in name}
    assert {name for name in packaged_names if name.startswith("ggufspec/")} == expected


def test_installs_one_top_level_package(wheel: Path) -> None:
    tops = {name.partition("/")[0] for name in names(wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"ggufspec"}


def test_is_for_every_python_of_one_platform(wheel: Path) -> None:
    assert "-py3-none-" in wheel.name
    assert not wheel.name.endswith("-any.whl")
    assert any(name.startswith("ggufspec/_native/") for name in names(wheel))


def test_licence_and_types_are_inside(wheel: Path) -> None:
    inside = names(wheel)
    assert "ggufspec/py.typed" in inside
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in inside)


OF_THE_EXTRA = ("ggufspec.validation.templates.", "ggufspec.pages.", "ggufspec.serve.")
"""Modules that need the extras `templates`, `report` and `serve`; their packages do without."""


def test_works_without_the_generator_dependencies(installed: Run) -> None:
    program = """
import importlib.util, json, pkgutil, sys
import numpy as np
import ggufspec
from ggufspec import blocks, native
from ggufspec.registry import types
absent = [name for name in ("jinja2", "yaml", "jsonschema") if importlib.util.find_spec(name)]
hidden = [name for name in ("codegen", "generated", "spec", "runtime", "tests", "support")
          if importlib.util.find_spec(name)]
zeros = np.zeros((1, types["Q4_0"].bytes), np.uint8)
both = [blocks.dequantize(zeros, "Q4_0", backend=name).tolist() for name in ("native", "numpy")]
print(json.dumps([absent, hidden, native.describe(), both[0] == both[1]]))
"""
    absent, hidden, library, same = json.loads(
        installed("python", "-c", program, GGUFSPEC_NATIVE="1")
    )
    assert absent == []
    assert hidden == []
    assert library.startswith("libggufspec")
    assert same


def test_every_runtime_module_imports_without_the_generator(installed: Run) -> None:
    files = (ROOT / "runtime").rglob("*.py")
    dotted = (".".join(path.relative_to(ROOT / "runtime").with_suffix("").parts) for path in files)
    modules = [name.removesuffix(".__init__") for name in dotted if "__main__" not in name]
    modules = [name for name in modules if not name.startswith(OF_THE_EXTRA)]
    program = f"""
import importlib, sys
for name in {modules}:
    importlib.import_module(name)
print([name for name in sys.modules if name.startswith("ggufspec.codegen")])
"""
    assert installed("python", "-c", program).strip() == "[]"


def test_command_answers(installed: Run) -> None:
    assert "libggufspec" in installed("ggufspec", "--version")
    assert "Q4_K" in installed("ggufspec", "types", "--json")


def test_without_a_compiler_numpy_serves(
    wheel_without_compiler: Path, installed: Run, tmp_path: Path
) -> None:
    zipfile.ZipFile(wheel_without_compiler).extractall(tmp_path)
    program = """
import numpy as np
import ggufspec
from ggufspec import blocks, native
from ggufspec.registry import types
print(ggufspec.__file__)
assert native.lib() is None
print(native.describe())
print(blocks.dequantize(np.zeros((1, types["Q4_K"].bytes), np.uint8), "Q4_K").shape)
"""
    said = installed("python", "-c", program, PYTHONPATH=str(tmp_path))
    assert str(tmp_path) in said
    assert "built without a C compiler" in said
    assert "(1, 256)" in said


def test_without_a_compiler_the_wheel_is_for_every_platform(wheel_without_compiler: Path) -> None:
    assert wheel_without_compiler.name.endswith("-py3-none-any.whl")


def test_a_failed_compile_is_an_error_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no-such-compiler"):
        build_wheel(tmp_path, GGUFSPEC_NATIVE="1", CC="no-such-compiler")
