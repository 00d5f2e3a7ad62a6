"""The one exception of edits."""

from __future__ import annotations

from ..jobs.errors import ConversionError


class EditError(ConversionError):
    """Why an edit cannot be made; kinds, `file` and `hint` are those of `ConversionError`."""
