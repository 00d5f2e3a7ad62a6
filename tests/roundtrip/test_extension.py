"""A value type and a version that nobody has heard of cost a few lines of YAML each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support.project import ROOT

VALUE_TYPE = "UINT128: {id: 13, kind: uint, bytes: 16, since: 4}\n"
LAYOUT = [
    ("versions: [1, 2, 3]", "versions: [1, 2, 3, 4]"),
    ("    kv_count:", "    flags: {number: u32, since: 4, doc: Made up.}\n    kv_count:"),
]

USE = """
import sys
from pathlib import Path
import ggufspec
from ggufspec import Value

path, copy = Path(sys.argv[1]), Path(sys.argv[2])
big = 2**127 + 1
values = {
    "one": Value("UINT128", big),
    "many": Value("ARRAY[UINT128]", [0, 1, big]),
    "nested": Value("ARRAY[ARRAY[UINT128]]", [[big], []]),
    "text": "x",
}
import numpy
tensors = {"t": numpy.arange(4, dtype="f4")}
for order in ("little", "big"):
    ggufspec.write(path, values, tensors, version=4, byte_order=order)
    data = path.read_bytes()
    flags = data.index(bytes(7) + b"\\1" if order == "big" else b"\\1" + bytes(7)) + 8
    assert data[flags : flags + 4] == bytes(4)
    data = data[:flags] + (77).to_bytes(4, order) + data[flags + 4 :]
    path.write_bytes(data)
    with ggufspec.open(path, profile="strict" if order == "little" else "lenient") as f:
        assert f.version == 4
        assert f.parts[0].scan.header["flags"] == 77
        assert f.metadata["one"] == big and f.metadata.type_of("one") == "UINT128"
        assert f.metadata["many"] == [0, 1, big]
        assert f.metadata.type_of("nested") == "ARRAY[ARRAY[UINT128]]"
        assert f.metadata["nested"] == [[big], []]
        assert f.tensors["t"].array().tolist() == [0, 1, 2, 3]
        ggufspec.write(copy, f.metadata, f.tensors)
        assert copy.read_bytes() == data
        other = "big" if order == "little" else "little"
        ggufspec.write(copy, f.metadata, f.tensors, byte_order=other)
        with ggufspec.open(copy) as g:
            assert g.metadata["many"] == [0, 1, big]
            ggufspec.write(copy, g.metadata, g.tensors, byte_order=order)
        assert copy.read_bytes() == data
try:
    ggufspec.write(path, values, version=3)
except ValueError as error:
    assert "version 3 has no value type 'UINT128'" in str(error)
else:
    raise AssertionError
print("done")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What runs a copy of the package whose specification was changed and generated again."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "ggufspec"
    shutil.copytree(ROOT / "runtime/ggufspec", package)
    for part in ("codegen", "generated", "spec"):
        shutil.copytree(ROOT / part, package / part)
    shutil.copytree(ROOT / "runtime/c", package / "c")
    with (package / "spec/container/values.yaml").open("a") as values:
        values.write(VALUE_TYPE)
    layout = package / "spec/container/layout.yaml"
    text = layout.read_text()
    for old, new in LAYOUT:
        assert old in text
        text = text.replace(old, new)
    layout.write_text(text)
    libraries = sysconfig.get_path("purelib")
    found = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{libraries}", "GGUFSPEC_NATIVE": "0"}
    found.pop("GGUFSPEC_LIBRARY", None)
    generate = (
        "from pathlib import Path; from ggufspec.codegen.generate import make_all, write;"
        f"root = Path({str(package)!r}); write(root / 'generated', make_all(root))"
    )
    # -S leaves out the editable install's import hook, which would find the checkout first.
    subprocess.run([sys.executable, "-S", "-c", generate], env=found, check=True)
    return found


def test_reader_and_writer_follow_the_specification(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-S", "-c", USE, str(tmp_path / "a.gguf"), str(tmp_path / "b.gguf")]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "done\n"
