"""Whose type numbers a file uses: what its sizes decide, and what they leave open."""

from __future__ import annotations

from pathlib import Path

import pytest

import ggufspec
from ggufspec import GGUFError
from ggufspec.container import dialects as container
from ggufspec.dialects import dialects
from support import crafted, forks
from support.container import BACKENDS
from support.crafted import V3
from support.forks import Entry, entry, model, plain


def rules(data: bytes, **options: str) -> list[str]:
    with ggufspec.open(data, **options) as f:
        return [finding.rule for finding in f.findings]


def one_of(number: int, layout: str, *dims: int) -> bytes:
    """A file with a tensor of such a type between two plain ones."""
    return model([plain("a"), entry("w", dims, number, layout), plain("z")])


COLLISIONS = [
    (42, "Q2_0", "ggml", "Q2_0"),
    (42, "PQ2_0", "prism-early", "PQ2_0"),
    (42, "STQ1_0", "tencent", "STQ1_0"),
    (43, "STQ1_0", "tencent", "STQ1_0"),
    (36, "I2_S", "bitnet.cpp", "I2_S"),
    (39, "MXFP4", "ggml", "MXFP4"),
    (139, "IQ4_K", "ik_llama.cpp", "IQ4_K"),
    (142, "PQ2_0", "prism", "PQ2_0"),
    (144, "IQ4_KS", "ik_llama.cpp", "IQ4_KS"),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("number", "layout", "dialect", "name"), COLLISIONS)
def test_the_size_decides(number: int, layout: str, dialect: str, name: str, backend: str) -> None:
    data = one_of(number, layout, 2048, 4)
    scan, choice = container.scan_as(data, profile="lenient", backend=backend)
    assert choice is not None
    assert (choice.dialect.name, choice.disputed) == (dialect, frozenset())
    assert scan.tensors.nbytes[1] == forks.SIZES[layout].of(2048, 4)
    assert scan.first_error() is None
    with ggufspec.open(data) as f:
        assert (f.dialect, f.tensors["w"].type) == (dialect, name)
        assert f.tensors["w"].whole


@pytest.mark.parametrize("layout", ["Q2_0", "PQ2_0", "STQ1_0"])
def test_last_tensor_without_padding(layout: str) -> None:
    """The last tensor decides too, and its padding may be missing."""
    size = forks.SIZES[layout].of(2048, 3)
    data = model([plain("a"), entry("w", [2048, 3], 42, layout)])
    with ggufspec.open(data[: len(data) - -size % 32]) as f:
        assert (f.tensors["w"].type, f.tensors["w"].nbytes) == (layout, size)


def test_ordinary_files_are_not_looked_at() -> None:
    """No number that dialects differ about, no choice and no findings."""
    data = model([plain("a"), Entry("b", [32, 2], crafted.Q8_0, bytes(68))])
    scan, choice = container.scan_as(data, profile="lenient")
    assert choice is None
    assert scan.findings == ()
    with ggufspec.open(data) as f:
        assert (f.dialect, f.fitting, f.findings) == ("ggml", ("ggml",), ())


AMBIGUOUS = model([entry("w", [256], 42, "Q2_0")])
"""72 bytes as ggml has it, 68 as Prism ML had it: 96 with the padding."""


def test_ambiguous_file() -> None:
    """It opens, says so, and decodes nothing until the caller decides."""
    with ggufspec.open(AMBIGUOUS) as f:
        assert f.fitting == ("ggml", "prism-early")
        (finding,) = f.findings
        assert (finding.rule, finding.severity) == ("GG1601", "warning")
        assert "ggml, prism-early" in finding.message
        assert "--dialect" in finding.hint
        with pytest.raises(GGUFError, match="ggml, prism-early") as caught:
            f.tensors["w"].dequantize()
        assert caught.value.code == "GG1601"
        with pytest.raises(GGUFError, match="GG1601"):
            list(f.tensors["w"].chunks("big"))
        assert len(f.tensors["w"].data.tobytes()) == 72
    for dialect, name in (("ggml", "Q2_0"), ("prism-early", "PQ2_0")):
        with ggufspec.open(AMBIGUOUS, dialect=dialect) as f:
            assert (f.dialect, f.tensors["w"].type) == (dialect, name)
            assert f.findings == ()
            assert f.tensors["w"].dequantize().shape == (256,)


