"""The hand-written C that generated C goes along with: runtime/c, in a checkout or installed."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent


def source(name: str) -> str:
    """The text of a file of runtime/c."""
    folder = next(p for p in (_PACKAGE / "runtime/c", _PACKAGE / "c") if p.is_dir())
    return (folder / name).read_text(encoding="utf-8")
