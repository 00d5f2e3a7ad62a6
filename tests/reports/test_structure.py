"""Public bug reports about lengths, counts, shapes and offsets; each test is named after its own.

What each report says is in the table of tests/reports.md.
"""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import ggufspec
from support.command import command
from support.container import PROFILES, first_error
from support.crafted import (
    ARCHITECTURE,
    ARRAY,
    BOOL,
    F16,
    F32,
    I8,
    INT32,
    Q4_0,
    STRING,
    UINT8,
    UINT32,
    UINT64,
    V3,
    Form,
    file,
    padded,
)
from support.damaged import FORMS, everything
from support.rules import errors

TOP = 1 << 63
ALIGNMENT = "general.alignment"


def _tensor(dims: list[int], kind: int = F32, data: int = 64, **more: int) -> bytes:
    return file([ARCHITECTURE], [V3.tensor("t", dims, kind, **more)], bytes(data))


def _rule(data: bytes, profile: str = "strict") -> str | None:
    error = first_error(data, profile)
    return error[0] if error else None


@pytest.mark.parametrize(
    ("data", "rule", "offset"),
    [
        (V3.header(0, 0x2000000000000000), "GG0002", 16),
        (V3.header(0x1000000000000000, 0), "GG0002", 8),
        (V3.header(0, 1) + V3.size((1 << 64) - 1) + bytes(16), "GG0001", 24),
        (file([V3.pair("a", ARRAY, V3.array(STRING, (1 << 61) + 1))]), "GG0002", 41),
        (_tensor([1 << 32, 1 << 32, 1, 1]), "GG0509", None),
        (_tensor([1] * 5, n_dims=5), "GG0506", None),
        (_tensor([1] * 5, n_dims=0xFFFFFFFF), "GG0506", None),
        (_tensor([1], 0x7FFFFFFF), "GG0510", None),
    ],
)
def test_r01_counts_that_wrap(data: bytes, rule: str, offset: int | None) -> None:
    for profile in ("ggml", "spec", "strict"):
        error = first_error(data, profile)
        assert error is not None
        assert error[0] == rule
        assert offset in (None, error[1])


@pytest.mark.parametrize("form", FORMS)
def test_r02_every_prefix_is_refused(form: str) -> None:
    whole = everything(FORMS[form])
    for length in range(len(whole)):
        assert first_error(whole[:length], "lenient") is not None


@pytest.mark.parametrize(
    "dims", [[(1 << 63) - 1, 2, 1, 1], [(1 << 64) - 1, 2, 1, 1], [1152, (1 << 42) + 1], [TOP]]
)
@pytest.mark.parametrize("kind", [I8, F32, F16])
def test_r04_element_counts_that_overflow(dims: list[int], kind: int) -> None:
    for profile in PROFILES[1:]:
        assert _rule(_tensor(dims, kind), profile) in {"GG0508", "GG0509", "GG0513", "GG0602"}
    with pytest.raises(ggufspec.GGUFError):
        ggufspec.open(_tensor(dims, kind))


def test_r06_zero_dimensions_and_removed_types() -> None:
    for dims in ([1, 0], [0], [0, 0, 0, 0]):
        assert all(_rule(_tensor(dims), profile) is None for profile in PROFILES)
        with ggufspec.open(_tensor(dims)) as f:
            assert f.tensors["t"].dequantize().shape == tuple(reversed(dims))
    for kind in (4, 5, 31, 32, 33, 36, 37, 38):
        assert _rule(_tensor([32], kind)) == "GG0511"


def test_r07_empty_names() -> None:
    data = file([V3.pair("", UINT32, V3.u32(1))])
    assert [first_error(data, profile) for profile in PROFILES] == [("GG0201", 24)] * 4
    nameless = file([ARCHITECTURE], [V3.tensor("", [8])], bytes(32))
    assert _rule(nameless) == "GG0501"


@pytest.mark.parametrize("value", [0, 3, 33, 31, 0xFFFFFFFF])
def test_r08_alignment_is_not_clamped(value: int) -> None:
    data = file([V3.pair(ALIGNMENT, UINT32, V3.u32(value))])
    assert len(data) == 57
    for profile in PROFILES:
        assert _rule(data, profile) in {"GG0403", "GG0404", "GG0405", "GG0407"}
    signed = file([V3.pair(ALIGNMENT, INT32, V3.number(-32, 4))])
    assert all(_rule(signed, profile) in {"GG0401", "GG0407"} for profile in PROFILES)