def test_another_tensor_resolves_it() -> None:
    """The ambiguous tensor has the dialect of those that are not."""
    for layout, dialect in (("Q2_0", "ggml"), ("PQ2_0", "prism-early")):
        data = model([entry("w", [256], 42, layout), entry("v", [4096], 42, layout)])
        with ggufspec.open(data) as f:
            assert (f.dialect, f.fitting) == (dialect, (dialect,))
            expected = forks.SIZES[layout].of(256)
            assert f.tensors["w"].nbytes == expected


def test_alignment_one_leaves_nothing_open() -> None:
    """Without padding the same tensor tells its size."""
    data = model([entry("w", [256], 42, "PQ2_0")], alignment=1)
    with ggufspec.open(data) as f:
        assert f.dialect == "prism-early"


def test_rows_without_whole_blocks_contradict() -> None:
    """Rows of 192 elements are no rows of blocks of 128."""
    data = model([entry("w", [192], 42, "Q2_0")])
    with ggufspec.open(data) as f:
        assert f.fitting == ("ggml",)


def test_gaps_leave_it_open() -> None:
    """Tensors that no dialect makes tile: ggml's reading, and not decoded while others may be."""
    infos = [V3.tensor("w", [2048], 42, 0), V3.tensor("z", [8], crafted.F32, 1024)]
    data = crafted.file([crafted.ARCHITECTURE], infos, bytes(1024 + 32))
    with ggufspec.open(data) as f:
        assert f.dialect == "ggml"
        assert f.fitting == ("ggml", "prism-early", "tencent")
        [finding] = f.findings
        assert finding.message.endswith("tencent: the sizes of the tensors do not tell which")


def test_a_cut_file_is_not_taken_for_a_smaller_type() -> None:
    """The Q2_0 of ggml without its end has room for the smaller types of others: still an error."""
    data = model([plain("a"), entry("v", [4096], 42, "Q2_0"), entry("w", [4096], 42, "Q2_0")])
    with pytest.raises(GGUFError) as caught:
        ggufspec.open(data[:-200])
    assert caught.value.code == "GG0602"


def test_bytes_behind_the_data() -> None:
    """What follows the last tensor does not hide what the others say."""
    data = model([entry("v", [4096], 42, "PQ2_0"), entry("w", [4096], 42, "PQ2_0")])
    with ggufspec.open(data + bytes(999)) as f:
        assert f.dialect == "prism-early"


def test_unknown_numbers_stay() -> None:
    """Number, offset and size of what no dialect knows, beside what one knows."""
    data = model([Entry("u", [7, 3], 99, bytes(50)), entry("w", [512], 142, "PQ2_0"), plain("z")])
    with ggufspec.open(data) as f:
        unknown = f.tensors["u"]
        assert (unknown.type, unknown.type_id, unknown.offset) == ("UNKNOWN(99)", 99, 0)
        assert (unknown.nbytes, unknown.data.shape, unknown.kind) == (64, (1, 64), None)
        assert f.dialect == "prism"
        with pytest.raises(GGUFError, match="unknown type 99"):
            unknown.dequantize()


def test_sized_types_are_listed_and_copied(tmp_path: Path) -> None:
    """Of ik_llama.cpp's types the sizes are known: rows, but no values and no byte order."""
    data = one_of(144, "IQ4_KS", 512, 6)
    with ggufspec.open(data) as f:
        tensor = f.tensors["w"]
        assert (tensor.type, tensor.nbytes, tensor.rows) == ("IQ4_KS", 6 * 276, 6)
        assert tensor.data.shape == (6, 276)
        assert tensor.kind is not None
        assert tensor.kind.status == "sized"
        for act in (tensor.dequantize, tensor.array, lambda: list(tensor.chunks("big"))):
            with pytest.raises(GGUFError, match="nothing says how") as caught:
                act()
            assert caught.value.code == "GG1604"
        path = tmp_path / "copy.gguf"
        ggufspec.write(path, f.metadata, f.tensors)
    assert path.read_bytes() == data


