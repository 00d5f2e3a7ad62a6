"""The hand-written C that generated C goes along with: runtime/c, in a checkout or installed."""

from __future__ import annotations

from .spec import PACKAGE


def source(name: str) -> str:
    """The text of a file of runtime/c."""
    folder = next(p for p in (PACKAGE / "runtime/c", PACKAGE / "c") if p.is_dir())
    return (folder / name).read_text(encoding="utf-8")