def test_r08_one_bad_file_does_not_end_a_listing(tmp_path: Path) -> None:
    for name, value in (("a", 32), ("b", 0), ("c", 64)):
        data = file([ARCHITECTURE, V3.pair(ALIGNMENT, UINT32, V3.u32(value))])
        (tmp_path / f"{name}.gguf").write_bytes(data)
    done = command("validate", "--quiet", tmp_path)
    assert done.returncode == 1
    assert all(f"{name}.gguf" in done.stdout for name in "abc")


@pytest.mark.parametrize("value", [1 << 30, 1 << 31])
def test_r09_absurd_alignments(value: int) -> None:
    infos = [V3.tensor("t", [8]), V3.tensor("u", [8], offset=value % (1 << 32))]
    pairs = [ARCHITECTURE, V3.pair(ALIGNMENT, UINT32, V3.u32(value))]
    data = V3.header(2, 2) + b"".join(pairs) + b"".join(infos) + bytes(64)
    assert _rule(data) == "GG0406"
    assert _rule(data, "ggml") == "GG0601"  # the data would start behind the file
    assert _rule(data, "lenient") in {"GG0406", "GG0601"}


@pytest.mark.parametrize("length", [(1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) // 64, 5])
def test_r11_lengths_size_no_allocation(length: int) -> None:
    data = V3.header(0, 1) + V3.size(length) + b"keys"
    tracemalloc.start()
    try:
        with pytest.raises(ggufspec.GGUFError, match="GG000"):
            ggufspec.open(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_r12_version_1_and_unknown_versions() -> None:
    data = b"GGUF" + struct.pack("<IIII", 1, 0, 1, 0) + bytes(4)
    assert len(data) == 24
    assert _rule(data) == "GG0103"
    assert _rule(data, "ggml") == "GG0103"
    assert _rule(data, "lenient") == "GG0002"  # four bytes have room for no pair
    assert _rule(data + bytes(5), "lenient") == "GG0201"
    for version in (0, 4, 0xFFFFFFFF):
        assert first_error(V3.header(0, 0, version), "lenient") == ("GG0102", 4)


@pytest.mark.parametrize("depth", [1, 2, 4, 5, 16, 17, 64, 65, 3000, 200_000])
def test_r13_nested_arrays(depth: int) -> None:
    data = file([V3.pair("a", ARRAY, V3.array(ARRAY, 1) * depth + V3.array(UINT32, 0))])
    assert _rule(data, "ggml") == "GG0302"
    assert _rule(data) == ("GG0303" if depth > 4 else None)
    assert _rule(data, "lenient") == ("GG0303" if depth > 16 else None)


@pytest.mark.parametrize(
    "data",
    [
        file([V3.pair("a", ARRAY, V3.array(UINT32, TOP))]),
        V3.header(0, TOP),
        V3.header(TOP, 0),
        file([V3.pair("a", ARRAY, V3.array(ARRAY, 1, V3.array(UINT8, 1 << 62)))]),
        file([V3.pair("a", ARRAY, V3.array(STRING, 1 << 30, bytes(80)))]),
        file([V3.pair("a", ARRAY, V3.array(ARRAY, 1 << 30, V3.array(UINT8, 0) * 9))]),
    ],
)
def test_r14_counts_are_bounded_by_the_bytes_that_remain(data: bytes) -> None:
    assert _rule(data, "lenient") == "GG0002"


def test_r19_rank_beyond_a_fixed_array() -> None:
    for rank in (9, 0xFFFFFFFF):
        data = _tensor([1] * 9, n_dims=rank)
        assert [_rule(data, profile) for profile in PROFILES] == ["GG0506"] * 4


def test_r20_names_of_64_bytes() -> None:
    for length, refused in ((63, False), (64, True), (65, True), (1000, True)):
        data = file([ARCHITECTURE], [V3.tensor("n" * length, [8])], bytes(32))
        for profile in ("ggml", "strict"):
            assert (_rule(data, profile) == "GG0502") is refused
    same = [V3.tensor("n" * 63 + end, [8], offset=32 * i) for i, end in enumerate("ab")]
    with ggufspec.open(file([ARCHITECTURE], same, bytes(64))) as f:
        assert [name[-1] for name in f.tensors] == ["a", "b"]


def test_r20_what_is_written_is_told_of(tmp_path: Path) -> None:
    """The writer writes what `open` reads; DESIGN leaves ggml's limit to `validate`."""
    ggufspec.write(tmp_path / "x.gguf", {}, {"n" * 64: np.zeros(8, np.float32)})
    assert "GG0502" in errors(tmp_path / "x.gguf")


def test_r21_duplicates() -> None:
    keys = [V3.pair(ALIGNMENT, UINT32, V3.u32(value)) for value in (32, 64)]
    data = file([ARCHITECTURE, *keys])
    assert all(_rule(data, profile) == "GG0202" for profile in ("ggml", "strict", "lenient"))
    infos = [V3.tensor("t", [8], offset=offset) for offset in (0, 32)]
    twice = file([ARCHITECTURE], infos, bytes(64))
    report = ggufspec.validate(twice)
    (found,) = (finding for finding in report.findings if finding.rule == "GG0503")
    assert found.offset is not None
    first = twice.index(infos[0])
    assert found.offset == first + len(infos[0])
    assert str(first) in found.message or "tensors[0]" in found.message


@pytest.mark.parametrize(
    "data",
    [
        _tensor([4096, 4096], F16, 32),
        _tensor([4], F32, 64, offset=(1 << 64) - 16),
        _tensor([4], F32, 64, offset=96),
        _tensor([4], F32, 0)[:-8],
    ],
)
def test_r22_tensor_data_outside_of_the_file(data: bytes) -> None:
    assert errors(data) & {"GG0601", "GG0602"}
    with pytest.raises(ggufspec.GGUFError):
        ggufspec.open(data)


def test_r22_a_quantizer_reads_nothing_behind_the_file(tmp_path: Path) -> None:
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    path.write_bytes(_tensor([4096, 4096], F16, 32))
    assert command("quantize", path, out, "Q8_0").returncode == 1
    assert not out.exists()


def test_r24_truncated_files_are_never_valid(tmp_path: Path) -> None:
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    infos = [V3.tensor(f"t{i}", [256], offset=1024 * i) for i in range(3)]
    whole = file([ARCHITECTURE], infos, bytes(3 * 1024))
    path.write_bytes(whole[: len(whole) - 1536])
    for arguments in (("validate", path), ("info", path), ("quantize", path, out, "Q8_0")):
        done = command(*arguments)
        assert done.returncode == 1, arguments
        assert "GG0602" in done.stdout + done.stderr
    assert not out.exists()


def test_r24_absent_is_not_truncated() -> None:
    with ggufspec.open(_tensor([8])) as f, pytest.raises(KeyError):
        f.tensors["u"]


def test_r26_byte_order_is_found_out() -> None:
    big = everything(Form(3, "big"))
    assert big[4:8] == b"\0\0\0\3"
    with ggufspec.open(big) as f, ggufspec.open(everything(Form())) as little:
        assert (f.version, f.byte_order) == (3, "big")
        assert list(f.metadata) == list(little.metadata)
        assert (f.tensors["one"].dequantize() == little.tensors["one"].dequantize()).all()
    mixed = Form(3, "big").header(0, 1)[:16] + V3.size(1) + ARCHITECTURE
    assert _rule(mixed, "lenient") == "GG0002"  # the swapped count is no size
    assert first_error(V3.header(0, 0, 0x00030000), "lenient") == ("GG0102", 4)


@pytest.mark.parametrize("more", range(34))
def test_r29_padding_in_front_of_the_data(more: int) -> None:
    pair = V3.pair("a", STRING, V3.string("x" * more))
    data = file([ARCHITECTURE, pair], [V3.tensor("t", [1])], b"\1\2\3\4")
    with ggufspec.open(data) as f:
        tensor = f.tensors["t"]
        assert tensor.offset == 0
        assert tensor.file_offset % 32 == 0
        assert bytes(tensor.data[0]) == data[tensor.file_offset :] == b"\1\2\3\4"


def test_r30_what_follows_the_last_tensor() -> None:
    bare = _tensor([8], F16, 16)
    whole = padded(bare)
    for data, tail in ((bare, 0), (whole, 0), (whole + bytes(7), 7), (whole + whole, len(whole))):
        report = ggufspec.validate(data)
        assert report.ok
        said = [finding.message for finding in report.findings if finding.rule == "GG0609"]
        assert len(said) == bool(tail)
        assert all(str(tail) in message for message in said)


def test_r31_order_and_gaps() -> None:
    one = V3.tensor("t", [16])

    def at(offset: int) -> bytes:
        return file([ARCHITECTURE], [one, V3.tensor("u", [16], offset=offset)], bytes(256))

    swapped = file([ARCHITECTURE], [V3.tensor("u", [16], offset=64), one], bytes(128))
    for data in (swapped, at(128)):
        assert _rule(data, "ggml") == "GG0604"
        with ggufspec.open(data) as f:  # readable all the same
            assert f.tensors["u"].dequantize().shape == (16,)
        message = next(f.message for f in ggufspec.validate(data, "ggml").findings)
        assert "64" in message
    assert _rule(at(68)) == "GG0603"


@pytest.mark.parametrize("start", [1, 3, 7])
def test_r32_data_need_not_be_aligned(start: int) -> None:
    values = np.array([1.5, -2, 3.25], np.float32)
    raw = (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    pairs = [ARCHITECTURE, V3.pair(ALIGNMENT, UINT32, V3.u32(1))]
    pad = V3.pair("a", STRING, V3.string("x" * start))
    infos = [V3.tensor("b", [1], I8), V3.tensor("t", [3], 30, offset=1)]
    data = file([*pairs, pad], infos, b"\0" + raw, 1)
    with ggufspec.open(data) as f:
        assert (f.tensors["t"].dequantize() == values).all()
        assert (f.tensors["t"].array() == values).all()


def test_r39_numbers_stay_themselves() -> None:
    pairs = [
        V3.pair("u64", UINT64, V3.size((1 << 64) - 1)),
        V3.pair("past", UINT64, V3.size((1 << 53) + 1)),
        V3.pair("i64", 11, V3.number(-(1 << 63), 8)),
        V3.pair("tiny", 6, V3.u32(1)),
        V3.pair("zero", 6, V3.u32(0x80000000)),
        V3.pair("nan", 6, V3.u32(0x7FC00000)),
    ]
    with ggufspec.open(file(pairs)) as f:
        values = dict(f.metadata)
    assert (values["u64"], values["past"], values["i64"]) == ((1 << 64) - 1, (1 << 53) + 1, -TOP)
    assert struct.pack("<f", values["tiny"]) == V3.u32(1)
    assert str(values["zero"]) == "-0.0"
    assert values["nan"] != values["nan"]
    odd = file([ARCHITECTURE, V3.pair("b", BOOL, b"\2")])
    assert _rule(odd) == "GG0306"


def test_r45_rows_without_whole_blocks(tmp_path: Path) -> None:
    data = _tensor([33, 2], Q4_0)
    for profile in ("ggml", "strict"):
        (found,) = (f for f in ggufspec.validate(data, profile).findings if f.rule == "GG0512")
        assert "33" in found.message
        assert "32" in found.message
    path, out = tmp_path / "a.gguf", tmp_path / "b.gguf"
    shape = {"blk.0.ffn_down.weight": np.zeros((4, 896), np.float32)}
    ggufspec.write(path, {"general.architecture": "llama"}, shape)
    done = command("quantize", path, out, "Q4_K", "--no-fallback")
    assert done.returncode != 0
    assert "896" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize("kind", [43, 99, 100, 137, 0xFFFFFFFF])
def test_r60_unknown_types_do_not_hide_the_file(kind: int, tmp_path: Path) -> None:
    infos = [V3.tensor("t", [32], kind), V3.tensor("u", [32], F32, offset=64)]
    path = tmp_path / "a.gguf"
    path.write_bytes(file([ARCHITECTURE], infos, bytes(64 + 128)))
    with ggufspec.open(path) as f:
        assert f.tensors["t"].nbytes == 64  # to the next tensor
        assert f.tensors["u"].dequantize().shape == (32,)
        with pytest.raises(ggufspec.GGUFError, match=str(kind)):
            f.tensors["t"].dequantize()
    assert command("validate", path).returncode == 3
    assert command("info", path).returncode == 0


def test_r60_removed_types_say_so() -> None:
    with (
        ggufspec.open(_tensor([32], 31)) as f,
        pytest.raises(ggufspec.GGUFError, match="Q4_0_4_4"),
    ):
        f.tensors["t"].dequantize()


def test_r61_reading_needs_no_right_to_write(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(_tensor([8]))
    path.chmod(0o444)
    with ggufspec.open(path) as f:
        assert f.tensors["t"].dequantize().shape == (8,)
    path.unlink()  # nothing keeps it


def test_r62_output_that_is_the_input(tmp_path: Path) -> None:
    path, link = tmp_path / "a.gguf", tmp_path / "link.gguf"
    path.write_bytes(before := _tensor([256], F32, 1024))
    link.symlink_to(path)
    for out in (path, link, tmp_path / "." / "a.gguf"):
        assert command("quantize", path, out, "Q8_0", "--force").returncode != 0
    assert path.read_bytes() == before
    missing = tmp_path / "no" / "b.gguf"
    done = command("quantize", path, missing, "Q8_0")
    assert done.returncode != 0
    assert "no" in done.stderr
