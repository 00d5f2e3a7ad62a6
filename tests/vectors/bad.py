"""Bad files: those of the kept corpus that are about the container, and small."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from corpus import BIG, models
from corpus import hostile as corpus_files
from corpus.verdicts import PATH

PROFILES = ("ggml", "spec", "strict", "lenient")
LONGEST = 2048
ALSO = ("key of 65536 bytes",)
"""Longer ones that show a rule which no short file can break."""


class Bad(NamedTuple):
    """A file of the corpus with what each profile says: (rule, offset), or None for no error."""

    name: str
    reason: str
    data: bytes
    verdicts: Mapping[str, Sequence[str | int | None] | None]


def files() -> Iterator[Bad]:
    """All of them, under names that make file names."""
    verdicts = json.loads(PATH.read_text(encoding="utf-8"))
    left_out = {file.name for file in models.files()} | BIG
    for file in corpus_files():
        if file.name in left_out:
            continue
        data = file.make()
        if len(data) <= LONGEST or file.name in ALSO:
            yield Bad(slug(file.name), file.reason, data, verdicts[file.name])


def slug(name: str) -> str:
    """A file name of a title."""
    signs = name.replace("<", " less ").replace("=", " is ")
    return re.sub(r"[^a-z0-9]+", "-", signs.lower()).strip("-")
