"""``upstream check``: real sources have exactly the known differences, a change is exactly one."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ggufspec.cli.failures import CommandError
from ggufspec.codegen.upstream import gguf_py
from ggufspec.codegen.upstream.compare import Comparison, Drift, compare
from ggufspec.codegen.upstream.facts import Facts, UnreadError
from ggufspec.codegen.upstream.headers import read_tree
from ggufspec.codegen.upstream.known import Known, load_known
from ggufspec.codegen.upstream.library import read_library
from ggufspec.codegen.upstream.tree import Tree, load_tree
from support import realfiles
from support.project import SPEC
from support.specs import real_spec

GGML_H, COMMON, GGUF_H, GGML_C = "ggml.h", "ggml-common.h", "gguf.h", "ggml.c"


def kinds(found: Comparison) -> list[tuple[str, str, str, str]]:
    return [(one.kind, one.name, one.spec, one.theirs) for one in found.drift]


@cache
def known() -> Known:
    return load_known(real_spec())


def held(tree: Tree) -> Comparison:
    return compare(real_spec(), read_tree(tree), known())


def only(tree: Tree, *names: str) -> Tree:
    """The tree without the other files, which take time to read."""
    return replace(tree, texts={name: tree.texts[name] for name in names})


def changed(tree: Tree, file: str, old: str, new: str) -> Tree:
    """The tree with one place of a file changed."""
    text = tree.texts[file]
    assert text.count(old) == 1, f"{text.count(old)} places"
    return replace(tree, texts={**tree.texts, file: text.replace(old, new)})


def line_of(tree: Tree, file: str, text: str) -> int:
    return tree.texts[file].split(text)[0].count("\n") + 1


# ---- real sources


def test_ggml_0_25_3_has_no_drift(facts: Facts) -> None:
    found = compare(real_spec(), facts, known())
    assert kinds(found) == []
    assert not found.facts.unread
    assert found.examined == {
        "types": 35, "structs": 27, "codebooks": 11, "file types": 37, "value types": 13,
        "keys": 383, "architectures": 154, "projectors": 63, "constants": 13,
    }  # fmt: skip
    # What is meant is there to be meant.
    meant = [reason for _, reason in found.meant]
    assert meant == list(load_known(real_spec()).differences)


def test_gguf_0_19_0_has_the_known_differences() -> None:
    found = compare(real_spec(), gguf_py.installed(), known())
    assert found.facts.name == "gguf 0.19.0"
    assert kinds(found) == [
        ("block-bytes", "Q8_1", "36", "40"),
        ("type-gone", "Q2_0", "id 42", ""),
        ("file-type-gone", "Q2_0", "41", ""),
    ]


def test_ggml_python_0_0_45_lacks_q2_0() -> None:
    found = compare(real_spec(), read_tree(load_tree(realfiles.ggml_archive())), known())
    assert kinds(found) == [("type-gone", "Q2_0", "id 42", "")]
    assert found.examined["structs"] == 26
    assert found.facts.unread == ("llama.h", "llama-arch.cpp", "clip-impl.h", "constants.py")


def test_library_0_20_2_has_no_drift(library_path: Path) -> None:
    found = compare(real_spec(), read_library(library_path), known())
    assert kinds(found) == []
    assert found.facts.name == "libggml-base.so 0.20.2"
    assert found.examined == {"types": 35, "value types": 13}


def test_archives_are_read_as_folders_are(llama: Path, tmp_path: Path) -> None:
    inside = "some-1.0/vendor/llama.cpp"
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(llama, inside)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        for path in sorted(llama.rglob("*")):
            packed.write(path, f"{inside}/{path.relative_to(llama)}")
    expected = load_tree(llama)
    for name in ("a.tar.gz", "a.zip"):
        found = load_tree(tmp_path / name)
        assert (found.root, found.texts) == (inside, expected.texts)
        assert found.places == expected.places


def test_what_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.gz").write_bytes(b"no archive at all, and longer than a block" * 20)
    (tmp_path / "cut.zip").write_bytes(b"PK\x03\x04 and no more")
    for path in tmp_path.iterdir():
        with pytest.raises(UnreadError):
            load_tree(path)


# ---- a change is exactly one difference

_STRUCT = "    uint8_t qs[QK4_0 / 2]; // nibbles / quants\n} block_q4_0;"


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (GGML_H, "GGML_TYPE_Q1_0    = 41,", "GGML_TYPE_Q1_0    = 43,",
         ("type-renumbered", "Q1_0", "41", "43")),
        (GGML_H, "GGML_TYPE_Q2_0    = 42,\n        GGML_TYPE_COUNT   = 43,",
         "GGML_TYPE_Q2_0    = 42,\n  GGML_TYPE_Q3_0    = 43,\n  GGML_TYPE_COUNT   = 44,",
         ("type-new", "Q3_0", "", "id 43")),
        (GGML_H, "        GGML_TYPE_Q1_0    = 41,\n", "",
         ("type-gone", "Q1_0", "id 41", "")),
        (GGML_H, "GGML_TYPE_Q1_0    = 41,", "GGML_TYPE_B1_0    = 41,",
         ("type-renamed", "Q1_0", "Q1_0, id 41", "B1_0, id 41")),
        (GGML_H, "// GGML_TYPE_Q4_2 = 4, support has been removed", "GGML_TYPE_Q4_2 = 4,",
         ("type-revived", "Q4_2", "removed, id 4", "id 4")),
        (GGML_H, "#define GGML_QNT_VERSION        2", "#define GGML_QNT_VERSION        (1 + 2)",
         ("constant-changed", "GGML_QNT_VERSION", "2", "3")),
        (GGML_H, "#define GGML_MAX_DIMS           4", "#define GGML_MAX_DIMS           5",
         ("constant-changed", "GGML_MAX_DIMS", "4", "5")),
        (GGUF_H, "#define GGUF_DEFAULT_ALIGNMENT 32", "#define GGUF_DEFAULT_ALIGNMENT 64",
         ("constant-changed", "GGUF_DEFAULT_ALIGNMENT", "32", "64")),
        (GGUF_H, '#define GGUF_MAGIC   "GGUF"', '#define GGUF_MAGIC   "GG" "UG"',
         ("constant-changed", "GGUF_MAGIC", "GGUF", "GGUG")),
        (GGUF_H, "GGUF_TYPE_FLOAT64 = 12,", "GGUF_TYPE_FLOAT64 = 12,\n GGUF_TYPE_FLOAT16,",
         ("value-type-new", "FLOAT16", "", "13")),
        (COMMON, _STRUCT, _STRUCT.replace("uint8_t qs", "int8_t qs"),
         ("field-changed", "Q4_0.qs", "uint8_t qs[16]", "int8_t qs[16]")),
        (COMMON, _STRUCT, _STRUCT.replace("/ 2]", "/ 4]"),
         ("field-changed", "Q4_0.qs", "uint8_t qs[16]", "uint8_t qs[8]")),
        (COMMON, _STRUCT, f"    uint16_t aux;\n{_STRUCT}",
         ("field-new", "Q4_0.aux", "", "uint16_t aux")),
        (COMMON, "    uint8_t  scales_l[QK_K/64];\n    uint8_t  qs[QK_K/2];\n",
         "    uint8_t  qs[QK_K/2];\n    uint8_t  scales_l[QK_K/64];\n",
         ("field-order", "IQ4_XS", "d, scales_h, scales_l, qs", "d, scales_h, qs, scales_l")),
        (COMMON, "    uint16_t scales_h;\n", "",
         ("field-gone", "IQ4_XS.scales_h", "uint16_t scales_h", "")),
        (COMMON, '"wrong q4_0 block size/padding"', '"other words"', None),
        (COMMON, "static_assert(sizeof(block_q4_0) == sizeof(ggml_half) + QK4_0 / 2",
         "static_assert(sizeof(block_q4_0) == sizeof(ggml_half) + QK4_0 / 4",
         ("struct-doubtful", "Q4_0", "18", "its own assertion fails")),
        (COMMON, "#define IQ1S_DELTA 0.125f", "#define IQ1S_DELTA 0.25f",
         ("constant-changed", "IQ1S_DELTA", "0.125", "0.25")),
        (COMMON, "GGML_TABLE_BEGIN(uint8_t, kmask_iq2xs, 8)\n    1,",
         "GGML_TABLE_BEGIN(uint8_t, kmask_iq2xs, 8)\n    3,",
         ("table-changed", "kmask_iq2xs", "*", "*")),
        (COMMON, "GGML_TABLE_BEGIN(int8_t, kvalues_iq4nl, 16)\n    -127,",
         "GGML_TABLE_BEGIN(int8_t, kvalues_iq4nl, 16)\n    -126,",
         ("table-changed", "kvalues_iq4nl", "[0] = 0x81", "[0] = 0x82 (one entry)")),
        (COMMON, "GGML_TABLE_BEGIN(int8_t, kvalues_iq4nl, 16)",
         "GGML_TABLE_BEGIN(int8_t, kvalues_new, 2) 1, 2 GGML_TABLE_END()\n"
         "GGML_TABLE_BEGIN(int8_t, kvalues_iq4nl, 16)",
         ("table-new", "kvalues_new", "", "2 numbers")),
    ],
)  # fmt: skip
def test_doctored_header(
    tree: Tree, file: str, old: str, new: str, expected: tuple[str, ...] | None
) -> None:
    doctored = changed(only(tree, *{GGML_H: 0, file: 0}), file, old, new)
    found = held(doctored)
    if expected is None:
        assert kinds(found) == []
        return
    (one,) = found.drift
    for value, wanted in zip((one.kind, one.name, one.spec, one.theirs), expected, strict=True):
        assert wanted in {"*", value}
    assert one.remedy
    if not one.theirs:
        return
    # The place is the line of what changed.
    assert one.place.file == tree.places[file]
    first = line_of(doctored, file, new)
    assert first <= one.place.line <= first + new.count("\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        (GGML_C, ".blck_size                = QK4_NL,", ".blck_size = 2 * QK4_NL,",
         ("block-elements", "IQ4_NL", "32", "64")),
        (GGML_C, ".type_size                = sizeof(block_nvfp4),", ".type_size = 40,",
         ("block-bytes", "NVFP4", "36", "40")),
        ("gguf.cpp", "{GGUF_TYPE_BOOL,    sizeof(int8_t)},", "{GGUF_TYPE_BOOL, sizeof(int)},",
         ("value-type-bytes", "BOOL", "1", "4")),
        ("llama.h", "LLAMA_FTYPE_MOSTLY_Q2_0          = 41,", "LLAMA_FTYPE_MOSTLY_Q2_0 = 42,",
         ("file-type-renumbered", "Q2_0", "41", "42")),
        ("llama.h", "LLAMA_FTYPE_GUESSED = 1024,", "LLAMA_FTYPE_X = 43, LLAMA_FTYPE_GUESSED = 1024",
         ("file-type-new", "X", "", "43")),
        ("llama-arch.cpp", '{ LLM_ARCH_LLAMA4,           "llama4"           },',
         '{ LLM_ARCH_LLAMA4, "llama4" }, { LLM_ARCH_LLAMA5, "llama5" },',
         ("architecture-new", "llama5", "", "llama5")),
        ("llama-arch.cpp", '{ LLM_ARCH_LLAMA4,           "llama4"           },', "",
         ("architecture-gone", "llama4", "llama4", "")),
        ("llama-arch.cpp", '"%s.vocab_size"', '"%s.vocab_length"',
         ("key-new", "{arch}.vocab_length", "", "{arch}.vocab_length")),
        ("clip-impl.h", '"ldpv2"', '"ldpv3"', ("projector-new", "ldpv3", "", "ldpv3")),
        ("constants.py", 'BLOCK_SIZE = "{arch}.attn_res.block_size"',
         'BLOCK_SIZE = "{arch}.attn_res.size"',
         ("key-new", "{arch}.attn_res.size", "", "{arch}.attn_res.size")),
    ],
)  # fmt: skip
def test_doctored_source(
    tree: Tree, file: str, old: str, new: str, expected: tuple[str, ...]
) -> None:
    needed = {GGML_H, file} | ({COMMON} if file == GGML_C else set())
    needed |= {GGUF_H} if file == "gguf.cpp" else set()
    doctored = changed(only(tree, *needed), file, old, new)
    assert kinds(held(doctored)) == [expected]


def test_headers_of_another_form(tree: Tree) -> None:
    for file, old, new in (
        (GGML_H, "enum ggml_type {", "enum ggml_kind {"),
        (GGUF_H, "enum gguf_type {", "enum gguf_kind {"),
        (GGML_H, "GGML_TYPE_Q1_0    = 41,", "GGML_TYPE_Q1_0 = some_function(41),"),
    ):
        doctored = changed(only(tree, GGML_H, GGUF_H), file, old, new)
        with pytest.raises(UnreadError, match="has no enum"):
            read_tree(doctored)


def test_hostile_headers(tree: Tree) -> None:
    """Macros that double and parentheses without end are refused, soon and with a reason."""
    doubling = "".join(f"#define A{n} A{n + 1} A{n + 1}\n" for n in range(50)) + "int x = A0;\n"
    nested = f"enum deep {{ X = {'(' * 20_000}1{')' * 20_000} }};\n"
    for text, said in ((doubling, "macros expand to more than"), (nested, "nested too deeply")):
        doctored = only(tree, GGML_H)
        doctored = replace(doctored, texts={GGML_H: text + doctored.texts[GGML_H]})
        with pytest.raises(UnreadError, match=said):
            read_tree(doctored)


def test_gguf_py_of_another_form() -> None:
    with pytest.raises(UnreadError, match="GGMLQuantizationType"):
        gguf_py.read("X = 1\n", "constants.py")
    with pytest.raises(UnreadError, match="not Python"):
        gguf_py.read("class (:\n", "constants.py")


# ---- differences that are meant


@pytest.fixture
def own_spec(tmp_path: Path) -> Callable[..., Any]:
    """The spec with another root, where one of its files is changed."""

    def make(file: str, old: str, new: str) -> Any:
        shutil.copytree(SPEC, tmp_path / "spec", dirs_exist_ok=True)
        path = tmp_path / "spec" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return replace(real_spec(), root=tmp_path / "spec")

    return make


def test_a_difference_can_be_meant(own_spec: Callable[..., Any]) -> None:
    entry = "differences:\n  - {kind: block-bytes, name: Q8_1, source: gguf-py, why: a fault there}"
    spec = own_spec("upstream.yaml", "differences:", entry)
    facts = replace(gguf_py.installed(), keys=None, file_types=None)
    found = compare(spec, facts)
    assert [one.kind for one in found.drift] == ["type-gone"]
    ((drift, reason),) = found.meant
    assert (drift.name, reason.why) == ("Q8_1", "a fault there")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ksigns: {theirs", "ksings: {theirs", "the spec has no table ksings"),
        ("ours: [qs.grid, qs.aux]", "ours: [qs.grid, qs.sign]", "IQ2_XXS has no field qs.sign"),
        ("at: container/layout.yaml, path: [current]", "at: container/lay.yaml, path: [current]",
         "the spec has no file container/lay.yaml"),
        ("path: [current]", "path: [latest]", "container/layout.yaml has no latest"),
        ("'uint8_t qs[96]'", "'uint8_t *qs'", "is not a member as C declares it"),
        ("path: [current]", "path: [versions]", "no number and no text"),
    ],
)  # fmt: skip
def test_faults_of_the_file(own_spec: Callable[..., Any], old: str, new: str, message: str) -> None:
    from ggufspec.codegen.errors import SpecError

    spec = own_spec("upstream.yaml", old, new)
    with pytest.raises(SpecError, match=re.escape(message)):
        load_known(spec)


# ---- the command


def test_command(upstream: Any, library_path: Path) -> None:
    good = upstream("check", "--library", library_path)
    assert (good.exit_code, good.output.splitlines()[-1]) == (0, "no drift")
    bad = upstream("check", "--gguf-py", "--json")
    assert bad.exit_code == 1
    (source,) = json.loads(bad.output)["sources"]
    q8_1 = source["drift"][0]
    assert (q8_1["kind"], q8_1["spec"], q8_1["theirs"]) == ("block-bytes", "36", "40")
    assert q8_1["file"] == "gguf/constants.py"
    assert q8_1["line"] > 1
    shown = upstream("check", "--gguf-py")
    assert shown.exit_code == 1
    assert "file-type-gone" in shown.output
    assert "3 differences" in shown.output


def test_command_refuses(upstream: Any, tmp_path: Path) -> None:
    for arguments, code in (
        ((), 2),
        (("--ggml", tmp_path), 3),
        (("--library", tmp_path), 3),
    ):
        done = upstream("check", *arguments)
        assert isinstance(done.exception, CommandError)
        assert done.exception.exit == code
    for option in ("--ggml", "--library"):
        done = upstream("check", option, tmp_path / "none")
        assert isinstance(done.exception, FileNotFoundError)


def test_drift_is_told_in_a_line(tree: Tree) -> None:
    """No text of a source moves the cursor."""
    doctored = changed(
        only(tree, GGML_H, "llama-arch.cpp"), "llama-arch.cpp", '"llama4"', '"llama\\033[2J\\n"'
    )
    (one,) = (d for d in held(doctored).drift if d.theirs)
    assert isinstance(one, Drift)
    from ggufspec.codegen.upstream.commands import _row

    assert all(cell.isprintable() for cell in _row(one))
