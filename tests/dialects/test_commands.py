"""Dialects on the command line, and a specification of one's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import crafted, forks, interpreter
from support.command import command
from support.forks import Entry, entry, model, plain
from support.project import ROOT, SPEC
from support.samples import first_difference

MADE_UP = ROOT / "tests/codegen/made_up"
DIALECT = """
name: mine
doc: a made-up fork
verified: true
source: its maker
types:
  - {id: 77, type: M3_48}
  - {id: 42, type: GRIDS}
  - {id: 78, name: SIZED, elements: 32, bytes: 9, tensor_suffix: 3}
"""


def run(*arguments: str | Path, code: int = 0) -> str:
    """Standard output of the command in a process of its own, standard error where it fails."""
    done = command(*arguments, COLUMNS="400")
    assert done.returncode == code, done.stdout + done.stderr
    return done.stderr if code == 2 else done.stdout


def run_json(*arguments: str | Path) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with two made-up types, a table, and a dialect that numbers them."""
    folder = tmp_path / "own"
    for kind, names in (("types", ["m3_48", "grids"]), ("tables", ["small_grid", "levels"])):
        (folder / kind).mkdir(parents=True)
        for name in names:
            (folder / kind / f"{name}.yaml").write_bytes(
                (MADE_UP / kind / f"{name}.yaml").read_bytes()
            )
    (folder / "dialects").mkdir()
    (folder / "dialects/mine.yaml").write_text(DIALECT, encoding="utf-8")
    return folder


