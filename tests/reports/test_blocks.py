"""Public bug reports about blocks: decoding, quantizing, importance; named after their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ggufspec
from ggufspec import blocks
from ggufspec.blocks.rows import Backend
from ggufspec.generated.quantizers import QUANTIZERS
from support import oracle
from support.command import command
from support.crafted import ARCHITECTURE, F32, V3, file
from support.rules import errors
from support.samples import LAYOUTS, block_samples, first_difference, same_bits

Floats = npt.NDArray[np.float32]

KINDS = [name for name in QUANTIZERS if ggufspec.types[name].id is not None]
WEIGHTED = ("Q2_K", "Q4_K", "Q5_K", "IQ4_NL")
BACKENDS: tuple[Backend, ...] = ("numpy", "native")
SMALLEST = float(np.finfo(np.float32).tiny)


def _needs_importance(name: str) -> bool:
    return bool(oracle._lib().ggml_quantize_requires_imatrix(ggufspec.types[name].id))


def _weights(name: str, size: int) -> Floats | None:
    return np.ones(size, np.float32) if _needs_importance(name) else None


def _row(size: int = 256) -> Floats:
    return np.random.default_rng(46).normal(0, 1, (1, size)).astype(np.float32)


@pytest.mark.parametrize("name", LAYOUTS)
def test_r27_byte_order_of_every_block_type(name: str) -> None:
    """Little to big and back is what it was, and both decode to the same values."""
    kind = ggufspec.types[name]
    data = block_samples(kind)["random"][:64]
    swapped = blocks.byteswap(data, name)
    assert (blocks.byteswap(swapped, name) == data).all()
    if not kind.info.row_prefix and not kind.info.tensor_suffix:
        little = blocks.dequantize(data, name)
        assert same_bits(blocks.dequantize(swapped, name, byte_order="big"), little)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", KINDS)
def test_r46_zeros_and_what_is_almost_zero(name: str, backend: Backend) -> None:
    """A finite input never gives a NaN; zeros decode to zeros where ggml's do."""
    one = np.zeros(256, np.float32)
    one[7] = 1e-45
    signs = np.where(np.arange(256) % 2, 1, -1) * 1.17549435e-37
    rows = np.stack([np.zeros(256), np.full(256, 1e-38), np.full(256, SMALLEST), one, signs])
    x = rows.astype(np.float32)
    made = ggufspec.quantize(x, name, _weights(name, 256), backend=backend)
    assert (made == oracle.quantize(x, ggufspec.types[name].id, _weights(name, 256))).all()
    assert np.isfinite(blocks.dequantize(made, name)).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("what", ["zeros", "all but one", "tiny", "part"])
def test_r47_importance_of_nothing(name: str, what: str, backend: Backend) -> None:
    weights = np.zeros(256, np.float32)
    if what == "all but one":
        weights[100] = 1
    elif what == "tiny":
        weights[:] = 1e-38
    elif what == "part":
        weights[:32] = 1
    for x in (_row(), _row() * np.float32(1e-11)):
        made = ggufspec.quantize(x, name, weights, backend=backend)
        assert np.isfinite(blocks.dequantize(made, name)).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_r47_importance_that_is_no_number(value: float) -> None:
    weights = np.ones(256, np.float32)
    weights[5] = value
    with pytest.raises(ValueError, match="importance"):
        ggufspec.quantize(_row(), "Q4_K", weights)


def test_r49_a_scale_that_is_no_number_is_found() -> None:
    """Q6_K with a NaN scale over codes of zeros: the tensor and its place are named."""
    kind = ggufspec.types["Q6_K"]
    data = ggufspec.quantize(np.zeros((17, 256), np.float32), "Q6_K")
    data[3, kind.bytes - 2 :] = (0x00, 0x7E)
    info = V3.tensor("token_embd.weight", [256, 17], kind.id or 0)
    report = ggufspec.validate(file([ARCHITECTURE], [info], data.tobytes()), data=True)
    (found,) = (f for f in report.findings if f.rule == "GG1502")
    assert "token_embd.weight" in found.message
    assert found.offset is not None


@pytest.mark.parametrize(
    ("name", "data", "rule"),
    [
        ("F32", np.float32([0] * 5 + [np.nan] + [0] * 26).tobytes(), "GG1501"),
        ("F32", np.float32([0] * 31 + [np.inf]).tobytes(), "GG1501"),
        ("F16", b"\x00\x7c" * 32, "GG1501"),
        ("BF16", b"\x80\x7f" * 32, "GG1501"),
        ("MXFP4", b"\xff" + bytes(16), "GG1503"),
        ("NVFP4", b"\x7f" * 4 + bytes(32), "GG1503"),
    ],
)
def test_r50_values_and_scales_that_are_not_finite(name: str, data: bytes, rule: str) -> None:
    kind = ggufspec.types[name]
    dims = [kind.elements if kind.elements > 1 else 32]
    made = file([ARCHITECTURE], [V3.tensor("t", dims, kind.id or 0)], data)
    assert rule in errors(made, data=True)
    assert rule not in errors(made)


