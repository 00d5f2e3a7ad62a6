"""The inspector by keyboard and for screen readers: axe-core finds nothing serious."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.inspector import Inspector
from support.web import Browser

TABS = ["summary", "metadata", "template", "tokens", "tensors", "types", "findings", "blocks"]
ACTIVE = "document.activeElement.dataset.tab ?? document.activeElement.dataset.panel ?? ''"


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 390)])
def test_axe(browser: Browser, sample: Path, tmp_path: Path, scheme: str, width: int) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(sample.read_bytes()[:-100])
    page = Inspector(browser)
    page.start(scheme=scheme, width=width)
    found = {"start": browser("axe")}
    page.drop(broken)
    for tab in TABS:
        page.tab(tab)
        found[tab] = browser("axe")
        wide = page.run("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, f"{tab} is {wide} pixels too wide"
    page.tab("metadata")
    browser("click", selector="[data-panel=metadata] .rows .open")
    found["window"] = browser("axe")
    grave = {
        where: [entry for entry in entries if entry["impact"] in {"serious", "critical"}]
        for where, entries in found.items()
    }
    assert not any(grave.values()), grave


def test_keyboard(browser: Browser, sample: Path) -> None:
    """Tab reaches the tabs, arrows walk them, Tab goes on into the panel."""
    page = Inspector(browser)
    page.start()
    browser("press", keys=["Tab"])
    assert page.run("document.activeElement.className") == "skip"
    page.drop(sample)
    for _ in range(20):
        if page.run(ACTIVE) == "summary":
            break
        browser("press", keys=["Tab"])
    assert page.run(ACTIVE) == "summary"
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    walked = []
    for _ in TABS:
        walked.append(page.run(ACTIVE))
        assert page.run("document.activeElement.getAttribute('aria-selected')") == "true"
        assert page.run("document.querySelectorAll('[role=tabpanel]:not([hidden])').length") == 1
        browser("press", keys=["ArrowRight"])
    assert walked == TABS
    assert page.run(ACTIVE) == "summary"  # around
    browser("press", keys=["End"])
    assert page.run(ACTIVE) == "blocks"
    browser("press", keys=["Home", "ArrowRight", "Tab"])
    assert page.run("document.activeElement.dataset.panel") == "metadata"
    browser("press", keys=["Tab", "Tab", "Tab", "Enter"])  # search, table, first key
    assert page.run("document.querySelector('dialog').open") is True
    browser("press", keys=["Escape"])
    assert page.run("document.activeElement.className") == "open"


def test_theme(browser: Browser) -> None:
    """The choice wins over the system's."""
    page = Inspector(browser)
    colour = "getComputedStyle(document.body).backgroundColor"
    page.start(scheme="light")
    light = page.run(colour)
    page.start(scheme="dark")
    dark = page.run(colour)
    assert light != dark
    browser("select", selector=".theme", value="light")
    assert page.run(colour) == light
