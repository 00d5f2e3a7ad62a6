"""The report in a browser: it reads well at any width, by keyboard, and asks for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ggufspec
from support.web import Browser

pytest.importorskip("jinja2")
pytest.importorskip("vl_convert")

EVIL = "</script><img src=x onerror=alert(1)>"
WIDTHS = [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 360)]

# A text's size on the screen, whatever the scale of the plot and the way it is turned.
SMALLEST = """Math.min(...[...document.querySelectorAll(".plot text")]
  .filter((text) => text.getBoundingClientRect().width)
  .map((text) => { const m = text.getCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(m.a, m.b); }))"""
OUTSIDE = """[...document.querySelectorAll(".plot")].flatMap((plot) => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll("text")].filter((text) => {
    const at = text.getBoundingClientRect();
    return at.width && (at.left < box.left - 2 || at.right > box.right + 2);
  }).map((text) => text.textContent);
})"""


# Whether the button stands on the lines of the file's name or title, however long these are.
TOUCHED = """["h1", ".file"].some((what) => {
  const element = document.querySelector(what), before = element.textContent;
  element.textContent = "A long title of a file ".repeat(20);
  const at = document.getElementById("theme").getBoundingClientRect();
  const range = document.createRange();
  range.selectNodeContents(element);
  const touched = [...range.getClientRects()].some((line) => line.bottom > at.top &&
    line.top < at.bottom && line.right > at.left && line.left < at.right);
  element.textContent = before;
  return touched;
})"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a file with errors against its reference, findings and hostile text."""
    from ggufspec.pages import make_report

    folder = tmp_path_factory.mktemp("page")
    rng = np.random.default_rng(3)
    exact: dict[str, Any] = {"token_embd.weight": rng.standard_normal((64, 256), np.float32)}
    for layer in range(24):
        for role in ("attn_q", "attn_output", "ffn_down", "ffn_gate"):
            exact[f"blk.{layer}.{role}.weight"] = rng.standard_normal((32, 256), np.float32)
        exact[f"blk.{layer}.attn_norm.weight"] = np.ones(256, np.float32)
    exact[f"blk.0.{EVIL}"] = np.ones((8, 8), np.float32)
    metadata = {
        "general.architecture": "llama",
        "general.name": f"A model {EVIL}",
        "tokenizer.chat_template": f"{{{{ {EVIL} }}}}\n" * 40,
        "tokenizer.ggml.tokens": [f"token {number}" for number in range(1000)],
    }
    stored = {
        name: ggufspec.TensorData(ggufspec.quantize(values, "Q4_K"), "Q4_K", values.shape)
        if values.shape[-1] == 256 and values.ndim == 2
        else values
        for name, values in exact.items()
    }
    ggufspec.write(folder / "exact.gguf", metadata, exact)
    ggufspec.write(folder / "stored.gguf", metadata, stored)
    html, _ = make_report(folder / "stored.gguf", folder / "exact.gguf")
    target = folder / "page.html"
    target.write_text(html, encoding="utf-8")
    return target


@pytest.mark.parametrize(("scheme", "width"), WIDTHS)
def test_it_reads_at_any_width(browser: Browser, page: Path, scheme: str, width: int) -> None:
    browser("page", url=page.as_uri(), scheme=scheme, width=width)
    assert browser("run", script="document.documentElement.scrollWidth - innerWidth") <= 0
    assert browser("run", script=SMALLEST) >= 9
    assert browser("run", script=OUTSIDE) == []
    assert not browser("run", script=TOUCHED)
    shown = "[...document.querySelectorAll('.plot')].filter((p) => p.clientWidth).length"
    assert browser("run", script=shown) == 5
    serious = [v for v in browser("axe") if v["impact"] in ("serious", "critical")]
    assert serious == []
    seen = browser("seen")
    assert seen["errors"] == []
    assert [url for url in seen["requests"] if not url.startswith(("file:", "data:"))] == []


def test_plots_tell_what_is_pointed_at(browser: Browser, page: Path) -> None:
    browser("page", url=page.as_uri(), width=1440)
    assert browser("run", script="document.getElementById('tip').hidden")
    browser("run", script="document.querySelector('.plot.wide').focus()")
    browser("press", keys=["ArrowRight"])
    tip = "document.getElementById('tip').textContent"
    assert browser("run", script=tip).startswith("blk.0.attn_q.weight: Q4_K, 32 x 256, 4,608 by")
    browser("press", keys=["End"])
    assert browser("run", script=tip).startswith("token_embd.weight: Q4_K, 64 x 256, 9,216 bytes")
    browser("press", keys=["Escape"])
    assert browser("run", script="document.getElementById('tip').hidden")


def test_tensors_are_filtered_and_sorted(browser: Browser, page: Path) -> None:
    browser("page", url=page.as_uri(), width=1440)
    browser("fill", selector="#filter", text="blk.7. q4_k")
    left = (
        "[...document.querySelectorAll('#tensor-table tbody tr:not([hidden])')]"
        ".map((row) => row.cells[0].textContent)"
    )
    roles = ["attn_q", "attn_output", "ffn_down", "ffn_gate"]
    assert browser("run", script=left) == [f"blk.7.{role}.weight" for role in roles]
    browser("fill", selector="#filter", text="")
    browser("click", selector="#tensor-table th:nth-child(4) button")
    assert browser("run", script=left)[0] == "token_embd.weight"
    browser("click", selector="#tensor-table th:nth-child(4) button")
    assert browser("run", script=left)[0] == f"blk.0.{EVIL}"


def test_the_theme_can_be_chosen(browser: Browser, page: Path) -> None:
    browser("page", url=page.as_uri(), scheme="light", width=1440)
    colour = "getComputedStyle(document.body).backgroundColor"
    before = browser("run", script=colour)
    browser("click", selector="#theme")
    assert browser("run", script=colour) != before
    assert [v for v in browser("axe") if v["impact"] in ("serious", "critical")] == []
