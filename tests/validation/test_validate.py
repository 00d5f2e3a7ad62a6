"""`ggufspec.validate`: arguments, what is left out, files that are none, files that change."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec import native
from ggufspec.files.guard import guarded
from ggufspec.files.source import Source
from ggufspec.generated.rules import RULES
from ggufspec.validation import closer
from ggufspec.validation.holes import LIMIT
from support.container import PROFILES
from support.crafted import ARCHITECTURE, ARRAY, STRING, UINT8, V3, file


def rules(report: ggufspec.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


def test_arguments(sample: Path) -> None:
    missing = sample.with_name("missing.gguf")
    for wrong in ({"profile": "x"}, {"checks": ["x"]}, {"dialect": "x"}):
        with pytest.raises(ValueError, match="unknown"):
            ggufspec.validate(sample, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="profile"):
        ggufspec.validate(missing, "x")
    with pytest.raises(FileNotFoundError):
        ggufspec.validate(missing)
    with pytest.raises(TypeError):
        ggufspec.validate(7)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("data", [False, True])
def test_sample_is_valid_whoever_asks(sample: Path, profile: str, data: bool) -> None:
    assert ggufspec.validate(sample, profile, data=data).ok
    assert ggufspec.validate(sample.read_bytes(), profile, data).ok


def test_prefixes_give_a_report(sample: Path) -> None:
    data = sample.read_bytes()
    for end in [*range(0, 1200, 17), *range(1200, len(data), 5000)]:
        report = ggufspec.validate(data[:end])
        assert report.verdict in ("valid", "warnings", "invalid")


def test_damage_leaves_the_meaning_out(sample: Path) -> None:
    data = sample.read_bytes()[:900]
    report = ggufspec.validate(data, data=True)
    assert rules(report)[-1] == "GG0902"
    assert "keys and tensors, chat templates, tensor data; the structure is damaged" in (
        report.findings[-1].message
    )
    assert "GG0902" not in rules(ggufspec.validate(data, checks=("structure",)))
    assert rules(ggufspec.validate(data, checks=("meaning",))) == ["GG0902"]
    # the reader's profile is its verdict and nothing else
    assert "GG0902" not in rules(ggufspec.validate(data, "ggml", data=True))


def test_a_fault_of_the_base_is_told(sample: Path) -> None:
    report = ggufspec.validate(sample, base=sample.read_bytes()[:900])
    assert [f.message for f in report.findings if f.rule == "GG0902"] == [
        "not checked: whether it fits the base; of the base: the structure is damaged"
    ]


def test_errors_of_readers_become_findings(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ggufspec.GGUFError("it\x1b changed", code="GG0001", offset=3)

    monkeypatch.setattr("ggufspec.validation.kinds.check", fail)
    [finding] = [f for f in ggufspec.validate(sample).findings if f.rule == "GG0001"]
    assert (finding.message, finding.offset) == (r"it\x1b changed", 3)


def test_every_kind_of_check_has_modules() -> None:
    assert set(closer._MODULES) == {"structure", "meaning", "templates", "data"}


def test_structure_alone_is_light(sample: Path) -> None:
    """What an ordinary file does not need is not imported for it."""
    script = (
        "import sys\nfrom ggufspec.validation import validate\n"
        f"assert validate({str(sample)!r}, checks=['structure']).ok\n"
        "heavy = {'numpy', 'jinja2', 'ggufspec.validation.closer', 'ggufspec.files.reader'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


@pytest.mark.parametrize("kind", ["folder", "pipe", "device", "socket"])
def test_what_is_no_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "device":
            path.symlink_to("/dev/zero")
        case "socket":
            with closing(socket.socket(socket.AF_UNIX)) as made:
                made.bind(str(path))
    with pytest.raises(OSError, match=r"x\.gguf"):
        ggufspec.validate(path)


def sparse(path: Path, head: bytes, size: int) -> Path:
    with path.open("wb") as out:
        out.write(head)
        try:
            out.truncate(size)
        except OSError:
            pytest.skip("no file of that size here")
    with closing(Source(path)) as source:
        if not list(source.holes()):
            pytest.skip("no holes here")
    return path


HUGE = {
    "string": (STRING, V3.size(1 << 40)),
    "strings": (ARRAY, V3.array(STRING, 1 << 37)),
    "bytes": (ARRAY, V3.array(UINT8, 1 << 40)),
    "arrays": (ARRAY, V3.array(ARRAY, 1 << 36)),
}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("kind", HUGE)
def test_a_terabyte_of_nothing_in_the_keys(kind: str, profile: str, tmp_path: Path) -> None:
    head = V3.header(0, 1) + V3.pair("a.b", *HUGE[kind])
    report = ggufspec.validate(sparse(tmp_path / "a.gguf", head, (1 << 40) + 100), profile)
    assert report.verdict == "invalid"
    assert "GG0903" in rules(report)
    assert "GG0001" not in rules(report)
    assert "GG0002" not in rules(report)


@pytest.mark.parametrize("head", [b"", b"GGML", V3.header(0, 0, version=9)])
def test_a_terabyte_of_nothing_that_is_no_model(head: bytes, tmp_path: Path) -> None:
    report = ggufspec.validate(sparse(tmp_path / "a.gguf", head, 1 << 40), checks=["structure"])
    assert rules(report) == ["GG0102" if len(head) > 4 else "GG0101"]


def test_a_terabyte_of_nothing_behind_the_keys(tmp_path: Path) -> None:
    head = file([ARCHITECTURE], [V3.tensor("t", [1 << 36])])
    path = sparse(tmp_path / "a.gguf", head, len(head) + (1 << 38))
    report = ggufspec.validate(path, data=True, checks=["structure"])
    assert report.verdict == "warnings"
    assert rules(report) == ["GG0904", "GG0902"]
    assert ggufspec.validate(path, "ggml").verdict == "valid"


def test_small_holes_are_nothing(tmp_path: Path) -> None:
    head = file([ARCHITECTURE], [V3.tensor("t", [1 << 20])])
    path = sparse(tmp_path / "a.gguf", head, len(head) + (1 << 22))
    assert path.stat().st_size < LIMIT
    assert rules(ggufspec.validate(path, checks=["structure"])) == []


def test_limits_of_holes() -> None:
    assert set(RULES["GG0903"].limits.values()) == set(RULES["GG0904"].limits.values()) == {LIMIT}


# ---- files that are cut while they are read


def guards() -> bool:
    return hasattr(native.lib(), "ggufspec_guard_begin")


def cut(source: Source, path: Path, size: int) -> bytes:
    with guarded(source):
        view = source.view
        os.truncate(path, size)
        return bytes(view)


@pytest.mark.skipif(not guards(), reason="needs the compiled part, on a POSIX system")
@pytest.mark.parametrize("left", [0, 4096, 5000])
def test_a_file_that_is_cut_is_an_error(left: int, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * (1 << 20))
    source = Source(path)
    with pytest.raises(OSError, match="was cut"):
        cut(source, path, left)
    source.close()


@pytest.mark.skipif(not guards(), reason="needs the compiled part, on a POSIX system")
def test_many_files_are_guarded_at_once(tmp_path: Path) -> None:
    errors: list[OSError] = []

    def one(number: int) -> None:
        path = tmp_path / str(number)
        for _ in range(10):
            path.write_bytes(b"x" * (1 << 16))
            source = Source(path)
            try:
                cut(source, path, 0)
            except OSError as error:
                errors.append(error)
            source.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 80


@pytest.mark.skipif(not guards(), reason="needs the compiled part, on a POSIX system")
def test_other_faults_end_the_process_as_ever(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x" * (1 << 16))
    script = f"""
