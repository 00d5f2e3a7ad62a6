"""The inspector as tests drive it: open files, read tables and facts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.web import PAGE, Browser

OPEN = "[role=tab]"
_FACTS = """Object.fromEntries([...document.querySelectorAll('PANEL dl.facts div')].map(
  (div) => [div.querySelector('dt').textContent, div.querySelector('dd').textContent]))"""
_ROWS = """(async () => {
  const scroller = document.querySelector('[data-panel=PANEL] .scroller');
  const rows = new Map();
  const drawn = (done) => requestAnimationFrame(() => requestAnimationFrame(done));
  const frame = () => new Promise(drawn);
  for (scroller.scrollTop = 0, await frame(); ; ) {
    for (const row of scroller.querySelectorAll('.rows .row')) {
      const cells = [...row.querySelectorAll('[role=cell]')].map((cell) => cell.textContent);
      rows.set(Number(row.getAttribute('aria-rowindex')) - 2, cells);
    }
    const before = scroller.scrollTop;
    scroller.scrollTop += scroller.clientHeight;
    await frame();
    if (scroller.scrollTop === before || rows.size > 3000) break;
  }
  scroller.scrollTop = 0;
  return [...rows].sort(([a], [b]) => a - b);
})()"""


class Inspector:
    """The page in a browser."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser

    def start(self, url: str = PAGE.as_uri(), **options: Any) -> None:
        """A fresh page; scheme="dark", width, height."""
        self.browser("page", url=url, **options)

    def drop(self, *paths: Path) -> None:
        """Drop files and wait until they are shown."""
        self.browser("drop", paths=[str(path) for path in paths])
        self.browser("wait", selector=OPEN)

    def address(self, url: str) -> None:
        """Open an address by the form."""
        self.browser("fill", selector=".address input", text=url)
        self.browser("click", selector=".address button")

    def problem(self) -> str:
        self.browser("wait", selector=".problem")
        return str(self.run("document.querySelector('.problem').textContent"))

    def tab(self, name: str) -> None:
        self.browser("click", selector=f"[data-tab={name}]")

    def run(self, script: str) -> Any:
        return self.browser("run", script=script)

    def facts(self, panel: str = "summary") -> Mapping[str, str]:
        place = "dialog" if panel == "dialog" else f"[data-panel={panel}]"
        found: Mapping[str, str] = self.run(_FACTS.replace("PANEL", place))
        return found

    def rows(self, panel: str) -> list[Sequence[str]]:
        """The cells of every row of a table (the first 3000), which scrolling makes."""
        found = self.run(_ROWS.replace("PANEL", panel))
        assert [number for number, _ in found] == list(range(len(found)))
        return [cells for _, cells in found]

    def listed(self, panel: str) -> int:
        """How many rows the table says it has."""
        count = f"document.querySelector('[data-panel={panel}] [role=table]').ariaRowCount"
        return int(self.run(count)) - 1

    def search(self, panel: str, text: str, said: str) -> None:
        """Type into a search field and wait until the page says a result."""
        self.browser("fill", selector=f"[data-panel={panel}] input[type=search]", text=text)
        hint = f"document.querySelector('[data-panel={panel}] .tools .hint').textContent"
        status = "document.querySelector('.status').textContent"
        script = f"[{hint}, {status}].some((text) => text.includes({json.dumps(said)}))"
        self.browser("until", script=script)

    def seen(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.browser("seen")
        return found