def test_info(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(model([entry("w", [512], 142, "PQ2_0")]))
    shown = run("info", path)
    assert "dialect prism" in shown
    assert "PQ2_0 (142)" in shown
    record = run_json("info", path)
    assert (record["dialect"], record["dialects"]) == ("prism", ["prism"])
    assert [note["rule"] for note in record["notes"]] == ["GG1602"]
    assert record["tensors"][0]["type"] == "PQ2_0"


def test_ambiguity(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(model([entry("w", [256], 42, "Q2_0")]))
    assert "may be that of ggml, prism-early" in run("info", path)
    assert run_json("info", path)["dialects"] == ["ggml", "prism-early"]
    assert run_json("info", path, "--dialect", "prism-early")["tensors"][0]["type"] == "PQ2_0"
    assert "GG1601" in run("validate", path)
    assert "GG1601" not in run("validate", path, "--dialect", "ggml")
    assert "known: ggml" in run("info", path, "--dialect", "nobody", code=2)


def test_types() -> None:
    assert "bitnet.cpp: id 36" in run("types", "I2_S")
    assert run_json("types", "STQ1_0")["dialects"] == [
        {"name": "tencent", "id": 42, "verified": True},
        {"name": "tencent", "id": 43, "verified": True},
    ]


def test_types_of_known_size() -> None:
    """What nothing describes is shown with its sizes."""
    shown = run("types", "iq4_ks")
    assert "IQ4_KS (id 144 of ik_llama.cpp)" in shown
    assert "256 weights in 136 bytes, 4 bytes in front of each row" in shown
    assert "nothing says what it stores" in run("types", "TL1")
    (record,) = run_json("types", "IQ4_KS")
    assert (record["dialect"], record["bytes"], record["row_prefix"]) == ("ik_llama.cpp", 136, 4)
    assert "there is no type" in run("types", "IQ4_KX", code=2)


def test_own_types_decode(own: Path, tmp_path: Path) -> None:
    """Types of a folder of one's own: sizes, names and values, through NumPy made in memory."""
    size = 19 * 10 + 4
    data = np.random.default_rng(5).bytes(3 * size)
    path = tmp_path / "m.gguf"
    path.write_bytes(model([plain("a"), Entry("w.weight", [480, 3], 77, data), plain("z")]))
    assert run_json("info", path)["tensors"][1]["type"] == "UNKNOWN(77)"
    record = run_json("--spec-dir", own, "info", path)
    assert record["dialect"] == "mine"
    assert record["tensors"][1]["type"] == "M3_48"
    assert record["tensors"][1]["nbytes"] == 3 * size

    script = f"""
import numpy as np, ggufspec
from pathlib import Path
from ggufspec.codegen.extension import extend
extend(Path({str(own)!r}))
with ggufspec.open({str(path)!r}) as f:
    np.save({str(tmp_path / "values.npy")!r}, f.tensors["w.weight"].dequantize())
assert "M3_48" in ggufspec.types and "GRIDS" in ggufspec.types
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    kind = interpreter.read(MADE_UP / "types/m3_48.yaml", SPEC)
    expected = []
    for start in range(0, len(data), size):
        row = data[start : start + size]
        for at in range(4, size, 19):
            block = interpreter.Stored(row[at : at + 19], row[:4], b"", "little")
            expected.append(interpreter.decode(kind, block))
    found = np.load(tmp_path / "values.npy")
    assert first_difference(found.reshape(-1), np.concatenate(expected)) is None

    out = tmp_path / "f32.gguf"
    run("--spec-dir", own, "dequantize", path, out)
    assert run_json("info", out)["tensors"][1]["type"] == "F32"


def test_data_of_own_types(own: Path, tmp_path: Path) -> None:
    """What a type of one's own calls invalid is found, here in front of a row."""
    rows = np.random.default_rng(6).integers(0, 256, (4000, 19 * 10 + 4), np.uint8)
    rows[:, :4] = np.array([1.5], "<f4").view(np.uint8)
    entries = [plain("a"), Entry("w.weight", [480, len(rows)], 77, rows.tobytes()), plain("z")]
    path = tmp_path / "m.gguf"
    validate = ("--spec-dir", own, "validate", path, "--data", "--checks", "structure")
    path.write_bytes(model(entries))
    told = [f["rule"] for f in run_json(*validate)["files"][0]["findings"]]
    assert not [rule for rule in told if rule.startswith("GG15")]
    rows[[7, 3999], :4] = np.array([np.nan], "<f4").view(np.uint8)
    entries[1] = Entry("w.weight", [480, len(rows)], 77, rows.tobytes())
    path.write_bytes(model(entries))
    report = json.loads(run(*validate, "--json", code=1))
    (finding,) = [f for f in report["files"][0]["findings"] if f["rule"] == "GG1502"]
    start = path.read_bytes().index(rows[0].tobytes())
    places = [start + 194 * row for row in (7, 3999)]
    assert finding["offset"] == places[0]
    assert "2 scales" in finding["message"]
    assert "the first in the bytes in front of row 7; " in finding["message"]
    assert finding["message"].endswith(f"bytes of the file: {places[0]}, {places[1]}")


def test_own_dialect_joins_the_collision(own: Path, tmp_path: Path) -> None:
    """Type 42 has one meaning more, and the sizes decide among all."""
    path = tmp_path / "m.gguf"
    path.write_bytes(model([plain("a"), entry("w", [2048, 2], 42, "Q2_0"), plain("z")]))
    assert run_json("--spec-dir", own, "info", path)["dialect"] == "ggml"
    path.write_bytes(model([Entry("w", [320], 78, bytes(10 * 9 + 3))]))
    record = run_json("--spec-dir", own, "info", path)
    assert (record["dialect"], record["tensors"][0]["type"]) == ("mine", "SIZED")


def test_own_types_are_described(own: Path) -> None:
    shown = run("--spec-dir", own, "types", "M3_48")
    assert "mine: id 77" in shown
    assert "m3_48.yaml" in shown
    assert "M3_48" not in run("types")


def test_whole_spec_as_folder(tmp_path: Path) -> None:
    """A copy of the package's own specification adds nothing and hurts nobody."""
    path = tmp_path / "m.gguf"
    path.write_bytes(model([entry("w", [512], 142, "PQ2_0")]))
    assert run_json(f"--spec-dir={SPEC}", "info", path)["dialect"] == "prism"


def test_a_new_type_of_ggml(tmp_path: Path) -> None:
    """A type with a number of ggml's own needs no dialect."""
    text = (MADE_UP / "types/lanes.yaml").read_text(encoding="utf-8")
    (tmp_path / "own/types").mkdir(parents=True)
    live = text.replace("status: fork", "id: 60\nstatus: live")
    (tmp_path / "own/types/lanes.yaml").write_text(live, encoding="utf-8")
    for name in ("levels", "small_grid"):
        (tmp_path / "own/tables").mkdir(exist_ok=True)
        table = (MADE_UP / f"tables/{name}.yaml").read_bytes()
        (tmp_path / f"own/tables/{name}.yaml").write_bytes(table)
    kind = interpreter.read(MADE_UP / "types/lanes.yaml", MADE_UP)
    dims, size = [kind.data["elements"]], kind.data["bytes"]
    path = tmp_path / "m.gguf"
    path.write_bytes(model([Entry("w", dims, 60, bytes(size)), plain("z")]))
    record = run_json("--spec-dir", tmp_path / "own", "info", path)
    assert (record["dialect"], record["tensors"][0]["type"]) == ("ggml", "LANES")
    assert record["tensors"][0]["nbytes"] == size
    verdict = run_json("--spec-dir", tmp_path / "own", "validate", path, "--profile", "ggml")
    assert verdict["files"][0]["verdict"] == "valid"
    (tmp_path / "own/types/lanes.yaml").write_text(live.replace("60", "12"), encoding="utf-8")
    told = run("--spec-dir", tmp_path / "own", "types", code=2)
    assert "Q4_K has this id already" in told


FAULTS = {
    "types/q4_k.yaml": ("name: M3_48", "name: Q4_K", "there is a type Q4_K already"),
    "types/m3_48.yaml": ("bytes: 19", "bytes: 20", "the fields add up to 19, not 20"),
    "dialects/mine.yaml": ("M3_48", "NOTHING", "the spec has no layout NOTHING"),
    "dialects/ggml.yaml": ("name: mine", "name: ggml", "there is a dialect ggml already"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_told(name: str, own: Path) -> None:
    """With file and line, before the command starts; nothing is added."""
    old, new, message = FAULTS[name]
    source = own / ("dialects/mine.yaml" if name.startswith("dialects") else "types/m3_48.yaml")
    text = source.read_text(encoding="utf-8").replace(old, new)
    (own / name).write_text(text, encoding="utf-8")
    told = " ".join(run("--spec-dir", own, "types", code=2).split())
    assert message in told.replace("│ ", "")
    assert name in told


def test_missing_folder(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        assert "not a folder" in run("--spec-dir", tmp_path / name, "types", code=2)
    assert "not a folder" in run("--spec-dir", "", "types", code=2)


def test_names_turn_no_text_around(own: Path) -> None:
    (own / "dialects/\u202ea.yaml").mkdir()
    told = run("--spec-dir", own, "types", code=2)
    assert "\u202e" not in told
    assert "\\u202ea.yaml:1: (top): not a regular file" in told
    told = run("--spec-dir", own / "\u202e", "types", code=2)
    assert "\u202e" not in told


def test_options_that_nobody_has() -> None:
    assert "--bogus" in run("--bogus", "types", code=2)


def test_layouts_of_the_spec_are_the_facts() -> None:
    """Sizes of the fork types in the table are those of their descriptions."""
    from ggufspec.registry import types

    for name in ("PQ2_0", "STQ1_0", "PTQ1_0", "I2_S"):
        info = types[name].info
        found = (info.elements, info.bytes, info.row_prefix, info.tensor_suffix)
        assert found == forks.SIZES[name], name
        assert info.id is None


@pytest.mark.parametrize(("layout", "dialect"), [("PQ2_0", "prism-early"), ("STQ1_0", "tencent")])
def test_a_number_cannot_mean_two_types(layout: str, dialect: str, tmp_path: Path) -> None:
    """What stays has the fork's type 42, so nothing becomes ggml's."""
    path, out = tmp_path / "m.gguf", tmp_path / "out.gguf"
    values = np.random.default_rng(1).normal(0, 1, 512 * 4).astype("<f4")
    plain_one = Entry("blk.0.ffn_up.weight", [512, 4], crafted.F32, values.tobytes())
    path.write_bytes(model([entry("w", [4096], 42, layout), plain_one]))
    done = command("quantize", path, out, "Q2_0")
    said = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert f"stays {layout}, but both have type number 42" in said
    assert not out.exists()
    run("quantize", path, out, "Q8_0")
    assert run_json("info", out)["dialect"] == dialect
