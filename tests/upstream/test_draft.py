"""``upstream draft``: the file it writes, and that no generator takes a draft for a type."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ggufspec.cli.failures import CommandError
from ggufspec.codegen.errors import SpecError
from ggufspec.codegen.spec import load_spec
from ggufspec.codegen.upstream.draft import draft
from ggufspec.codegen.upstream.facts import Facts, StructField, TypeFacts, UnreadError
from support.project import SPEC
from support.specs import real_spec, small_tree


def test_skeleton(facts: Facts) -> None:
    """Without a library: the struct's fields, sizes, the id, and TODO where only a person knows."""
    made = draft(real_spec(), "q2_0", facts)
    lines = made.text.splitlines()
    assert lines[0] == (
        "# A draft of `ggufspec upstream draft`, from ggml/include/ggml.h:432; "
        "every TODO wants you."
    )
    assert lines[1:] == [
        "id: 42", "name: Q2_0", "status: live", "since: TODO", "doc: TODO", "elements: 64",
        "bytes: 18", "fields: {d: f16, qs: 'u8[16]'}", "order: TODO", "codes: TODO", "decode:",
        "  x: TODO", "valid:", "  - finite(d)",
    ]  # fmt: skip
    assert made.map is None


def test_every_type_has_a_skeleton(facts: Facts) -> None:
    for name, kind in (facts.types or {}).items():
        made = draft(real_spec(), name, facts)
        expected = real_spec().type(name)
        assert f"\nelements: {expected.elements}\nbytes: {expected.bytes}\n" in made.text
        assert f"\nid: {kind.id}\n" in made.text


def test_a_draft_is_refused_until_it_is_done(facts: Facts, tmp_path: Path) -> None:
    """The loader names each TODO in turn; with all of them done the type is there."""
    text = draft(real_spec(), "Q2_0", facts).text
    done = [
        ("since: TODO", "since: now"),
        ("doc: TODO", "doc: two bits"),
        ("order: TODO", "order: {b: 16, j: 4}"),
        ("codes: TODO", "codes: {q: 'bits(qs[b], 2*j, 2)'}"),
        ("x: TODO", "x: d * (q - 1)"),
    ]
    root = small_tree(tmp_path, {"types/q2_0.yaml": text.encode()})
    for old, new in done:
        with pytest.raises(SpecError, match="this type is a draft") as caught:
            load_spec(root)
        line = text.splitlines().index(old if old[0] != "x" else "  x: TODO") + 1
        assert (caught.value.file, caught.value.line) == ("types/q2_0.yaml", line)
        text = text.replace(old, new)
        (root / "types/q2_0.yaml").write_text(text)
    kind = load_spec(root).type("Q2_0")
    assert (kind.id, kind.elements, kind.bytes) == (42, 64, 18)


def test_what_cannot_be_drafted(facts: Facts) -> None:
    with pytest.raises(UnreadError, match="has no type Q9_0; it has F32, F16"):
        draft(real_spec(), "Q9_0", facts)
    unknown = TypeFacts("X", 43, facts.types["F32"].place)  # type: ignore[index]
    with pytest.raises(UnreadError, match="how large"):
        draft(real_spec(), "X", replace(facts, types={"X": unknown}))
    for members, said in (
        ((StructField("p", "void", None),), "is a void"),
        ((StructField("d", "ggml_half", None),), "fill 2 of 9 bytes"),
    ):
        kind = replace(unknown, elements=8, bytes=9, fields=members)
        with pytest.raises(UnreadError, match=said):
            draft(real_spec(), "X", replace(facts, types={"X": kind}))


def test_command(upstream: Any, llama: Path, library_path: Path, tmp_path: Path) -> None:
    target = tmp_path / "q4_k.yaml"
    arguments = ("draft", "Q4_K", "--ggml", llama)
    done = upstream(*arguments, "--library", library_path, "-o", target)
    assert done.exit_code == 0
    assert "claim every bit once" in done.output
    text = target.read_text()
    # The proposal, but for names, is the spec's own.
    wanted = re.search(r"(?s)codes:.*?  q: .*?\n", (SPEC / "types/q4_k.yaml").read_text())
    assert wanted is not None
    expected = re.sub(r"\b[pu]\b", lambda m: "ab"["pu".index(m[0])], wanted[0])
    expected = re.sub(r"\bh\b", "c", expected)
    found = re.sub(r"(?m)^# ", "", text)
    assert expected in found
    again = upstream(*arguments, "-o", target)
    assert isinstance(again.exception, CommandError)
    assert again.exception.exit == 2
    assert target.read_text() == text
    without = upstream("draft", "Q4_K")
    assert isinstance(without.exception, CommandError)


def test_command_draws_the_bits(
    upstream: Any, llama: Path, library_path: Path, tmp_path: Path
) -> None:
    target = tmp_path / "q5_0.yaml"
    target.write_text("old")
    arguments = ("draft", "Q5_0", "--ggml", llama, "--library", library_path, "-o", target)
    done = upstream(*arguments, "--force", "--json")
    assert done.exit_code == 0
    record = json.loads(done.output)
    assert (record["text"], record["proved"]) == (target.read_text(), True)
    assert len(record["numbers"]) == 33
    assert [line[2:] for line in record["text"].splitlines() if line.startswith("# byte")] == [
        "byte 0..1     d        f16 of 0..31",
        "byte 2..5     qh       [7:0] bit 4 of the codes of 0..7, +8 a byte",
        "byte 6..21    qs       [7:4] code of 16..31 [3:0] code of 0..15",
    ]
