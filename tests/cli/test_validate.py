"""``ggufspec validate``: verdicts, exit codes, several files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ggufspec

Run = Callable[..., Any]


@pytest.fixture
def broken(sample: Path, tmp_path: Path) -> Path:
    path = tmp_path / "broken.gguf"
    path.write_bytes(sample.read_bytes()[:3000])
    return path


@pytest.fixture
def unknown(small: Path) -> Path:
    """A file that is right but for a type of the future."""
    data = bytearray(small.read_bytes())
    place = data.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
    data[place : place + 4] = (99).to_bytes(4, "little")
    small.write_bytes(data)
    return small


@pytest.mark.parametrize("profile", ["strict", "ggml", "spec", "lenient"])
def test_valid(run: Run, sample: Path, profile: str) -> None:
    result = run("validate", sample, "--profile", profile)
    assert result.code == 0, result.out
    assert f"valid (profile {profile})" in result.out


def test_invalid(run: Run, broken: Path) -> None:
    result = run("validate", broken)
    assert result.code == 1
    assert "invalid" in result.out
    told = run("validate", "--json", broken).json["files"]
    assert [file["verdict"] for file in told] == ["invalid"]
    finding = told[0]["findings"][0]
    assert finding["rule"].startswith("GG")
    assert set(finding) == {"rule", "severity", "offset", "path", "message", "hint"}


@pytest.fixture
def cut(sample: Path, tmp_path: Path) -> Path:
    """All keys, and the data of the first tensors."""
    path = tmp_path / "cut.gguf"
    path.write_bytes(sample.read_bytes()[:2_000_000])
    return path


def test_people_are_told_the_first_few_of_a_kind(run: Run, cut: Path) -> None:
    everything = run("validate", "--json", cut).json["files"][0]["findings"]
    lines = [line for line in run("validate", cut).out.splitlines() if "GG0602" in line]
    assert len(everything) == 30
    assert len(lines) == 6
    assert [line.count("fetch it again") for line in lines] == [1, 0, 0, 0, 0, 0]
    assert lines[-1].endswith("25 more of these; --json lists all")


def test_data_that_are_cut_are_not_of_an_unknown_layout(run: Run, cut: Path) -> None:
    told = run("validate", cut, "--data").out
    assert "not checked: data of 30 tensors; the file ends before their data do" in told
    assert "layout" not in told


def test_a_base_that_nothing_is_held_against(run: Run, sample: Path) -> None:
    result = run("validate", sample, "--with", sample)
    assert result.code == 0
    assert "not checked: whether it fits the base" in result.out
    for options in (["--profile", "ggml"], ["--checks", "structure"]):
        result = run("validate", sample, "--with", sample, *options)
        assert result.code == 2
        assert "--with has no effect here" in result.err


def test_unsupported(run: Run, unknown: Path) -> None:
    result = run("validate", unknown)
    assert result.code == 3
    assert "unsupported" in result.out


def test_warnings(run: Run, small: Path) -> None:
    small.write_bytes(small.read_bytes() + b"trailing")
    assert run("validate", small).code == 0
    assert "valid, with warnings" in run("validate", small).out
    assert run("validate", small, "--fail-on", "warning").code == 1


def test_several_files(run: Run, sample: Path, broken: Path, unknown: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none.gguf"
    assert run("validate", sample, sample).code == 0
    assert run("validate", sample, unknown).code == 3
    assert run("validate", unknown, broken, sample).code == 1
    result = run("validate", sample, missing, broken, unknown, "--json")
    assert result.code == 4
    files = result.json["files"]
    assert [Path(file["file"]).name for file in files] == [
        "sample.gguf", "none.gguf", "broken.gguf", "small.gguf",
    ]  # fmt: skip
    assert files[1]["error"]["exit"] == 4


def test_text_of_findings_is_escaped(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "evil.gguf"
    ggufspec.write(path, {"a\x1b[2J\u202e": "x"})
    result = run("validate", path)
    assert all(line.isprintable() for line in (result.out + result.err).split("\n"))
    assert result.code == 1
