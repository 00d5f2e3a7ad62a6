"""The report: a page that says what the file holds, runs nothing of it and loads nothing."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

from gguf import GGUFReader

import ggufspec
from ggufspec import GGUFError, TensorData
from ggufspec.pages import LIMIT, make_report
from support import realfiles
from support.command import command

EVIL = "</script><img src=x onerror=alert(1)>\u202e\x07&amp;\"'"
VOID = {"meta", "link", "img", "input", "br"}
LOADING = {"src", "srcset", "href", "xlink:href", "action", "formaction", "poster", "data"}


class Page(HTMLParser):
    """What a browser would make of a page: elements, their texts, and what they load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.rows: dict[str, list[list[str]]] = {}
        self.section = ""
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.tags.append((tag, told))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "section":
            self.section = told.get("id") or ""
        if tag == "tr":
            self.rows.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.rows[self.section][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)
        if "td" in self._open or ("th" in self._open and "tr" in self._open):
            self.rows[self.section][-1][-1] += data


def page_of(path: Path, reference: Path | None = None, **options: Any) -> str:
    html, _ = make_report(path, reference, **options)
    assert len(html.encode()) < LIMIT
    return html


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two layers and an embedding, F16 and F32."""
    path = tmp_path_factory.mktemp("report") / "model.gguf"
    rng = np.random.default_rng(7)
    tensors: dict[str, Any] = {"token_embd.weight": rng.standard_normal((16, 64), np.float32)}
    for layer in range(2):
        matrix = rng.standard_normal((64, 64), np.float32)
        tensors[f"blk.{layer}.attn_q.weight"] = matrix.astype(np.float16)
        tensors[f"blk.{layer}.attn_norm.weight"] = np.ones(64, np.float32)
    metadata = {"general.architecture": "llama", "general.name": "Two layers"}
    ggufspec.write(path, metadata, tensors)
    return path


def many(path: Path, layers: int) -> None:
    """A mixture of experts with tiny tensors: 12 a layer."""
    rng = np.random.default_rng(0)
    metadata = {"general.architecture": "qwen3moe", "qwen3moe.block_count": layers}
    kinds = ("Q4_K", "Q6_K", "Q5_K", "IQ4_XS", "Q8_0", "F16")
    data = {
        kind: ggufspec.quantize(rng.standard_normal((8, 256), np.float32), kind) for kind in kinds
    }
    roles = [f"{part}_{name}" for part in ("attn", "ffn") for name in "abcdef"]
    tensors = {
        f"blk.{layer}.{role}.weight": TensorData(
            data[kinds[(layer + number) % len(kinds)]],
            kinds[(layer + number) % len(kinds)],
            (8, 256),
        )
        for layer in range(layers)
        for number, role in enumerate(roles)
    }
    ggufspec.write(path, metadata, tensors)


def loads(page: Page) -> Iterator[str]:
    """Whatever the page's elements refer to outside of it."""
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            if name in LOADING and not (value or "").startswith(("#", "data:,")):
                yield f"<{tag} {name}={value}>"


