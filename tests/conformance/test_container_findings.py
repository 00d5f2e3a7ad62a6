"""Findings that are no errors, verdicts, messages, and the limit of what is listed."""

from __future__ import annotations

import pytest

from ggufspec.container.findings import ROOM
from ggufspec.container.scan import Scan, scan
from ggufspec.errors import GGUFError
from ggufspec.generated import container as tables
from ggufspec.report import Report
from ggufspec.validation import validate
from support.container import PROFILES, scan_all
from support.crafted import ARRAY, BOOL, F32, I8, Q4_0, STRING, UINT8, UINT32, V3, Form, file
from support.crafted_cases import all_cases, architecture


def _marks(found: Scan) -> set[tuple[str, str]]:
    return {(finding.rule, finding.severity) for finding in found.findings}


def _with(*pairs: bytes) -> bytes:
    return file([architecture(), *pairs])


def _data(*tensors: bytes, data: bytes, pairs: tuple[bytes, ...] = ()) -> bytes:
    return file([architecture(), *pairs], tensors, data)


WARNINGS = {
    "syntax of a key": (_with(V3.pair("command-r.x", UINT8, b"\1")), "strict", "GG0206", "warning"),
    "bool of 2": (_with(V3.pair("a.b", BOOL, b"\2")), "lenient", "GG0306", "warning"),
    "nested arrays": (
        _with(V3.pair("a.b", ARRAY, V3.array(ARRAY, 1, V3.array(UINT8, 0)))),
        *("strict", "GG0302", "warning"),
    ),
    "text not UTF-8": (
        _with(V3.pair("a.b", STRING, V3.string(b"\xff"))),
        *("strict", "GG0307", "warning"),
    ),
    "alignment of 4": (
        _with(V3.pair("general.alignment", UINT32, V3.u32(4))),
        *("strict", "GG0404", "warning"),
    ),
    "no dimensions": (
        _data(V3.tensor("t", []), data=bytes(32)),
        *("strict", "GG0507", "warning"),
    ),
    "padding": (
        _data(V3.tensor("t", [4]), data=bytes(16) + b"hidden" + bytes(10)),
        *("strict", "GG0608", "warning"),
    ),
    "trailing bytes": (
        _data(V3.tensor("t", [8]), data=bytes(39)),
        *("strict", "GG0609", "warning"),
    ),
    "duplicate key": (
        _with(V3.pair("a.b", UINT8, b"\1"), V3.pair("a.b", UINT8, b"\2")),
        *("spec", "GG0202", "warning"),
    ),
    "big-endian": (
        file([architecture(Form(3, "big"))], form=Form(3, "big")),
        *("strict", "GG0104", "info"),
    ),
    "no architecture": (file(), "strict", "GG0701", "info"),
    "no quantization version": (
        _data(V3.tensor("t", [32], Q4_0), data=bytes(32)),
        *("strict", "GG0702", "info"),
    ),
    "unknown type": (
        _data(V3.tensor("t", [32], 99), data=bytes(32)),
        *("lenient", "GG0510", "info"),
    ),
    "row of half a block": (
        _data(V3.tensor("t", [16], Q4_0), data=bytes(32)),
        *("lenient", "GG0512", "info"),
    ),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_mild_findings(name: str) -> None:
    data, profile, rule, severity = WARNINGS[name]
    found = scan_all(data, profile)
    assert _marks(found) == {(rule, severity)}
    assert found.first_error() is None
    verdict = "warnings" if severity == "warning" else "valid"
    report = validate(data, profile, checks=("structure",))
    assert (report.verdict, report.ok) == (verdict, True)


def test_a_good_file_has_no_findings() -> None:
    version = V3.pair("general.quantization_version", UINT32, V3.u32(2))
    tensors = (V3.tensor("a", [32, 2], Q4_0), V3.tensor("b", [3, 1, 2], offset=64))
    data = _data(*tensors, data=bytes(96), pairs=(version,))
    for profile in PROFILES:
        assert validate(data, profile, checks=("structure",)) == Report((), profile)


def test_unsupported_is_not_invalid() -> None:
    unknown = V3.tensor("t", [32], 99)
    assert validate(_data(unknown, data=bytes(32))).verdict == "unsupported"
    assert validate(_data(V3.tensor("t", [32], 31), data=bytes(32))).verdict == "unsupported"
    assert validate(V3.header(0, 0, version=4)).verdict == "unsupported"
    both = _data(unknown, V3.tensor("t", [1], offset=32), data=bytes(64))
    assert validate(both).verdict == "invalid"
    assert validate(b"GGUF").verdict == "invalid"


def test_all_findings_are_reported_in_order() -> None:
    tensors = (
        V3.tensor("a\n", [4]),
        V3.tensor("a\n", [2**63, 2], offset=7),
        V3.tensor("b", [1], 99),
    )
    findings = scan_all(_data(*tensors, data=bytes(9)), "strict").findings
    assert [finding.rule for finding in findings] == [
        *("GG0505", "GG0602"),  # the first tensor: its name, and 9 bytes of data instead of 16
        *("GG0503", "GG0505", "GG0508", "GG0603"),
        "GG0510",
    ]
    offsets = [finding.offset or 0 for finding in findings]
    assert offsets == sorted(offsets)


def test_messages_name_what_is_wrong() -> None:
    data = _data(V3.tensor("blk.0.attn_q.weight", [30], Q4_0), data=bytes(32))
    finding = scan_all(data, "strict").first_error()
    assert finding is not None
    assert finding.path == "tensors[0].dims"
    assert finding.message == (
        "tensor 'blk.0.attn_q.weight' has rows of 30 elements, "
        "not a multiple of the 32 of its type's block"
    )
    error = finding.error()
    assert isinstance(error, GGUFError)
    assert (error.code, error.path, error.hint) == (finding.rule, finding.path, finding.hint)
    assert str(error).startswith(f"GG0512 at byte {finding.offset} in tensors[0].dims: tensor 'blk")


def test_names_in_messages_are_escaped_and_short() -> None:
    key = "\x1b[31m" + "x" * 10_000
    data = _with(V3.pair(key, UINT8, b"\1"), V3.pair(key, UINT8, b"\1"))
    for finding in scan_all(data, "strict").findings:
        assert finding.message.isprintable()
        assert len(finding.message) < 300


def test_lookalikes_are_named() -> None:
    finding = scan_all(b"lmgg" + bytes(100)).first_error()
    assert finding is not None
    assert "GGML file" in finding.message
    finding = scan_all(b"PK\3\4" + bytes(100)).first_error()
    assert finding is not None
    assert "zip" in finding.message


@pytest.mark.parametrize("count", [ROOM, ROOM + 1, 3 * ROOM])
def test_findings_are_limited(count: int) -> None:
    data = file([V3.pair(b"\xff%d" % number, 0, b"\0") for number in range(count)])
    found = scan_all(data, "strict")
    assert len(found.findings) <= ROOM + 1
    if 2 * count + 1 > ROOM:
        last = found.findings[-1]
        assert (last.rule, last.severity) == ("GG0901", "error")
        assert len(found.findings) == ROOM + 1
    assert validate(data).verdict == "invalid"


def test_many_unknown_types_are_still_unsupported() -> None:
    infos = [V3.tensor(str(number), [1], 99, 0) for number in range(2 * ROOM)]
    found = scan_all(_data(*infos, data=bytes(32)), "strict")
    assert found.findings[-1].rule == "GG0901"
    assert Report(found.findings, "strict").verdict == "unsupported"


def test_every_rule_is_seen() -> None:
    """The crafted files and the mild ones break every rule of the container at least once."""
    seen = {
        finding.rule
        for case in all_cases()
        for p in PROFILES
        for finding in scan(case.data, profile=p).findings
    }
    seen |= {rule for _, _, rule, _ in WARNINGS.values()}
    unseen = {rule.id for rule in tables.RULES} - seen
    assert unseen == {"GG0305", "GG0901"}  # needs a file of 1 GiB; the limit, tested above


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="unknown profile 'strikt'; known are ggml, spec"):
        scan(b"", profile="strikt")
    with pytest.raises(ValueError, match="unknown backend"):
        scan(b"", backend="rust")
    with pytest.raises(TypeError):
        scan("model.gguf")  # type: ignore[arg-type]


def test_an_unknown_type_keeps_its_number_and_offset() -> None:
    tensors = (V3.tensor("a", [8]), V3.tensor("b", [5], 99, 32), V3.tensor("c", [3], I8, 64))
    found = scan_all(_data(*tensors, data=bytes(96)))
    columns = found.tensors
    assert columns.type.tolist() == [F32, 99, I8]
    assert columns.offset.tolist() == [0, 32, 64]
    assert columns.nbytes.tolist() == [32, -1, 3]
    assert [columns.dims_of(row) for row in range(3)] == [(8,), (5,), (3,)]
