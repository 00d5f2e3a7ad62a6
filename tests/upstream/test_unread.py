"""What the spec expects and a source does not show is a finding, with its place; never silence."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ggufspec.codegen.upstream.compare import Comparison, compare
from ggufspec.codegen.upstream.headers import read_tree
from ggufspec.codegen.upstream.known import load_known
from ggufspec.codegen.upstream.syntax import Unit
from ggufspec.codegen.upstream.tree import Tree
from support.specs import real_spec

GGML_H, COMMON, GGML_C = "ggml.h", "ggml-common.h", "ggml.c"
STRUCT = "    uint8_t qs[QK4_0 / 2]; // nibbles / quants\n} block_q4_0;"
IQ4_NL = "GGML_TABLE_BEGIN(int8_t, kvalues_iq4nl, 16)\n    -127, -104,"


def doctored(tree: Tree, file: str, *changes: tuple[str, str]) -> Comparison:
    """The check of the files that say what blocks are, changed."""
    names = {GGML_H: 0, COMMON: 0, file: 0}
    text = tree.texts[file]
    for old, new in changes:
        assert text.count(old) == 1, f"{text.count(old)} places of {old}"
        text = text.replace(old, new)
    texts = {name: tree.texts[name] for name in names} | {file: text}
    return compare(real_spec(), read_tree(replace(tree, texts=texts)), load_known(real_spec()))


def found(one: Comparison) -> list[tuple[str, str]]:
    return [(drift.kind, drift.name) for drift in one.drift]


@pytest.mark.parametrize(
    ("file", "old", "new", "expected", "why"),
    [
        (COMMON, STRUCT, STRUCT.replace("QK4_0 / 2", "QK4_0 / ZERO_UNDEFINED"),
         ("struct-unread", "Q4_0"), "ZERO_UNDEFINED"),
        (COMMON, STRUCT, STRUCT.replace("QK4_0 / 2", "QK4_0 / 0"),
         ("struct-unread", "Q4_0"), "operator /"),
        (COMMON, "#define QK4_0 32", "#define QK4_0 (1<<999999999999)",
         ("struct-unread", "Q4_0"), "1<<999999999999"),
        (COMMON, STRUCT, STRUCT.replace("qs[", "*qs["), ("struct-unread", "Q4_0"), "plain member"),
        (COMMON, STRUCT, STRUCT.replace("uint8_t qs", "uint8_t ) qs"),
         ("struct-unread", "Q4_0"), "no C that is understood"),
        (COMMON, STRUCT, STRUCT.replace("block_q4_0;", "block_q4_0_t;"),
         ("struct-gone", "Q4_0"), "renamed"),
        (COMMON, IQ4_NL, IQ4_NL.replace("-104", "f(104)"),
         ("table-unread", "kvalues_iq4nl"), "f(104)"),
        (COMMON, IQ4_NL, IQ4_NL.replace("-104", "1.5"),
         ("table-unread", "kvalues_iq4nl"), "no integer"),
        (COMMON, "#define IQ1S_DELTA 0.125f", "#define IQ1S_DELTA delta()",
         ("constant-unread", "IQ1S_DELTA"), "delta()"),
        (GGML_H, "#   define GGML_MAX_NAME        64", "#   define GGML_MAX_NAME FOO()",
         ("constant-unread", "GGML_MAX_NAME"), "FOO()"),
        (GGML_H, "#define GGML_MAX_DIMS           4", "#define GGML_MAX_RANK 4",
         ("constant-gone", "GGML_MAX_DIMS"), ""),
        (GGML_C, ".type_size                = sizeof(block_nvfp4),",
         ".type_size = sizeof(block_nvfp4) + FOO_UNKNOWN,",
         ("traits-unread", "NVFP4"), "FOO_UNKNOWN"),
        (GGML_C, '.type_name                = "nvfp4",', '.type_name = "nvfp5",',
         ("type-name", "NVFP4"), "nvfp5"),
        (GGML_C, '.type_name                = "nvfp4",', "",
         ("traits-unread", "NVFP4"), ".type_name"),
        (GGML_C, "type_traits[GGML_TYPE_COUNT] = {", "the_traits[GGML_TYPE_COUNT] = {",
         ("traits-gone", "type_traits"), "no table"),
    ],
)  # fmt: skip
def test_is_a_finding(
    tree: Tree, file: str, old: str, new: str, expected: tuple[str, str], why: str
) -> None:
    one = doctored(tree, file, (old, new))
    told = [drift for drift in one.drift if (drift.kind, drift.name) == expected]
    assert len(told) == 1, found(one)
    assert why in told[0].theirs + told[0].remedy
    assert told[0].place.file == tree.places[file]
    assert told[0].place.line or expected[0] in {"constant-gone", "traits-gone"}
    # A struct that is lost takes its row of the table with it, if at all; nothing else.
    assert {name for _, name in found(one)} == {expected[1]}


def test_a_brace_is_missing(tree: Tree) -> None:
    one = doctored(tree, COMMON, (STRUCT, STRUCT.replace("} block_q4_0;", "")))
    assert {"Q4_0"} <= {name for kind, name in found(one) if kind.startswith("struct-")}


def test_the_line_that_is_no_c_is_named(tree: Tree) -> None:
    one = doctored(tree, COMMON, (STRUCT, STRUCT.replace("2];", "2]")))
    (drift,) = one.drift
    line = tree.texts[COMMON].split(STRUCT)[0].count("\n") + 1
    assert (drift.kind, drift.name) == ("struct-unread", "Q4_0")
    assert f"line {line} is no C" in drift.theirs
    assert drift.place.line == line - 2


def test_a_row_is_renamed(tree: Tree) -> None:
    one = doctored(tree, GGML_C, ("[GGML_TYPE_NVFP4] = {", "[GGML_TYPE_NVFP4_X] = {"))
    assert found(one) == [("traits-unread", "NVFP4_X"), ("traits-gone", "NVFP4")]


@pytest.mark.parametrize("constant", ["static const int Q40_N = 20;", "enum { Q40_N = 20 };"])
def test_constants_of_c_are_evaluated(tree: Tree, constant: str) -> None:
    new = STRUCT.replace("QK4_0 / 2", "Q40_N")
    one = doctored(
        tree, COMMON, (STRUCT, new), ("#define QK4_0 32", f"#define QK4_0 32\n{constant}")
    )
    (drift,) = one.drift
    assert (drift.kind, drift.theirs) == ("field-changed", "uint8_t qs[20]")
    # The old assertion is told as well.
    assert "ggml-common.h:" in drift.remedy
    assert "its own assertion fails" in drift.remedy


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ("uint8_t qs[QK4_0 / 2], extra[2];", [("field-new", "uint8_t extra[2]")]),
        ("uint8_t qs[QK4_0 / 2]; uint8_t low : 4, high : 4;",
         [("field-new", "uint8_t low : 4"), ("field-new", "uint8_t high : 4")]),
        ("uint8_t qs[QK4_0 / 4], more[QK4_0 / 4];",
         [("field-changed", "uint8_t qs[8]"), ("field-new", "uint8_t more[8]")]),
    ],
)  # fmt: skip
def test_every_declarator_is_a_member(
    tree: Tree, members: str, expected: list[tuple[str, str]]
) -> None:
    new = STRUCT.replace("uint8_t qs[QK4_0 / 2];", members)
    one = doctored(tree, COMMON, (STRUCT, new))
    assert [(d.kind, d.theirs) for d in one.drift if d.name.startswith("Q4_0.")] == expected


def test_bit_fields_share_a_word() -> None:
    unit = Unit()
    unit.read(
        "typedef struct { uint8_t a : 3, b : 5, c : 4; uint16_t d : 9; uint8_t e; } s;\n", "a.h"
    )
    struct = unit.structs["s"]
    # As gcc lays them out: a and b in byte 0, c in byte 1, d from bit 16 on, e behind it.
    assert (struct.offsets, struct.bytes) == ((0, 0, 1, 2, 4), 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-0x7F", -127), ("~103", -104), ("'A'", 65), ("'\\\\0'", 0), ("1 ? 2 : 3", 2),
        ("(int8_t) 0x81", -127), ("(uint8_t) -1", 255), ("(unsigned) -1", 2**32 - 1),
        ("0b101", 5), ("- -5", 5), ("-010", -8), ("0x7Fu", 127), ("1_0", None),
        ("(what) 3", None), ("1 << 999999999999", None), ("0 ? 1 / 0 : 4", 4),
    ],
)  # fmt: skip
def test_numbers_of_c(text: str, expected: float | None) -> None:
    assert Unit().number(text.replace("\\\\", "\\")) == expected


@pytest.mark.parametrize("number", ["-0x68", "~103", "-'h'", "1 ? -104 : 0", "(int8_t) 152"])
def test_numbers_of_a_table(tree: Tree, number: str) -> None:
    """The same number written otherwise is no difference."""
    assert found(doctored(tree, COMMON, (IQ4_NL, IQ4_NL.replace("-104", number)))) == []


def test_command_says_it(tree: Tree, llama: Path, upstream: Any, tmp_path: Path) -> None:
    """In a folder with only some of the files: exit codes, what was not there, and JSON."""
    for name in (GGML_H, COMMON):
        target = tmp_path / tree.places[name]
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(llama / tree.places[name], target)
    good = upstream("check", "--ggml", tmp_path)
    assert good.exit_code == 0
    assert "not there, so not compared: gguf.h, ggml.c" in good.output
    assert good.output.splitlines()[-1] == "no drift in the files that are there"
    path = tmp_path / tree.places[COMMON]
    path.write_text(path.read_text().replace("QK4_0 / 2]", "QK4_0 / UNKNOWN]"))
    bad = upstream("check", "--ggml", tmp_path, "--json")
    assert bad.exit_code == 1
    (source,) = json.loads(bad.output)["sources"]
    (drift,) = source["drift"]
    assert (drift["kind"], drift["name"]) == ("struct-unread", "Q4_0")
    assert drift["line"] > 1
    assert f"{tree.places[COMMON]}:{drift['line']}: Q4_0" in source["unread"]
