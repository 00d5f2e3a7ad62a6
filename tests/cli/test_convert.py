"""``quantize`` and ``dequantize``: the same files as llama-quantize, in little memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.generated.quantizers import QUANTIZERS
from ggufspec.recipes import visiting_order
from support import oracle, realfiles
from support.models import split_keys
from support.samples import same_bits

Run = Callable[..., Any]


@pytest.mark.parametrize("kind", ["Q4_K", "Q5_0", "Q4_0", "Q8_0"])
def test_sample_equals_ggml(run: Run, sample: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out.gguf"
    assert run("quantize", "--pure", sample, out, kind).code == 0
    with ggufspec.open(sample) as source, ggufspec.open(out) as result:
        assert list(result.tensors) == sorted(source.tensors, key=visiting_order)
        for name, tensor in result.tensors.items():
            weights = source.tensors[name].dequantize()
            if tensor.type == "F32":
                assert same_bits(tensor.dequantize(), weights)
                continue
            assert tensor.type == kind
            expected = oracle.quantize(weights, tensor.type_id)
            assert np.array_equal(tensor.data.reshape(-1), np.asarray(expected).reshape(-1))


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_dequantize_is_requantize(run: Run, sample: Path, tmp_path: Path, kind: str) -> None:
    quantized, first, second = (tmp_path / name for name in ("q.gguf", "1.gguf", "2.gguf"))
    assert run("quantize", "--pure", sample, quantized, "Q4_0").code == 0
    assert run("dequantize", quantized, first, "--type", kind.lower()).code == 0
    assert run("quantize", "--allow-requantize", quantized, second, kind).code == 0
    assert first.read_bytes() == second.read_bytes()
    with ggufspec.open(quantized) as source, ggufspec.open(first) as result:
        assert {tensor.type for tensor in result.tensors.values()} <= {kind, "F32"}
        name = "blk.2.ffn_up.weight"
        if kind == "F32":
            assert same_bits(result.tensors[name].dequantize(), source.tensors[name].dequantize())


def test_default_is_f32(run: Run, small: Path, tmp_path: Path) -> None:
    assert run("dequantize", small, tmp_path / "out.gguf").code == 0
    with ggufspec.open(tmp_path / "out.gguf") as file:
        assert file.metadata["general.file_type"] == 0


def test_threads_and_back_ends_agree(spawn: Run, sample: Path, tmp_path: Path) -> None:
    outs = []
    for number, env in enumerate([{}, {"GGUFSPEC_NATIVE": "0"}]):
        out = tmp_path / f"{number}.gguf"
        result = spawn("quantize", sample, out, "Q8_0", "--threads", str(number + 1), env=env)
        assert result.code == 0, result.err
        outs.append(out.read_bytes())
    assert outs[0] == outs[1]


def test_requantizing_is_refused_with_a_reason(run: Run, tmp_path: Path) -> None:
    result = run("quantize", realfiles.smollm2(), tmp_path / "out.gguf", "Q8_0")
    assert result.code == 2
    assert "--allow-requantize" in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["q4_k_m", "Q6_K"])
def test_quantizers_that_come_later(
    run: Run, sample: Path, tmp_path: Path, monkeypatch: Any, kind: str
) -> None:
    few = {name: QUANTIZERS[name] for name in ("Q8_0", "Q4_K")}
    monkeypatch.setattr("ggufspec.generated.quantizers.QUANTIZERS", few)
    result = run("quantize", sample, tmp_path / "out.gguf", kind)
    assert result.code == 3
    assert "comes with a later version" in result.err
    assert "hint: now there are Q8_0, Q4_K" in result.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["Q99", "NVFP4", "Q4_0_4_4", ""])
def test_types_that_are_none(run: Run, sample: Path, tmp_path: Path, kind: str) -> None:
    result = run("quantize", sample, tmp_path / "out.gguf", kind)
    assert result.code == 2
    assert "file" in result.err


def test_copy(run: Run, sample: Path, tmp_path: Path) -> None:
    assert run("quantize", sample, tmp_path / "out.gguf", "COPY").code == 0
    with ggufspec.open(sample) as source, ggufspec.open(tmp_path / "out.gguf") as result:
        assert result.metadata["general.file_type"] == source.metadata["general.file_type"]
        for name, tensor in source.tensors.items():
            assert np.array_equal(result.tensors[name].data, tensor.data)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(run: Run, tmp_path: Path, value: float) -> None:
    weights = np.ones((9000, 256), np.float32)
    weights[7000, 33] = value
    path = tmp_path / "bad.gguf"
    ggufspec.write(path, {"general.architecture": "llama"}, {"a.weight": weights})
    result = run("quantize", path, tmp_path / "out.gguf", "Q8_0")
    assert result.code == 1
    assert "tensor 'a.weight', element [7000, 33] is" in result.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["bad.gguf"]


def test_integer_weights_are_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "int.gguf"
    ggufspec.write(path, {}, {"a.weight": np.ones((2, 32), np.int32)})
    result = run("quantize", path, tmp_path / "out.gguf", "Q8_0")
    assert result.code == 3
    assert "'a.weight' has type I32" in result.err


def test_keys_of_split_sets_go(run: Run, small: Path, tmp_path: Path) -> None:
    path = tmp_path / "one.gguf"
    with ggufspec.open(small) as file:
        metadata = {
            **{key: Value(file.metadata.type_of(key), file.metadata[key]) for key in file.metadata},
            **split_keys(0, 1, 3),
        }
        ggufspec.write(path, metadata, file.tensors)
    assert run("quantize", path, tmp_path / "out.gguf", "F16").code == 0
    with ggufspec.open(tmp_path / "out.gguf") as file:
        assert not [key for key in file.metadata if key.startswith("split.")]


@pytest.mark.parametrize("byte_order", ["little", "big"])
def test_byte_order_and_alignment_stay(
    run: Run, small: Path, tmp_path: Path, byte_order: str
) -> None:
    path, out, back = (tmp_path / name for name in ("in.gguf", "q.gguf", "f.gguf"))
    with ggufspec.open(small) as file:
        ggufspec.write(path, file.metadata, file.tensors, alignment=64, byte_order=byte_order)
    assert run("quantize", "--pure", path, out, "Q4_0").code == 0
    assert run("dequantize", out, back).code == 0
    with ggufspec.open(small) as file, ggufspec.open(out) as result, ggufspec.open(back) as floats:
        assert (result.byte_order, result.alignment) == (byte_order, 64)
        assert all(tensor.offset % 64 == 0 for tensor in result.tensors.values())
        name = "blk.0.ffn_up.weight"
        expected = ggufspec.quantize(file.tensors[name].dequantize(), "Q4_0")
        assert np.array_equal(
            result.tensors[name].dequantize().reshape(-1),
            ggufspec.dequantize(expected, "Q4_0").reshape(-1),
        )
        assert same_bits(floats.tensors[name].dequantize(), result.tensors[name].dequantize())


def test_file_without_tensors(run: Run, tmp_path: Path) -> None:
    source = realfiles.vocabulary(realfiles.vocabulary_names()[0])
    assert run("quantize", source, tmp_path / "out.gguf", "Q8_0").code == 0
    with ggufspec.open(tmp_path / "out.gguf") as file:
        assert not file.tensors
        assert file.metadata["general.file_type"] == 7


@pytest.mark.parametrize("shape", [(0, 32), (4, 0), (3, 5, 64)])
def test_shapes_at_the_edge(run: Run, tmp_path: Path, shape: tuple[int, ...]) -> None:
    source, out, back = (tmp_path / name for name in ("in.gguf", "q.gguf", "f.gguf"))
    weights = np.random.default_rng(4).standard_normal(shape, np.float32)
    ggufspec.write(source, {}, {"blk.0.ffn_up_exps.weight": weights})
    assert run("quantize", source, out, "Q8_0").code == 0
    assert run("dequantize", out, back).code == 0
    assert run("compare", source, back, "--json").json["overall"]["weights"] == weights.size
    with ggufspec.open(back) as file:
        assert file.tensors["blk.0.ffn_up_exps.weight"].shape == shape
