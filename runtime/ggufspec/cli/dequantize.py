"""``ggufspec dequantize``: a file with plain floats."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from .options import Dialect, Force, Json, Threads, file_argument


class Float(str, Enum):
    """The types of plain floats."""

    F32 = "F32"
    F16 = "F16"
    BF16 = "BF16"


def command(
    source: Annotated[Path, file_argument("IN", "A GGUF file.")],
    target: Annotated[Path, file_argument("OUT", "The file to write.")],
    kind: Annotated[
        Float, typer.Option("--type", case_sensitive=False, help="The floats to write.")
    ] = Float.F32,
    threads: Threads = None,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Write a file with its quantized tensors as plain floats.

    The same as quantize --allow-requantize to that type.
    """
    from ..jobs.options import Options
    from .conversion import Manner, convert

    convert(
        source,
        str(target),
        [kind.value],
        Options(allow_requantize=True),
        Manner(dialect=dialect, threads=threads, force=force, as_json=as_json),
    )
