"""Signs in the text of a chat template, whatever its syntax."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from ..text import CONTROL, DIRECTION, INVISIBLE

# No \b in front: escape sequences and letters of any script may stand there.
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{1,20}://|(?<![A-Za-z])[Ww]{3}\.)[^\s\"'<>`{}\\)]+")
_CODED = re.compile(r"[A-Za-z0-9+/_-]{120,}={0,2}")
_FEW = 10  # different characters: a line of dashes is no code

PATTERNS = {
    "GG1417": _URL,
    "GG1418": _CODED,
    "GG1419": INVISIBLE,
    "GG1420": DIRECTION,
    "GG1421": CONTROL,
}
"""What nobody needs in a template, by rule."""

DUNDER = re.compile(r"(?<![A-Za-z0-9])__[A-Za-z]\w{0,60}?__(?![A-Za-z0-9])|_[A-Z]\w{0,60}__\w+")
"""Names that Python keeps for itself."""


MANY = 10_000
"""Finds of one rule in a text at which the counting ends."""


class Sign(NamedTuple):
    """Something to look at: the rule, its first place in the template, and what stands there."""

    rule: str
    line: int
    column: int
    evidence: str
    times: int = 1


def text_signs(text: str, *, dunder: bool) -> Iterator[Sign]:
    """What the patterns find in a whole template; dunder names too where no tree has them."""
    patterns = {**PATTERNS, "GG1410": DUNDER} if dunder else PATTERNS
    for rule, pattern in patterns.items():
        starts: dict[str, int] = {}
        counts: Counter[str] = Counter()
        for match in islice(pattern.finditer(text), MANY):
            evidence = evidence_of(rule, match[0])
            starts.setdefault(evidence, match.start())
            counts[evidence] += 1
        line, line_start, before = 1, 0, 0
        for evidence, start in starts.items():
            if lines := text.count("\n", before, start):
                line += lines
                line_start = text.rindex("\n", before, start) + 1
            before = start
            if evidence:
                yield Sign(rule, line, start - line_start + 1, evidence, counts[evidence])


def evidence_of(rule: str, matched: str) -> str:
    """What to show of a match; nothing for one that only looks like it."""
    if rule == "GG1418" and len(set(matched)) < _FEW:
        return ""
    if len(matched) == 1:
        return f"U+{ord(matched):04X}"
    return matched
