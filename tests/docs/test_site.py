"""The site is whole: every type, rule and key has its place, and no page needs a network."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ggufspec.cli.app import application
from ggufspec.generated.describe import DESCRIPTIONS
from ggufspec.generated.dialects import DIALECTS
from ggufspec.generated.metadata import KEYS
from ggufspec.generated.recipes import FILE_TYPES
from ggufspec.generated.rules import RULES

FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """Ids of a page, where its links lead, what it fetches, its text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids = {""}
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.words: list[str] = []
        self.pictures: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given and given.get("rel") != "canonical":
            self.fetched.append(given[FETCHED[tag]])
        if tag == "svg" and "block" in given.get("class", "").split():
            self.pictures.append(given.get("aria-label", ""))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


@cache
def page(path: Path) -> Page:
    return Page(path)


def pages(site: Path) -> list[Path]:
    return sorted(site.rglob("*.html"))


def test_every_link_leads_somewhere(site: Path) -> None:
    broken = []
    for path in pages(site):
        if path.name == "404.html":  # served from anywhere: its links start at the site's root
            continue
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or not (parts.path or parts.fragment):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or (
                target.suffix == ".html" and unquote(parts.fragment) not in page(target).ids
            ):
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for path in pages(site):
        assert [link for link in page(path).fetched if urlsplit(link).netloc] == []
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), sheet.name


def test_every_type_has_a_page_with_its_picture(site: Path) -> None:
    for name, description in DESCRIPTIONS.items():
        shown = page(site / "types" / f"{name.lower()}.html")
        assert name in shown.text
        assert " ".join(description.doc.split()) in shown.text
        assert len(shown.pictures) == bool(description.picture)
        for _, word, *_ in description.picture:
            assert word in shown.pictures[0]


def test_every_rule_stands_on_its_areas_page(site: Path) -> None:
    for number, rule in RULES.items():
        shown = page(site / "rules" / f"{number[:4].lower()}.html")
        assert number.lower() in shown.ids
        assert " ".join(rule.hint.split()) in shown.text


def test_every_key_dialect_and_file_type_is_listed(site: Path) -> None:
    keys = " ".join(page(path).text for path in (site / "keys").glob("*.html"))
    assert [key.key for key in KEYS if key.key not in keys] == []
    dialects = page(site / "dialects.html").text
    for dialect in DIALECTS:
        assert [m.name for m in dialect.types if f"{m.id} {m.name}" not in dialects] == []
    file_types = page(site / "file_types.html").text
    assert [kind.name for kind in FILE_TYPES if kind.name not in file_types] == []


def test_every_command_is_described(site: Path) -> None:
    shown = page(site / "reference" / "command-line.html")
    for name, command in application().commands.items():
        assert f"ggufspec {name}" in shown.text
        for option in command.params:
            assert not option.opts or option.opts[0].lstrip("-").lower() in shown.text.lower()
