"""The one error of the front end: what is wrong in the spec, and where."""

from __future__ import annotations

from collections.abc import Sequence

YamlPath = tuple[str | int, ...]


class SpecError(ValueError):
    """A fault in a spec file, with file, line (1-based) and YAML path."""

    def __init__(self, file: str, line: int, path: Sequence[str | int], message: str) -> None:
        self.file = file
        self.line = line
        self.path = tuple(path)
        self.message = _shown(message)
        super().__init__(f"{_shown(file)}:{line}: {show_path(path)}: {self.message}")


def show_path(path: Sequence[str | int]) -> str:
    """``("codes", "q", 0)`` as ``codes.q[0]``; the whole file is ``(top)``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_shown(part)}" if text else _shown(part)
    return text or "(top)"


def _shown(text: str) -> str:
    """One line without what moves the cursor or turns the text around."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
