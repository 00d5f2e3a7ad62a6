"""SmolLM2, quantized and decoded: whole files against those that llama-quantize wrote."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.jobs.convert import carry_out, make_plan
from support import oracle, realfiles

Run = Callable[..., Any]

GOLDEN = {
    "F16": "a269e3181fcbb25046f99f64ba8d3c159165b211c2ff4ffca7ba1bb219d2ccd0",
    "BF16": "336b91e774ca987f046e3266dc1a292a6749b847351b1e59bcce75c59d3c2b01",
    "Q4_0": "5ba170526794902da0dd135b235a1627c1eb0aa02a93e3a18b4bbeae783b929c",
    "Q4_1": "941f309b54caaad6747569ba43712bcde44a2be3bae16c3282ff499c37c54af5",
    "Q5_0": "f846dfb1f0f58beda304b1bbfdb4c6e85d0dada17c9a067bb693812393a92c26",
    "Q8_0": "f7933c716a5b5334c54b997d1f6db3f38a0786c9046ac5f46311b396a3f1fe54",
    "Q2_0": "8ba7515d6958c0bc40de7f7b708d146777c6aac19078b5f8b5ad54001d86fc18",
    "TQ1_0": "a89323f1571ded7d5156ff262a9ea7bac3239128c666e79a1e3035eb64784fbc",
    "TQ2_0": "ed448a8f0a6036e6ecf3a83eaf200915cab8e927c4af975f9b6e30816dcac9ee",
    "MXFP4_MOE": "7cf00e0078fc67d7f70a21019d275be46d94711e5903068774182819cb5520e8",
    "Q3_K_S": "9167e4b781536d3629f2fd56dd7706fbc06e7f976c70384d5d2cd643681f0528",
    "Q3_K_M": "5b429f751e69e6de05185492bd40ae38f33fc17a87c59954e616d4afc086ea1c",
    "Q4_K_S": "cff71c7fd9d44a3ce339c6313e2ed4e42681dee8568eb5c9a20e327cded65a8f",
    "Q4_K_M": "27e1496775b07d69415cc5b6658f448ded3829cd2d769473cf2781e77d020b19",
    "Q5_K_M": "7378a40b95ecd219f48a7edbc743dc58dc5adb9923460f70fb4843c681bb0289",
    "Q6_K": "e02e2a90bcca06262eec989c276d985b15c3f307a65304b64e213748367ef948",
    "IQ4_NL": "ed65a69d6ceb29d0ca15f304d2ade6d417b8229c53728a051dbdbbab6a59c894",
}
"""sha256 of whole files of llama-quantize (ggml 0.25.3) by file type, without an importance matrix.

F16 is made of SmolLM2-135M-Instruct.Q4_1.gguf by --allow-requantize, the others from that.
"""


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 in F16, which the golden files were made from."""
    path = tmp_path_factory.mktemp("smollm2") / "f16.gguf"
    with ggufspec.open(realfiles.smollm2()) as source:
        carry_out(make_plan(source, "F16", allow_requantize=True), path)
    return path


@pytest.mark.parametrize("kind", GOLDEN)
def test_golden_files(run: Run, smollm2: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out.gguf"
    result = run("quantize", smollm2, out, kind)
    assert result.code == 0, result.err
    assert sha256(out) == GOLDEN[kind]
    out.unlink()


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
