"""Split sets in a report: every way in which files do not belong together, all of them at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import Value
from ggufspec.files.shard_names import shard_name
from ggufspec.validation import reading
from support.models import split_keys

COUNT = 3


def write_set(folder: Path, changed: dict[int, dict[str, Any]] | None = None) -> list[Path]:
    """A file for each number, with a tensor each; `changed` are keys and options of some."""
    paths = []
    for number in range(COUNT):
        own = dict((changed or {}).get(number, {}))
        options = {name: own.pop(name) for name in ("version", "byte_order") if name in own}
        tensor = own.pop("tensor", f"t{number}")
        first = {"general.architecture": "llama"} if number == 0 else {}
        metadata = first | split_keys(number, COUNT, COUNT) | own
        metadata = {key: value for key, value in metadata.items() if value is not None}
        path = folder / shard_name("model", number + 1, COUNT)
        ggufspec.write(path, metadata, {tensor: np.ones(8, np.float32)}, **options)
        paths.append(path)
    return paths


def faults(report: ggufspec.Report) -> list[tuple[str, str]]:
    return [(f.rule, f.file[6:11]) for f in report.findings if f.rule.startswith("GG08")]


@pytest.mark.parametrize("given", range(COUNT))
@pytest.mark.parametrize("checks", [("structure",), ("structure", "meaning", "templates")])
def test_any_file_stands_for_the_set(given: int, checks: tuple[str, ...], tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    report = ggufspec.validate(paths[given], checks=checks)
    assert report.ok
    assert report.files == tuple(map(str, paths))
    assert not {"GG0701", "GG0702"} & {finding.rule for finding in report.findings}


WRONG: dict[str, tuple[dict[int, dict[str, Any]], list[tuple[str, str]]]] = {
    "number": ({1: {"split.no": Value("UINT16", 2)}}, [("GG0804", "00002")]),
    "number is no number": ({1: {"split.no": Value("STRING", "1")}}, [("GG0802", "00002")]),
    "count": ({2: {"split.count": Value("UINT16", 4)}}, [("GG0805", "00003")]),
    "no count": ({2: {"split.count": None}}, [("GG0802", "00003")]),
    "tensor twice": (
        {2: {"tensor": "t0"}},
        [("GG0807", "00001"), ("GG0807", "00002"), ("GG0807", "00003"), ("GG0806", "00003")],
    ),
    "tensors": ({0: {"split.tensors.count": Value("INT32", 4)}}, [("GG0807", "00001")]),
    "version": ({1: {"version": 2}}, [("GG0808", "00002")]),
    "alignment": ({1: {"general.alignment": 64}}, [("GG0809", "00002")]),
    "byte order": ({1: {"byte_order": "big"}}, [("GG0810", "00002")]),
    "swapped": (
        {1: {"split.no": Value("UINT16", 2)}, 2: {"split.no": Value("UINT16", 1)}},
        [("GG0804", "00002"), ("GG0804", "00003")],
    ),
    "other value": ({2: {"general.architecture": "qwen2"}}, [("GG0812", "00003")]),
    "other type": (
        {0: {"a.b": Value("UINT32", 1)}, 1: {"a.b": Value("INT32", 1)}},
        [("GG0812", "00002")],
    ),
    "all at once": (
        {1: {"split.no": Value("UINT16", 2), "version": 2}, 2: {"split.count": Value("INT8", 9)}},
        [("GG0804", "00002"), ("GG0808", "00002"), ("GG0805", "00003")],
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_belong(wrong: str, tmp_path: Path) -> None:
    changed, expected = WRONG[wrong]
    paths = write_set(tmp_path, changed)
    report = ggufspec.validate(paths[0])
    assert sorted(faults(report)) == sorted(expected)
    assert report.verdict == "invalid"
    for finding in report.findings:
        if finding.offset is not None:
            assert finding.offset < (tmp_path / finding.file).stat().st_size
    if expected[0][0] == "GG0812":  # which `open` does not look for
        return
    # what opens a set refuses the same one
    with pytest.raises(ggufspec.GGUFError) as caught:
        ggufspec.open(paths[0])
    assert caught.value.code in {rule for rule, _ in expected}


def test_keys_that_nobody_looks_at(tmp_path: Path) -> None:
    own = {"tokenizer.chat_template": "x", "a.b": "y", "general.architecture": "llama"}
    report = ggufspec.validate(write_set(tmp_path, {2: own})[0], checks=["structure"])
    [finding] = report.findings
    assert (finding.rule, finding.file) == ("GG0813", "model-00003-of-00003.gguf")
    assert "2 keys that the first file lacks, tokenizer.chat_template among" in finding.message


def test_missing_files(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[0].unlink()
    paths[2].unlink()
    report = ggufspec.validate(paths[1])
    assert [f.rule for f in report.findings] == ["GG0803", "GG0902"]
    message = "model-00001-of-00003.gguf is missing; the set lacks 2 of its 3 files"
    assert report.findings[0].message == message
    assert "files of the set are missing" in report.findings[-1].message
    assert report.files == (str(paths[1]),)


def test_a_count_beyond_reason_is_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is listed once, not each file looked for; one finding tells of all."""
    path = tmp_path / "model-00001-of-99999.gguf"
    ggufspec.write(path, {"general.architecture": "x", "split.count": Value("UINT32", 99999)})
    opened: list[str] = []
    source = reading.open_source

    def counted(origin: Any) -> Any:
        opened.append(str(origin))
        return source(origin)

    monkeypatch.setattr(reading, "open_source", counted)
    report = ggufspec.validate(path)
    [missing] = [finding for finding in report.findings if finding.rule == "GG0803"]
    assert "lacks 99,998 of its 99,999 files" in missing.message
    assert len(opened) < 3
    with pytest.raises(ggufspec.GGUFError, match="lacks 99,998") as caught:
        ggufspec.open(path)
    assert caught.value.code == "GG0803"


