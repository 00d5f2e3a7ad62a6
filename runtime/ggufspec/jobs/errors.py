"""The one exception of the jobs that make files."""

from __future__ import annotations

from typing import Literal

Kind = Literal["usage", "unsupported", "data", "check", "system"]


class ConversionError(ValueError):
    """Why a file cannot be made.

    ``kind``: "usage" (an option helps), "unsupported" (not known, or not yet), "data" (what the
    tensors or the importance matrix hold), "check" (something that was asked for does not hold) or
    "system" (the system refused). ``file``: the one that it is about, "" for none, None for the
    input. ``hint``: what helps.
    """

    def __init__(
        self, message: str, kind: Kind, *, hint: str = "", file: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.hint = hint
        self.file = file
