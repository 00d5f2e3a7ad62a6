"""Names of the specification as Go spells them."""

from __future__ import annotations

import re

_INITIALS = {"ggml": "GGML", "utf8": "UTF8"}


def camel(name: str) -> str:
    """``tensor-name_empty`` gives TensorNameEmpty."""
    words = re.split(r"[^A-Za-z0-9]+", name)
    return "".join(_INITIALS.get(word.lower(), word[:1].upper() + word[1:]) for word in words)


def value_name(name: str) -> str:
    """The constant of a value type: UINT8 gives Uint8."""
    return camel(name.lower())