def test_files_after_a_gap_are_read(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[1].unlink()
    assert ggufspec.validate(paths[0]).files == (str(paths[0]), str(paths[2]))


def test_name_that_is_none_of_a_set(tmp_path: Path) -> None:
    path = write_set(tmp_path)[0].rename(tmp_path / "model.gguf")
    report = ggufspec.validate(path)
    assert [f.rule for f in report.findings if f.severity == "error"] == ["GG0801"]
    assert report.files == (str(path),)


def test_damage_in_one_file_is_told_with_its_name(tmp_path: Path) -> None:
    paths = write_set(tmp_path)
    paths[1].write_bytes(paths[1].read_bytes()[:50])
    report = ggufspec.validate(paths[0])
    errors = [finding for finding in report.findings if finding.severity == "error"]
    assert [(e.rule[:4], e.file) for e in errors] == [("GG00", paths[1].name)]
    assert any(finding.rule == "GG0902" for finding in report.findings)


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write_set(tmp_path)
    opened: list[str] = []
    source = reading.open_source

    def counted(origin: Any) -> Any:
        opened.append(str(origin))
        return source(origin)

    monkeypatch.setattr(reading, "open_source", counted)
    ggufspec.validate(paths[2])
    assert sorted(opened) == sorted(map(str, paths))


def test_the_readers_profile_looks_at_one_file(tmp_path: Path) -> None:
    path = write_set(tmp_path)[0]
    for other in tmp_path.glob("*-0000[23]-*"):
        other.unlink()
    report = ggufspec.validate(path, "ggml")
    assert (report.verdict, report.findings) == ("valid", ())


def test_bytes_have_no_neighbours(tmp_path: Path) -> None:
    data = write_set(tmp_path)[0].read_bytes()
    report = ggufspec.validate(data)
    assert report.ok
    assert "GG0811" in [finding.rule for finding in report.findings]