@pytest.mark.parametrize(("number", "layout", "dialect", "_name"), COLLISIONS)
def test_copies_are_equal(
    number: int, layout: str, dialect: str, _name: str, tmp_path: Path
) -> None:
    """A file of any dialect is written back byte for byte."""
    data = one_of(number, layout, 2048, 4)
    path = tmp_path / "copy.gguf"
    with ggufspec.open(data, dialect=dialect) as f:
        ggufspec.write(path, f.metadata, f.tensors)
    assert path.read_bytes() == data


def test_stated_dialect_is_taken_at_its_word() -> None:
    """The types are those asked for, and what contradicts them is told."""
    data = one_of(42, "Q2_0", 2048, 4)
    with ggufspec.open(data, dialect="tencent") as f:
        assert (f.dialect, f.tensors["w"].type) == ("tencent", "STQ1_0")
        (finding,) = f.findings
        assert finding.rule == "GG1603"
        assert "sizes of ggml" in finding.message
    with pytest.raises(GGUFError):  # larger blocks than there is room for
        ggufspec.open(one_of(42, "STQ1_0", 2048, 4), dialect="ggml")


def test_types_of_which_the_name_is_known() -> None:
    """Under the dialect that names them they have a name, and the size up to the next tensor."""
    data = model([Entry("w", [64, 4], 38, bytes(100)), plain("z")])
    with ggufspec.open(data) as f:
        assert (f.dialect, f.tensors["w"].type) == ("ggml", "IQ4_NL_8_8")
    with ggufspec.open(data, dialect="bitnet.cpp") as f:
        assert (f.tensors["w"].type, f.tensors["w"].nbytes) == ("TL1", 128)
        with pytest.raises(GGUFError, match="nothing says how"):
            f.tensors["w"].dequantize()
    assert ggufspec.validate(data, dialect="bitnet.cpp").verdict == "unsupported"


def test_profiles_that_speak_of_ggml_alone() -> None:
    """Under ``ggml`` and ``spec`` nothing is inferred; a named dialect holds everywhere."""
    version = V3.pair("general.quantization_version", crafted.UINT32, V3.u32(2))
    data = model([plain("a"), entry("w", [512], 142, "PQ2_0")], pairs=[version])
    for profile in ("ggml", "spec"):
        with pytest.raises(GGUFError, match="unknown type 142"):
            ggufspec.open(data, profile=profile)
        assert ggufspec.open(data, profile=profile, dialect="prism").dialect == "prism"
    for profile in ("strict", "lenient"):
        assert ggufspec.open(data, profile=profile).dialect == "prism"


def test_wrong_arguments(tmp_path: Path) -> None:
    """An unknown dialect is the caller's fault, told before the file is opened."""
    with pytest.raises(ValueError, match=r"unknown dialect 'x'; known: ggml, bitnet\.cpp"):
        ggufspec.open(tmp_path / "missing.gguf", dialect="x")


def test_folded_weights_are_told() -> None:
    """Keys that declare a rotation say so, whatever the tensors are stored as."""
    key = V3.pair("prism.hadamard.version", crafted.UINT32, V3.u32(1))
    for tensors in ([entry("w", [128], 143, "PTQ1_0")], [plain("w")]):
        with ggufspec.open(model(tensors, pairs=[key])) as f:
            finding = next(finding for finding in f.findings if finding.rule == "GG1606")
            assert "prism.hadamard.version" in finding.message
            assert "folded" in finding.hint
    assert "GG1606" not in rules(model([plain("w")]))


