"""Opening an importance matrix of either form."""

from __future__ import annotations

import os

from ..files.source import Source
from .gguf_form import MAGIC, read_gguf
from .legacy_form import read_legacy
from .matrix import Imatrix


def read_imatrix(path: str | os.PathLike[str]) -> Imatrix:
    """Read an importance matrix: a GGUF file, or one of the older form (`imatrix.dat`).

    ImatrixError for whatever the file holds that is not one; OSError as the system has it.
    Sums and counts are checked against each other here; whether values are finite is for
    `Imatrix.check`, and sizes for `Imatrix.importance`.
    """
    name = os.fspath(path)
    if not isinstance(name, str):
        raise TypeError("the path of an importance matrix is a str or a PathLike of one")
    source = Source(name)
    try:
        gguf = bytes(source.view[: len(MAGIC)]) == MAGIC
        return read_gguf(name) if gguf else read_legacy(name, source.view)
    finally:
        source.close()
