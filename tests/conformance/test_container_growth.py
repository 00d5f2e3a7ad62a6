"""A value type and a version that nobody has: a few lines of YAML, one regenerate, no code.

Both cursors, the reader and the writer run from tables made of a copy of the specification.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ggufspec.codegen import generate
from support.build import program, run
from support.crafted import ARRAY, STRING, UINT8, Form, file
from support.project import ROOT
from support.specs import checkout, run_in

UINT128 = 13
BIG = 2**127 + 5

LINES = {
    "values.yaml": [("FLOAT64: ", "UINT128: {id: 13, kind: uint, bytes: 16, since: 4}\nFLOAT64: ")],
    "layout.yaml": [
        ("versions: [1, 2, 3]", "versions: [1, 2, 3, 4]"),
        ("    kv_count: {", "    flags: {number: u32, since: 4}\n    kv_count: {"),
    ],
}


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with the new type and version, and the cursor in C compiled from it."""
    folder = checkout(tmp_path_factory.mktemp("grown"), {})
    for name, changes in LINES.items():
        path = folder / "spec/container" / name
        text = path.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    generate.write(folder / "generated", generate.make_all(folder))
    _compile(folder)
    return folder


def _compile(folder: Path) -> None:
    stub = folder / "stub.c"
    stub.write_text('const char *ggufspec_variant(void) { return "none"; }\n', encoding="utf-8")
    version = (folder / "spec/VERSION").read_text(encoding="utf-8").strip()
    sources = [ROOT / "runtime/c" / name for name in ("scan.c", "scan_text.c", "version.c")]
    run(
        [
            *(program("gcc"), "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"),
            f'-DGGUFSPEC_SPEC_VERSION="{version}"',
            *("-I", str(ROOT / "runtime/c"), "-I", str(folder / "generated/c")),
            *(*map(str, sources), str(stub), "-o", str(folder / "libggufspec.so")),
        ]
    )


def _version_4(order: str) -> bytes:
    """A file of version 4 made by hand: its header has flags between the two counts."""
    form = Form(4, order)
    numbers = b"".join(form.number(value, 16) for value in (1, BIG))
    pairs = [
        form.pair("general.architecture", STRING, form.string("llama")),
        form.pair("a.one", UINT128, form.number(BIG, 16)),
        form.pair("a.many", ARRAY, form.array(UINT128, 2, numbers)),
        form.pair("a.last", UINT8, b"\7"),
    ]
    whole = file(pairs, form=form)
    return whole[:16] + form.u32(0xABCD) + whole[16:]


SCRIPT = """
import json, sys
from ggufspec.container import cscan
from ggufspec.container.scan import scan
from ggufspec.files.reader import open as open_file
from ggufspec.files.writer import write
path, copy = sys.argv[1:]
data = open(path, "rb").read()
answers = []
for backend in ("python", "native"):
    for profile in ("lenient", "strict"):
        found = scan(data, backend=backend, profile=profile)
        columns = found.keys
        numbers = [columns.value_type, columns.count, columns.value_end]
        answers.append([found.version, found.byte_order, found.header,
                        *(column.tolist() for column in numbers), found.first_error() is None])
with open_file(path) as f:
    many = f.metadata["a.many"]
    values = [f.metadata["a.one"], f.metadata["a.last"], *map(int, many)]
    types = [f.metadata.type_of(key) for key in ("a.one", "a.many")]
    write(copy, f.metadata, {})
prefixes = [scan(data[:n], backend=b).first_error() is not None
            for n in range(len(data)) for b in ("python", "native")]
print(json.dumps([answers, values, types, all(prefixes)]))
"""


@pytest.mark.parametrize("order", ["little", "big"])
def test_new_version_and_type(grown: Path, tmp_path: Path, order: str) -> None:
    data = _version_4(order)
    path, copy = tmp_path / "four.gguf", tmp_path / "copy.gguf"
    path.write_bytes(data)
    library = str(grown / "libggufspec.so")
    said = run_in(
        grown, SCRIPT, str(path), str(copy), GGUFSPEC_LIBRARY=library, GGUFSPEC_NATIVE="1"
    )
    answers, values, types, prefixes = json.loads(said)
    header = {"version": 4, "tensor_count": 0, "flags": 0xABCD, "kv_count": 4}
    assert answers == [answers[0]] * 4
    assert answers[0][:5] == [4, order, header, [8, UINT128, ARRAY, UINT8], [1, 1, 2, 1]]
    assert answers[0][5][-1] == len(data)
    assert answers[0][6]
    assert values == [BIG, 7, 1, BIG]
    assert types == ["UINT128", "ARRAY[UINT128]"]
    assert prefixes
    assert copy.read_bytes() == data


def test_older_versions_stay(grown: Path, tmp_path: Path) -> None:
    """Version 3 has neither the flags nor the type."""
    form = Form(3)
    path = tmp_path / "three.gguf"
    path.write_bytes(file([form.pair("a.one", UINT128, bytes(16))]))
    script = """
import sys
from ggufspec.container.scan import scan
data = open(sys.argv[1], "rb").read()
for backend in ("python", "native"):
    print(scan(data, backend=backend).first_error().rule)
"""
    library = str(grown / "libggufspec.so")
    assert run_in(grown, script, str(path), GGUFSPEC_LIBRARY=library).split() == ["GG0301"] * 2
