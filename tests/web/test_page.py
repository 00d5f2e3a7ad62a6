"""The built page: fresh, self-contained, and without any way for a file's text to be markup."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from support.project import ROOT
from support.web import PAGE, PAGES, SOURCES, copied, needed, run

MEND = "make pages"
LARGEST = 400_000


def test_fresh() -> None:
    """The page was built from what stands here now; needs no node."""
    made = json.loads((PAGES / "PAGES.json").read_text(encoding="utf-8"))
    assert set(made) | {"PAGES.json"} == {path.name for path in PAGES.iterdir()}, MEND
    for name, entry in made.items():
        assert entry["sha256"] == _digest(PAGES / name), MEND
        stale = [path for path, digest in entry["inputs"].items() if _digest(ROOT / path) != digest]
        assert not stale, MEND
        sources = {path.relative_to(ROOT).as_posix() for path in (SOURCES / "src").rglob("*.*")}
        assert sources <= set(entry["inputs"]), "a source that no page uses"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def test_self_contained() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert "default-src 'none'" in text
    assert not re.search(r"<(link|img|iframe)\b|<script[^>]*\bsrc=|@import|url\(", text)


@pytest.mark.parametrize(
    "path", sorted((SOURCES / "src").rglob("*.ts")), ids=lambda path: path.name
)
def test_text_is_never_markup(path: Path) -> None:
    ways = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function"
    assert not re.search(ways, path.read_text(encoding="utf-8"))


def test_rebuilt(tmp_path: Path) -> None:
    """The compiler finds nothing, and the build gives the same bytes."""
    needed("node", "npm")
    folder = copied(tmp_path)
    run(["npx", "--no-install", "tsc"], folder)
    out = tmp_path / "out"
    run(["node", "build.mjs", str(out)], folder)
    for path in PAGES.iterdir():
        assert (out / path.name).read_bytes() == path.read_bytes(), MEND


def test_lock_names_no_registry() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, entry in lock["packages"].items() if "resolved" in entry]
