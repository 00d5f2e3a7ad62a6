"""``ggufspec quantize``: a smaller file, as llama-quantize writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import Force, Json, Threads, file_argument


def command(
    source: Annotated[Path, file_argument("IN", "A GGUF file.")],
    target: Annotated[Path, file_argument("OUT", "The file to write.")],
    name: Annotated[
        str,
        typer.Argument(
            metavar="TYPE", help="A file type of llama-quantize: F16, Q8_0, Q4_0, Q4_K_M ..."
        ),
    ],
    pure: Annotated[
        bool,
        typer.Option(
            "--pure", help="One type for all tensors that allow it, without the usual mixture."
        ),
    ] = False,
    allow_requantize: Annotated[
        bool,
        typer.Option("--allow-requantize", help="Take tensors that are quantized already."),
    ] = False,
    threads: Threads = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a file with its tensors in another type.

    Which tensors change, what rows that no block divides become, the order of the tensors
    and the keys are those of llama-quantize, byte for byte.
    """
    from .conversion import convert

    convert(
        source,
        target,
        name,
        pure=pure,
        allow_requantize=allow_requantize,
        threads=threads,
        force=force,
        as_json=as_json,
    )