def test_one_dialect_for_a_set(tmp_path: Path) -> None:
    """A shard whose tensors fit several dialects has that of the others."""

    def shard(number: int, tensors: list[Entry]) -> None:
        pairs = [
            V3.pair("split.no", crafted.UINT16, V3.number(number, 2)),
            V3.pair("split.count", crafted.UINT16, V3.number(2, 2)),
            V3.pair("split.tensors.count", crafted.INT32, V3.u32(2)),
        ]
        path = tmp_path / f"m-{number + 1:05d}-of-00002.gguf"
        path.write_bytes(model(tensors, pairs=pairs))

    shard(0, [entry("w", [256], 42, "PQ2_0")])
    shard(1, [entry("v", [4096], 42, "PQ2_0")])
    with ggufspec.open(tmp_path / "m-00001-of-00002.gguf") as f:
        assert (f.dialect, f.fitting) == ("prism-early", ("prism-early",))
        assert [t.type for t in f.tensors.values()] == ["PQ2_0", "PQ2_0"]
        assert f.tensors["w"].nbytes == 68
    report = ggufspec.validate(tmp_path / "m-00001-of-00002.gguf")
    assert report.verdict == "warnings"
    shard(1, [entry("v", [256], 42, "PQ2_0")])
    with ggufspec.open(tmp_path / "m-00002-of-00002.gguf") as f:
        assert f.fitting == ("ggml", "prism-early")
    with ggufspec.open(tmp_path / "m-00002-of-00002.gguf", dialect="prism-early") as f:
        assert f.tensors["v"].dequantize().shape == (256,)


# ---- the validator


def verdict(
    data: bytes, profile: str = "strict", dialect: str | None = None
) -> tuple[str, set[str]]:
    report = ggufspec.validate(data, profile, dialect=dialect, checks=("structure",))
    return report.verdict, {f.rule for f in report.findings if f.rule.startswith("GG16")}


def test_verdicts() -> None:
    assert verdict(one_of(42, "Q2_0", 2048)) == ("valid", set())
    assert verdict(one_of(142, "PQ2_0", 512)) == ("warnings", {"GG1602"})
    assert verdict(one_of(142, "PQ2_0", 512), "ggml") == ("unsupported", set())
    assert verdict(one_of(142, "PQ2_0", 512), dialect="prism") == ("valid", set())
    assert verdict(one_of(42, "STQ1_0", 2048), "ggml")[0] == "invalid"
    assert verdict(AMBIGUOUS) == ("warnings", {"GG1601"})
    assert verdict(AMBIGUOUS, "ggml") == ("valid", set())
    assert verdict(AMBIGUOUS, dialect="ggml") == ("valid", set())
    assert verdict(one_of(144, "IQ4_KS", 512)) == ("warnings", {"GG1602", "GG1604"})
    assert verdict(one_of(36, "I2_S", 512)) == ("warnings", {"GG1602", "GG1607"})
    misfit = verdict(one_of(42, "Q2_0", 2048), "lenient", "tencent")
    assert misfit == ("warnings", {"GG1603"})


def test_places_of_findings() -> None:
    """The first tensor in question, by its info."""
    report = ggufspec.validate(one_of(142, "PQ2_0", 512))
    finding = next(finding for finding in report.findings if finding.rule == "GG1602")
    assert finding.path == "tensors[1].type"
    assert "PQ2_0 (142)" in finding.message


def test_dialects_agree_with_their_names() -> None:
    """What the specification says of the numbers that are known to collide."""
    kinds = {name: dialects[name].kind_of(42) for name in dialects}
    assert {name: kind.name for name, kind in kinds.items() if kind} == {
        "ggml": "Q2_0",
        "bitnet.cpp": "Q2_0",
        "ik_llama.cpp": "Q2_0",
        "prism": "Q2_0",
        "prism-early": "PQ2_0",
        "tencent": "STQ1_0",
    }
    sizes = dialects["ik_llama.cpp"].own
    expected = {
        133: (32, 26), 134: (64, 13), 135: (64, 16), 137: (256, 76), 138: (256, 110),
        139: (256, 144), 140: (256, 176), 141: (256, 212), 144: (256, 136),
    }  # fmt: skip
    assert {n: (sizes[n].elements, sizes[n].bytes) for n in expected} == expected
    assert sizes[144].row_prefix == 4