import os, signal
from ggufspec.files.guard import guarded
from ggufspec.files.source import Source
first, second = Source({str(path)!r}), Source({str(path)!r})
view = second.view
with guarded(first):
    pass
with guarded(first):
    os.truncate({str(path)!r}, 0)
    bytes(view)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode < 0
    assert b"OSError" not in done.stderr


def test_a_file_that_shrinks_before_the_end_is_an_error(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(sample.read_bytes())

    def shrink(*_: Any) -> None:
        os.truncate(path, 5000)

    monkeypatch.setattr("ggufspec.validation.kinds.check", shrink)
    with pytest.raises(OSError, match="cut") as caught:
        ggufspec.validate(path)
    assert caught.value.filename == str(path)


def test_numbers_of_any_size_are_reported(tmp_path: Path) -> None:
    ggufspec.write(tmp_path / "a.gguf", {"general.architecture": "x"}, {"t": np.ones(4)})
    report = ggufspec.validate(V3.header((1 << 64) - 1, (1 << 64) - 1))
    assert "18446744073709551615" in report.findings[0].message


def test_a_pipe_that_takes_the_place_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    regular, pipe = tmp_path / "a.gguf", tmp_path / "pipe"
    regular.write_bytes(b"GGUF")
    os.mkfifo(pipe)
    looked = regular.stat()
    monkeypatch.setattr(Path, "stat", lambda *_, **__: looked)
    with pytest.raises(OSError, match="not a regular file"):
        ggufspec.validate(str(pipe))


def test_a_file_that_shrinks_before_it_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF" * 1000)
    fstat, times = os.fstat, iter((4000, 8, 8, 8))

    def shrinking(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        os.truncate(path, next(times))
        return found

    monkeypatch.setattr("ggufspec.files.source.os.fstat", shrinking)
    with pytest.raises(OSError, match="cut"):
        ggufspec.validate(path)