def check_offline(html: str) -> None:
    """Nothing is loaded, and the policy allows this style sheet and this script alone."""
    page = Page(html)
    assert list(loads(page)) == []
    policy = next(a["content"] or "" for _, a in page.tags if "http-equiv" in a)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("style", "script"):
        told = re.findall(f"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        assert len(told) == 1
        digest = base64.b64encode(hashlib.sha256(told[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
        assert "url(" not in told[0]
        assert "@import" not in told[0]
    assert not any(name == "style" or name.startswith("on") for _, a in page.tags for name in a)


def test_the_tables_are_what_another_reader_finds() -> None:
    path = realfiles.smollm2()
    html = page_of(path)
    check_offline(html)
    page, reader = Page(html), GGUFReader(path)
    rows = {row[0]: row for row in page.rows["tensors"][1:]}
    assert list(rows) == [tensor.name for tensor in reader.tensors]
    for tensor in reader.tensors:
        _, kind, shape, nbytes, bits, offset = rows[tensor.name]
        assert kind == tensor.tensor_type.name
        assert shape == " x ".join(str(length) for length in reversed(tensor.shape.tolist()))
        assert int(nbytes.replace(",", "")) == tensor.n_bytes
        assert int(offset.replace(",", "")) == tensor.data_offset
        assert float(bits) == float(f"{8 * tensor.n_bytes / tensor.n_elements:.4g}")
    keys = [key for key in reader.fields if not key.startswith("GGUF.")]
    assert [row[0] for row in page.rows["metadata"][1:]] == keys
    values = {row[0]: row[2] for row in page.rows["metadata"][1:]}
    assert values["llama.block_count"] == str(reader.fields["llama.block_count"].contents())
    assert values["tokenizer.ggml.tokens"].startswith("49,152 elements")
    weights = sum(int(tensor.n_elements) for tensor in reader.tensors)
    nbytes = sum(int(tensor.n_bytes) for tensor in reader.tensors)
    assert page.texts["dd"][1] == f"{weights / 1e6:.1f} M"
    assert f"{8 * nbytes / weights:.2f}" in page.texts["dd"]


def test_every_area_of_a_plot_has_its_words(model: Path) -> None:
    html = page_of(model)
    plots = re.findall(r"<svg.*?</svg>", html, re.DOTALL)
    assert len(plots) == 6  # treemap, heat map and bars, for wide pages and narrow ones
    for plot in plots:
        assert 'role="img"' in plot
        assert 'aria-label="' in plot
        marks = plot.count('class="mark"')
        assert marks
        assert len(re.findall(r"<title>[^<]+</title>", plot)) == marks
    assert "blk.1.attn_q.weight: F16, 64 x 64, 8,192 bytes, 16 bits per weight" in html


def test_errors_are_those_of_their_definitions(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    changed: dict[str, Any] = {}
    with ggufspec.open(model) as file:
        for name, tensor in file.tensors.items():
            values = tensor.dequantize()
            changed[name] = values if "norm" in name else values * np.float32(1.01)
        metadata = dict(file.metadata)
    ggufspec.write(other, metadata, changed)
    page = Page(page_of(other, model))
    rows = {row[0]: row for row in page.rows["errors"]}
    assert rows["attn_q"][1] == "40.0 dB"  # an error of one percent
    assert rows["attn_q"][2] == "1 %"
    assert rows["attn_norm"][1] == "equal"
    table = {row[0]: row for row in page.rows["tensors"]}
    assert table["Name"][5] == "SNR in dB"
    assert table["blk.0.attn_q.weight"][5] == "40.0"
    assert table["blk.0.attn_norm.weight"][5] == "equal"


def test_tensors_without_a_counterpart_are_named(model: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    tensors = {"token_embd.weight": np.ones((16, 64), np.float32), "extra": np.ones(4, np.float32)}
    ggufspec.write(other, {"general.architecture": "llama"}, tensors)
    html = page_of(other, model)
    assert "4 tensors only in the reference: blk.0.attn_q.weight" in html
    assert "1 tensor only in this file: extra." in html


def test_nothing_out_of_the_file_becomes_markup(tmp_path: Path) -> None:
    path = tmp_path / f"{EVIL.replace('/', '')}.gguf"
    metadata = {
        "general.architecture": EVIL,
        "general.name": EVIL,
        f"a.{EVIL}": EVIL * 40,
        "general.license": EVIL,
        "tokenizer.ggml.model": EVIL,
        "tokenizer.ggml.tokens": [EVIL, "</pre></details>"],
        "tokenizer.chat_template": f"{{{{ {EVIL}\n</pre> }}}}",
    }
    tensors = {f"blk.0.{EVIL}.weight": np.ones((32, 32), np.float32), EVIL: np.ones(8, np.float32)}
    ggufspec.write(path, metadata, tensors)
    html = page_of(path, path)
    check_offline(html)
    page = Page(html)
    assert "img" not in {tag for tag, _ in page.tags}
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "\u202e" not in html
    assert "\x07" not in html
    assert "\\u202e" in html
    assert "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;" in html
    assert page.texts["h1"] == ["</script><img src=x onerror=alert(1)>\\u202e\\x07&amp;\"'"]


def test_a_broken_file_has_a_page_of_its_findings(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(model.read_bytes()[:300])
    html, report = make_report(path)
    assert report.verdict == "invalid"
    check_offline(html)
    assert "could not be opened" in html
    for finding in report.findings:
        assert finding.rule in html
    path.write_bytes(b"")
    assert make_report(path)[1].verdict == "invalid"


def test_a_broken_reference_is_an_error(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(model.read_bytes()[:300])
    with pytest.raises(GGUFError):
        make_report(model, path)


def test_the_findings_come_with_their_explanations(tmp_path: Path) -> None:
    path = tmp_path / "findings.gguf"
    ggufspec.write(path, {"general.architecture": "llama"}, {"a": np.full(4, np.nan, np.float32)})
    html, report = make_report(path, data=True)
    assert any(finding.rule == "GG1501" for finding in report.findings)
    text = " ".join(" ".join(words) for words in Page(html).texts.values())
    from ggufspec.generated.rules import RULES

    for finding in report.findings:
        assert RULES[finding.rule].reason in text
        assert finding.hint in text


def test_a_vocabulary_file_has_a_small_page() -> None:
    html = page_of(realfiles.vocabulary("ggml-vocab-gemma-4.gguf"))
    check_offline(html)
    assert len(html) < 200_000
    assert "262,144 elements" in html


def test_a_model_of_many_tensors_has_a_page(tmp_path: Path) -> None:
    path = tmp_path / "many.gguf"
    many(path, 100)
    html = page_of(path)
    page = Page(html)
    assert len(page.rows["tensors"]) == 1 + 1200
    assert "Left out" not in html


def test_hostile_names_cannot_make_a_page_too_large(tmp_path: Path) -> None:
    path = tmp_path / "hostile.gguf"
    quotes = '"<' * 60
    tensors = {f"blk.{n % 400}.{n}{quotes}": np.ones((1, 8), np.float32) for n in range(4000)}
    metadata: dict[str, Any] = {f"k{n}.{quotes}": quotes * 20 for n in range(3000)}
    ggufspec.write(path, {"general.architecture": "llama", **metadata}, tensors)
    html = page_of(path)
    assert "Left out" in html
    check_offline(html)


def test_the_command_writes_the_page(model: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = command("report", str(model), "-o", str(page), "--json")
    assert done.returncode == 0, done.stderr
    assert f'"bytes": {page.stat().st_size}' in done.stdout
    check_offline(page.read_text(encoding="utf-8"))
    assert list(tmp_path.glob("*tmp*")) == []
    again = command("report", str(model), "-o", str(page))
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert command("report", str(model), "-o", str(model), "--force").returncode == 2
    assert (
        command("report", str(tmp_path / "none.gguf"), "-o", str(page), "-o", "x").returncode == 4
    )


def test_without_the_extra_it_says_which_to_install(model: Path) -> None:
    program = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "vl_convert" else real(name, *more)
from ggufspec.cli.app import run
run()
"""
    words = [sys.executable, "-c", program, "report", str(model), "-o", f"{model}.html"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "pip install 'ggufspec[report]'" in done.stderr
