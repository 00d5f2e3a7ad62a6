"""What spec/tools.yaml says of installed packages is what they do."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest

from ggufspec.codegen.spec import load_spec
from ggufspec.codegen.tools import Tool, load_tools
from ggufspec.generated.types import TYPES
from support import oracle
from support.project import SPEC

TOOLS = {tool.name: tool for tool in load_tools(load_spec(SPEC))}

GGUF_PY = """
import numpy as np, gguf
from gguf import quants
for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
    for what, data in (("decodes", np.zeros((1, size), np.uint8)),
                       ("quantizes", np.ones((1, elements), np.float32))):
        try:
            (quants.dequantize if what == "decodes" else quants.quantize)(data, kind)
        except NotImplementedError:
            continue
        print(what, kind.name)
"""

LIBGGUF = """
import numpy as np, gguf, libgguf
for kind, (elements, size) in gguf.GGML_QUANT_SIZES.items():
    for what, call, data in (
        ("decodes", libgguf.dequantize_rows, np.zeros((1, size), np.uint8)),
        ("quantizes", libgguf.quantize_rows, np.ones((1, max(elements, 256)), np.float32)),
    ):
        try:
            call(data, kind)
        except (ValueError, NotImplementedError):
            continue
        print(what, kind.name)
"""

ASKED = {"gguf-py": GGUF_PY, "libgguf": LIBGGUF}


@pytest.mark.parametrize("name", ASKED)
def test_python_packages(name: str) -> None:
    tool = TOOLS[name]
    assert version(tool.installed) == tool.version
    done = subprocess.run(
        [sys.executable, "-c", ASKED[name]], capture_output=True, text=True, check=True
    )
    found = [line.split() for line in done.stdout.splitlines()]
    assert {kind for what, kind in found if what == "decodes"} == tool.decodes
    assert {kind for what, kind in found if what == "quantizes"} == tool.quantizes


def test_ggml() -> None:
    tool: Tool = TOOLS["ggml"]
    assert version(tool.installed).startswith(tool.version.split()[0])
    names = {kind.id: kind.name for kind in TYPES if kind.id is not None}
    decodes = {names[number] for number, traits in oracle.types().items() if traits.has_to_float}
    assert decodes | {"F32"} == tool.decodes  # F32 is copied


def test_ours_are_no_fewer() -> None:
    for tool in TOOLS.values():
        assert tool.decodes <= {kind.name for kind in TYPES if kind.elements}
