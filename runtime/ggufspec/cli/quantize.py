"""``ggufspec quantize``: a smaller file, as llama-quantize writes it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .options import Dialect, Force, Json, Threads, file_argument, file_option
from .sizes import size

TYPES = "Which types"
MATRIX = "Importance matrix"
MODEL = "Model and metadata"
FAULTS = "Values that no type holds"
SAFETY = "How it is done"


class NonFinite(str, Enum):
    """What to do about NaN and infinities."""

    ERROR = "error"
    ZERO = "zero"


def command(
    context: typer.Context,
    source: Annotated[Path, file_argument("IN", "A GGUF file, or any file of a split set.")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="The file to write; {type} in it stands for the type. Not needed by --plan and "
            "--dry-run.",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Argument(
            metavar="TYPE[,TYPE...]",
            autocompletion=completion.file_types,
            show_default=False,
            help="File types of llama-quantize: F16, Q8_0, Q4_K_M ... Several are made in one "
            "pass over IN: quantize in.gguf 'out-{type}.gguf' Q4_K_M,Q8_0",
        ),
    ] = None,
    pure: Annotated[
        bool,
        typer.Option(
            "--pure",
            help="One type for all tensors that allow it, without the usual mixture.",
            rich_help_panel=TYPES,
        ),
    ] = False,
    tensor_types: Annotated[
        list[str] | None,
        typer.Option(
            "--tensor-type",
            metavar="PATTERN=TYPE",
            help="A type for tensors in whose name the regular expression is found; the first "
            "that fits counts. May be repeated.",
            rich_help_panel=TYPES,
        ),
    ] = None,
    tensor_type_file: Annotated[
        Path | None,
        file_option(
            "--tensor-type-file",
            "More of them, separated by spaces or lines; they come after those of --tensor-type.",
            TYPES,
        ),
    ] = None,
    output_type: Annotated[
        str | None,
        typer.Option(
            "--output-tensor-type",
            metavar="TYPE",
            help="The type of output.weight.",
            rich_help_panel=TYPES,
        ),
    ] = None,
    token_embedding_type: Annotated[
        str | None,
        typer.Option(
            "--token-embedding-type",
            metavar="TYPE",
            help="The type of the token embeddings.",
            rich_help_panel=TYPES,
        ),
    ] = None,
    leave_output: Annotated[
        bool,
        typer.Option(
            "--leave-output-tensor",
            help="output.weight stays as it is.",
            rich_help_panel=TYPES,
        ),
    ] = False,
    no_fallback: Annotated[
        bool,
        typer.Option(
            "--no-fallback",
            help="Fail before anything is written where rows are no whole blocks of their type, "
            "instead of taking another type.",
            rich_help_panel=TYPES,
        ),
    ] = False,
    allow_requantize: Annotated[
        bool,
        typer.Option(
            "--allow-requantize",
            help="Take tensors that are quantized already.",
            rich_help_panel=TYPES,
        ),
    ] = False,
    imatrix: Annotated[
        str | None,
        typer.Option(
            "--imatrix",
            metavar="FILE",
            help="An importance matrix, GGUF or legacy; the path is stored as given.",
            rich_help_panel=MATRIX,
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            "--include-weights",
            metavar="TEXT",
            help="Use only its entries whose name contains this. May be repeated.",
            rich_help_panel=MATRIX,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            "--exclude-weights",
            metavar="TEXT",
            help="Leave out its entries whose name contains this. May be repeated.",
            rich_help_panel=MATRIX,
        ),
    ] = None,
    fix_imatrix: Annotated[
        bool,
        typer.Option(
            "--fix-imatrix",
            help="Blocks without any importance count as ones; noted in the output's metadata.",
            rich_help_panel=MATRIX,
        ),
    ] = False,
    overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--override-kv",
            metavar="KEY=TYPE:VALUE",
            help="Set a key: TYPE is int, float, bool or str as in llama-quantize, or one of "
            "GGUF's (UINT64, ARRAY[STRING] ...). May be repeated.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    prune: Annotated[
        str | None,
        typer.Option(
            "--prune-layers",
            metavar="N,N,...",
            help="Leave these layers out; those behind them move up.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    keep_split: Annotated[
        bool,
        typer.Option(
            "--keep-split",
            help="Write as many files as IN has, OUT-00001-of-0000N.gguf ...",
            rich_help_panel=MODEL,
        ),
    ] = False,
    non_finite: Annotated[
        NonFinite,
        typer.Option(
            "--non-finite",
            help="NaN and infinities: refuse them, or take 0 for them.",
            rich_help_panel=FAULTS,
        ),
    ] = NonFinite.ERROR,
    clamp_scales: Annotated[
        bool,
        typer.Option(
            "--clamp-scales",
            help="Limit values whose scale would be infinite, instead of refusing them.",
            rich_help_panel=FAULTS,
        ),
    ] = False,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Show what becomes of every tensor, why, and how large; write nothing.",
            rich_help_panel=SAFETY,
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show how large it becomes; write nothing.", rich_help_panel=SAFETY
        ),
    ] = False,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read what was written before it gets its name, and show the error of every "
            "tensor.",
            rich_help_panel=SAFETY,
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="If interrupted, leave OUT.partial; if there is one, go on from there.",
            rich_help_panel=SAFETY,
        ),
    ] = False,
    max_memory: Annotated[
        int | None,
        typer.Option(
            "--max-memory",
            parser=size,
            metavar="SIZE",
            help="What the process may take: 500M, 2G (powers of 1000).",
            rich_help_panel=SAFETY,
        ),
    ] = None,
    threads: Threads = None,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Write a file with its tensors in another type.

    Which tensors change, what rows that no block divides become, the order of the tensors
    and the keys are those of llama-quantize, byte for byte.
    """
    from ..jobs.options import Options
    from .conversion import Manner, convert, failing

    manner = Manner(
        dialect=dialect,
        plan=plan,
        dry_run=dry_run,
        verify=verify,
        resume=resume,
        max_memory=max_memory,
        threads=threads,
        force=force,
        as_json=as_json,
        reads=(tensor_type_file,) if tensor_type_file is not None else (),
    )
    wanted = target if names is None and not manner.writes else names
    if wanted is None:
        needed = "three are needed: IN OUT TYPE" if manner.writes else "two are needed: IN TYPE"
        raise typer.BadParameter(needed, context, param_hint="TYPE")
    kinds = wanted.split(",")
    with failing():
        from ..jobs.layers import parse_layers
        from ..jobs.overrides import (
            parse_override,
            parse_tensor_type,
            parse_type,
            read_tensor_types,
        )

        patterns = [parse_tensor_type(text) for text in tensor_types or ()]
        if tensor_type_file is not None:
            patterns += read_tensor_types(tensor_type_file)
        options = Options(
            pure=pure,
            allow_requantize=allow_requantize,
            leave_output=leave_output,
            output_type=parse_type(output_type) if output_type else None,
            token_embedding_type=parse_type(token_embedding_type) if token_embedding_type else None,
            tensor_types=tuple(patterns),
            fallback=not no_fallback,
            prune=parse_layers(prune) if prune is not None else (),
            keep_split=keep_split,
            overrides=tuple(parse_override(text) for text in overrides or ()),
            imatrix=imatrix,
            include=tuple(include or ()),
            exclude=tuple(exclude or ()),
            fix_imatrix=fix_imatrix,
            non_finite=non_finite.value,
            clamp_scales=clamp_scales,
        )
    convert(source, target if names is not None else None, kinds, options, manner)
