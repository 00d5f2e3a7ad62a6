"""What drafts, verdicts, folders of libraries and pages of types say plainly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ggufspec.cli.failures import CommandError
from ggufspec.codegen.targets.docs import types as pages
from ggufspec.codegen.upstream.draft import draft
from ggufspec.codegen.upstream.facts import Facts
from ggufspec.codegen.upstream.library import Library
from support.specs import real_spec


@pytest.mark.parametrize(
    ("name", "table"), [("IQ4_XS", "kvalues_iq4nl"), ("MXFP4", "kvalues_mxfp4")]
)
def test_a_codebook_stands_upright(facts: Facts, library: Library, name: str, table: str) -> None:
    made = draft(real_spec(), name, facts, library)
    shown = [float(word) for word in made.levels.removeprefix("a codebook: ").split(", ")]
    wanted = [float(value) for value in real_spec().tables[table].data]
    assert [value * abs(wanted[1]) for value in shown] == pytest.approx(
        [value * abs(shown[1]) for value in wanted], rel=1e-3
    )


def test_types_without_functions_are_not_compared(upstream: Any, library_path: Path) -> None:
    arguments = ("verify", "I16", "F64", "--library", library_path)
    done = upstream(*arguments)
    assert done.exit_code == 3
    assert done.output.startswith("I16: not compared: the library does not decode it")
    assert "alike" not in done.output
    records = json.loads(upstream(*arguments, "--json").output)
    assert [(one["ok"], one["compared"]) for one in records] == [(False, False)] * 2
    both = upstream("verify", "I8", "F16", "--library", library_path, "--blocks", 50)
    assert both.exit_code == 3
    assert "F16: alike" in both.output


@pytest.mark.parametrize("below", ["lib64", "lib", "some/lib"])
def test_a_library_below_a_package(
    upstream: Any, library_path: Path, tmp_path: Path, below: str
) -> None:
    (tmp_path / below).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / below).symlink_to(library_path.parent, target_is_directory=True)
    done = upstream("check", "--library", tmp_path)
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "no drift")


def test_errors_name_the_library(upstream: Any, tmp_path: Path) -> None:
    path = tmp_path / "libggml-base.so"
    path.write_bytes(b"no library")
    done = upstream("check", "--library", path)
    assert isinstance(done.exception, CommandError)
    assert done.exception.exit == 3
    assert "libggml-base.so" in str(done.exception)


def test_pages_say_where_nested_fields_are() -> None:
    page = pages._fields(real_spec().type("IQ2_XXS"))
    assert "| block | 2, every 8 bytes | <code>qs.grid</code>" in page
    assert "| block | 6, every 8 bytes | <code>qs.aux</code>" in page
    assert "every" not in pages._fields(real_spec().type("Q4_K"))


def test_pages_say_what_a_digit_is() -> None:
    """The sentence is what the decoder does: each byte's digits, the most significant first."""
    for name, has in (("TQ1_0", True), ("TQ2_0", False)):
        text = pages._codes(real_spec().type(name))
        assert ("((byte * 3^n mod 256) * 3) >> 8" in text) == has
