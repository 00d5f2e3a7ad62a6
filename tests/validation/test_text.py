"""GG17: names and texts that mislead, links that lead where nobody should go."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from ggufspec.validation.links import bad_links
from support.crafted import ARCHITECTURE, ARRAY, STRING, V3, file

ONE = np.zeros(4, np.float32)


def rules(path: Path, metadata: dict[str, Any], *names: str, profile: str = "strict") -> list[str]:
    ggufspec.write(path, {"general.architecture": "llama", **metadata}, dict.fromkeys(names, ONE))
    report = ggufspec.validate(path, profile, checks=("meaning",))
    return [finding.rule for finding in report.findings if finding.rule.startswith("GG17")]


TEXTS = {
    "escape sequence": ("a\x1b[2Jb", ["GG1702"]),
    "DEL and C1": ("a\x7f\x9b", ["GG1702"]),
    "tabs and lines": ("one\n\ttwo\r\n", []),
    "override": ("M\u202eIT", ["GG1703"]),
    "isolate": ("\u2066a\u2069", ["GG1703"]),
    "zero width space": ("a\u200bb", ["GG1704"]),
    "byte order mark": ("\ufeffname", ["GG1704"]),
    "tag characters": ("hi\U000e0041\U000e0042", ["GG1704"]),
    "joiner beside ASCII": ("a\u200db", ["GG1704"]),
    "joiner in an emoji": ("\U0001f468\u200d\U0001f469\u200d\U0001f467", []),
    "joiner in Persian": ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", []),
    "right-to-left letters": ("\u05e9\u05dc\u05d5\u05dd", []),
    "umlauts": ("Größe", []),
    "control and override": ("\x01\u202e", ["GG1702", "GG1703"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, tmp_path: Path) -> None:
    text, expected = TEXTS[name]
    assert rules(tmp_path / "a.gguf", {"general.description": text}) == expected
    assert rules(tmp_path / "b.gguf", {"general.tags": ["x", text]}) == expected
    assert rules(tmp_path / "c.gguf", {"any.key.at.all": text}) == expected
    # tokens may be anything, and templates have rules of their own
    assert rules(tmp_path / "d.gguf", {"tokenizer.ggml.x": text}) == []


LINKS = {
    "javascript:alert(1)": "GG1705",
    "JaVaScRiPt:alert(1)": "GG1705",
    "java\tscript:alert(1)": "GG1705",
    "\x01javascript:alert(1)": "GG1705",
    " javascript: alert(1)": "GG1705",
    "&#106;avascript:alert(1)": "GG1705",
    "see vbscript:x": "GG1705",
    "[x](data:text/html,<script>)": "GG1705",
    "file:///etc/passwd": "GG1705",
    "smb://host/share": "GG1705",
    "https://user:secret@example.org/": "GG1706",
    "https://huggingface.co@example.org/": "GG1706",
    "http://169.254.169.254/latest/meta-data/": "GG1707",
    "http://metadata.google.internal/": "GG1707",
    "http://localhost:8080/": "GG1707",
    "http://127.1/": "GG1707",
    "http://2130706433/": "GG1707",
    "http://0x7f000001/": "GG1707",
    "http://0/": "GG1707",
    "http://[::1]:80/": "GG1707",
    "http://[fe80::1]/": "GG1707",
    "http://[::ffff:10.0.0.1]/": "GG1707",
    "http://192.168.0.1/": "GG1707",
    r"\\example.org\share\model": "GG1708",
    r"open \\10.0.0.1\c$": "GG1708",
    "https://huggingface.co/ggml-org": None,
    "http://example.org:8080/a@b": None,
    "http://8.8.8.8/": None,
    "doi:10.5281/zenodo.1": None,
    "Training data: 15T tokens, file: list.txt": None,
    "JavaScript: the good parts": None,
    "http://facade.example.org/": None,
    r"C:\Users\me\model": None,
    "ratio 3:4, at 12:30": None,
    "metadata: none": None,
    "": None,
}


@pytest.mark.parametrize("link", LINKS)
def test_links(link: str, tmp_path: Path) -> None:
    expected = [LINKS[link]] if LINKS[link] else []
    assert list(bad_links(link)) == expected
    found = rules(tmp_path / "a.gguf", {"general.url": link})
    assert [rule for rule in found if rule != "GG1702"] == expected


def test_link_with_two_faults() -> None:
    assert list(bad_links("ftp://me:pw@10.0.0.1/")) == ["GG1706", "GG1707"]


@pytest.mark.parametrize(
    "piece", ["javascript", "http://", "\\\\a", "data:", "j a v a ", "&#106;", "http://a@"]
)
def test_links_take_linear_time(piece: str) -> None:
    """Sixteen times the length takes less than 64 times the time; 256 where it is quadratic."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        start = time.process_time()
        found = bad_links(text)
        taken = time.process_time() - start
        assert list(found) == (["GG1706"] if "@" in piece else [])
        return taken

    few, many = (min(seconds(length) for _ in range(3)) for length in (25_000, 400_000))
    assert many < 64 * few, (few, many)


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    names = ["../x", "a/b", "a\\b", "..", "C:x", "-rf", "a\u200bb", "blk.0.attn-q.weight", "a..b"]
    assert rules(path, {"a.\u200bb": "x"}, *names) == [
        "GG1701", "GG1709", "GG1709", "GG1709", "GG1709", "GG1709", "GG1710", "GG1701",
    ]  # fmt: skip
    assert rules(path, {"a.\u200bb": "x"}, *names, profile="lenient") == []


def test_names_and_texts_that_are_not_utf8() -> None:
    data = file([ARCHITECTURE, V3.pair("general.name", STRING, V3.string(b"\xff\x1b"))])
    [finding] = ggufspec.validate(data, checks=("meaning",)).findings
    assert finding.rule == "GG1702"
    assert finding.message.endswith("is U+001B at byte 1 of it")
    assert data[finding.offset or 0 :] == b"\xff\x1b"


def test_long_arrays_are_looked_at_to_a_bound() -> None:
    strings = V3.string("") * 100_000 + V3.string("\x1b")
    data = file([ARCHITECTURE, V3.pair("a.b", ARRAY, V3.array(STRING, 100_001, strings))])
    assert ggufspec.validate(data, checks=("meaning",)).findings == ()
