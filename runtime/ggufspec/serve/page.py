"""The inspector's page, told that it is served."""

from __future__ import annotations

import re
from importlib import resources

_CHARSET = re.compile(rb'<meta charset="?utf-8"?\s*/?>', re.IGNORECASE)
_SERVED = b'<meta name="ggufspec-serve" content="1">'


def served_page() -> bytes:
    """The page as `serve` gives it; OSError where it is not installed."""
    text = (resources.files("ggufspec.generated") / "pages" / "inspector.html").read_bytes()
    head = _CHARSET.search(text)
    if head is None:
        raise ValueError("the page does not name its encoding")
    return text[: head.end()] + b"\n" + _SERVED + text[head.end() :]
