"""SmolLM2, quantized and decoded: whole files against those that llama-quantize wrote."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.jobs.convert import Options, carry_out, make_plan
from support import oracle, realfiles

Run = Callable[..., Any]

DATA = Path(__file__).parents[1] / "data"
GOLDEN: dict[str, Any] = json.loads((DATA / "golden-files.json").read_text("utf-8"))
"""sha256 of whole files that llama-quantize wrote (ggml 0.25.3), by file type."""

IMATRIX = "models/smol.imatrix.gguf"
"""The path of the importance matrix, which stands in the files."""


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 in F16, which the golden files were made from."""
    path = tmp_path_factory.mktemp("smollm2") / "f16.gguf"
    with ggufspec.open(realfiles.smollm2()) as source:
        carry_out(make_plan(source, "F16", Options(allow_requantize=True)), path)
    assert sha256(path) == GOLDEN["input"]["f16_sha256"]
    return path


@pytest.fixture
def matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The importance matrix under the path that llama-quantize was given."""
    monkeypatch.chdir(tmp_path)
    Path(IMATRIX).parent.mkdir()
    shutil.copy(DATA / "smollm2-135m.imatrix.gguf", IMATRIX)
    assert sha256(Path(IMATRIX)) == GOLDEN["input"]["imatrix_sha256"]
    return IMATRIX


@pytest.mark.parametrize("kind", GOLDEN["without_imatrix"])
def test_golden_files(run: Run, smollm2: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out.gguf"
    result = run("quantize", smollm2, out, kind)
    assert result.code == 0, result.err
    assert is_golden(out, GOLDEN["without_imatrix"][kind])


@pytest.mark.parametrize("kind", GOLDEN["with_imatrix"])
def test_golden_files_with_a_matrix(
    run: Run, smollm2: Path, matrix: str, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / "out.gguf"
    result = run("quantize", smollm2, out, kind, "--imatrix", matrix)
    assert result.code == 0, result.err
    assert is_golden(out, GOLDEN["with_imatrix"][kind])


def is_golden(out: Path, wanted: Any) -> bool:
    """Compare, and make room."""
    size, found = out.stat().st_size, sha256(out)
    out.unlink()
    return (size, found) == (wanted["bytes"], wanted["sha256"])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("Q8_0", {"Q8_0": 211}), ("Q4_0", {"Q4_0": 211}), ("Q4_K", {"Q4_K": 30, "Q5_0": 181})],
)
def test_pure_is_ggml_tensor_by_tensor(
    run: Run, smollm2: Path, tmp_path: Path, kind: str, expected: dict[str, int]
) -> None:
    """Rows of 576 that a block of 256 does not divide take the fallback; 61 tensors stay F32."""
    out = tmp_path / "out.gguf"
    told = run("quantize", "--pure", smollm2, out, kind, "--json").json
    assert Counter(tensor["to"] for tensor in told["tensors"]) == {**expected, "F32": 61}
    fell_back = sum(tensor["fallback_from"] == kind for tensor in told["tensors"])
    assert fell_back == expected.get("Q5_0", 0)
    with ggufspec.open(smollm2) as source, ggufspec.open(out) as result:
        assert list(result.metadata)[-2:] == ["general.quantization_version", "general.file_type"]
        assert Counter(t.type for t in result.tensors.values()) == {**expected, "F32": 61}
        for name, tensor in result.tensors.items():
            if tensor.type == "F32":
                assert np.array_equal(tensor.data, source.tensors[name].data), name
                continue
            weights = source.tensors[name].dequantize()
            theirs = oracle.quantize(weights, tensor.type_id)
            assert np.array_equal(tensor.data.reshape(-1), np.asarray(theirs).reshape(-1)), name


PEAK = """
import atexit, resource
def tell():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print("peak", status["VmHWM"].split()[0])
import numpy, rich.table, ggufspec, ggufspec.jobs.convert
ggufspec.dequantize(ggufspec.quantize(numpy.ones((1, 32), "f4"), "Q8_0"), "Q8_0")
with open("/proc/self/clear_refs", "w") as file: file.write("5")
tell()
atexit.register(tell)
"""


def test_memory_does_not_grow_with_the_model(spawn: Run, smollm2: Path, tmp_path: Path) -> None:
    result = spawn("quantize", smollm2, tmp_path / "out.gguf", "Q8_0", script=PEAK)
    assert result.code == 0, result.err
    before, after = (
        int(line.split()[1]) for line in result.out.splitlines() if line.startswith("peak")
    )
    assert after - before < 64 << 10, f"{after - before} kB for a model of 271 MB"