def test_r50_quantizing_stops_and_says_where(tmp_path: Path) -> None:
    x = _row(512).reshape(2, 256)
    x[1, 5] = np.nan
    with pytest.raises(ValueError, match=r"\[1, 5\] is nan") as raised:
        ggufspec.quantize(x, "Q8_0")
    error: Any = raised.value
    assert (error.row, error.column) == (1, 5)
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    path.write_bytes(file([ARCHITECTURE], [V3.tensor("blk.0.w.weight", [256, 2])], x.tobytes()))
    done = command("quantize", path, out, "Q8_0")
    assert done.returncode != 0
    assert "blk.0.w.weight" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "x"),
    [
        ("F16", np.full(32, 70000.0)),
        ("Q8_0", np.full(32, 1e7)),
        ("Q4_0", np.full(32, 8 * 65504.0 + 64 * 65504)),
        ("Q4_K", np.linspace(-1e9, 1e9, 256)),
        ("Q8_1", np.full(32, 65000.0)),
    ],
)
def test_r51_scales_beyond_their_format(name: str, x: npt.NDArray[Any]) -> None:
    """An error by default; limited on demand, and finite then."""
    row = x.astype(np.float32)[None]
    with pytest.raises(ValueError, match=r"large|overflow|range|reach"):
        ggufspec.quantize(row, name)
    made = ggufspec.quantize(row, name, clamp_scales=True)
    assert np.isfinite(blocks.dequantize(made, name)).all()


def test_r51_what_fits_is_no_error() -> None:
    row = np.full((1, 32), 70000.0, np.float32)
    assert (np.abs(blocks.dequantize(ggufspec.quantize(row, "Q8_0"), "Q8_0") - 70000) < 300).all()
    scales = ggufspec.quantize(np.full((1, 64), 448 * 6.0, np.float32), "NVFP4")[0, :4]
    assert (scales & 0x7F != 0x7F).all()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"])
def test_r53_half_steps_round_as_ggml_rounds(name: str, backend: Backend) -> None:
    steps = np.float32([0.5, 1.5, 2.5, -0.5, -1.5, 126.5, -126.5, 127])
    x = np.concatenate([steps, np.zeros(24, np.float32)])[None]
    made = ggufspec.quantize(x, name, backend=backend)
    assert (made == oracle.quantize(x, ggufspec.types[name].id)).all()


def test_r53_decoding_skips_the_whole_header() -> None:
    """Q4_1's header has four bytes; one implementation skipped two."""
    kind = ggufspec.types["Q4_1"]
    for data in block_samples(kind).values():
        theirs = oracle.dequantize(data, kind.id or 0)
        assert first_difference(blocks.dequantize(data, "Q4_1"), theirs) is None


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("source", ["Q4_K", "IQ3_S", "MXFP4", "BF16", "Q8_0", "TQ2_0", "IQ1_M"])
def test_r59_every_type_is_a_source(source: str, threads: int) -> None:
    kind = ggufspec.types[source]
    data = block_samples(kind)["zeros"]
    data = np.tile(data, (8, 1)).reshape(8, -1)
    values = blocks.dequantize(data, source, threads=threads)
    width = values.shape[1] // 32 * 32
    if width:
        x = np.ascontiguousarray(values[:, :width])
        first = ggufspec.quantize(x, "Q4_0", threads=1)
        assert (ggufspec.quantize(x, "Q4_0", threads=threads) == first).all()


def test_r59_quantizing_again_is_said(tmp_path: Path) -> None:
    path, once, twice = (tmp_path / f"{name}.gguf" for name in "abc")
    weights = {"blk.0.ffn_up.weight": _row(1024).reshape(4, 256)}
    ggufspec.write(path, {"general.architecture": "llama"}, weights)
    assert command("quantize", path, once, "Q8_0").returncode == 0
    refused = command("quantize", once, twice, "Q4_0")
    assert refused.returncode != 0
    assert "--allow-requantize" in refused.stderr
    assert command("quantize", once, twice, "Q4_0", "--allow-requantize").returncode == 0


def test_r43_one_dimension_stays_f32(tmp_path: Path) -> None:
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    weights = {"blk.0.attn_norm.weight": _row()[0], "blk.0.ffn_up.weight": np.tile(_row(), (2, 1))}
    ggufspec.write(path, {"general.architecture": "llama"}, weights)
    assert command("quantize", path, out, "Q4_0").returncode == 0
    with ggufspec.open(out) as f:
        assert [tensor.type for tensor in f.tensors.values()] == ["F32", "Q4_0"]


@pytest.mark.parametrize("name", ["BF16", "F16", "F32"])
def test_r44_plain_types_have_their_shape(name: str) -> None:
    values = np.array([[1, -0.0, np.nan], [np.inf, 3.389e38, 0]] * 2, np.float32)
    with np.errstate(over="ignore"):
        raw = {
            "BF16": (values.view(np.uint32) >> 16).astype("<u2"),
            "F16": values.astype("<f2"),
            "F32": values.astype("<f4"),
        }[name]
    kind = ggufspec.types[name].id or 0
    with ggufspec.open(file([ARCHITECTURE], [V3.tensor("t", [3, 4], kind)], raw.tobytes())) as f:
        tensor = f.tensors["t"]
        assert tensor.shape == tensor.array().shape == tensor.dequantize().shape == (4, 3)
        assert np.isnan(tensor.dequantize()[0, 2])
        assert tensor.dequantize()[1, 0] == np.inf


def test_r42_five_dimensions_are_refused_for_ggml() -> None:
    data = file([ARCHITECTURE], [V3.tensor("t", [3, 3, 3, 2, 2], F32)], bytes(4 * 108))
    assert "GG0506" in errors(data)
    assert "GG0506" in errors(data, "ggml")
    with ggufspec.open(data) as f:  # lenient reads up to eight
        assert f.tensors["t"].dequantize().shape == (2, 2, 3, 3, 3)
