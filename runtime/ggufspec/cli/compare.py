"""``ggufspec compare``: how far two files' weights are apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import machine, screen, text
from .failures import INVALID
from .options import Dialect, Json, Threads, file_argument
from .paths import open_model
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..jobs.compare import Matching, Pair, Sums

MEASURES = (
    Column("tensor", style="cyan"),
    Column("types", style="green"),
    Column("RMSE", right=True),
    Column("max error", right=True),
    Column("cosine", right=True),
    Column("SNR dB", right=True),
    Column("bits/weight", right=True),
)


def command(
    reference: Annotated[
        Path,
        file_argument("REFERENCE", "The file that counts as exact."),
    ],
    file: Annotated[Path, file_argument("FILE", "The file to measure.")],
    threads: Threads = None,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Measure the error of every tensor: RMSE, largest error, cosine, SNR, bits per weight.

    Exit code 1 when the files do not have the same tensors in the same shapes.
    """
    from ..jobs.compare import Sums, match, measure

    with (
        open_model(reference, dialect=dialect) as first,
        open_model(file, dialect=dialect) as second,
    ):
        matching = match(first, second)
        with Progress("comparing", matching.nbytes, quiet=as_json) as progress:
            results = [
                (pair, measure(pair, threads=threads, advance=progress.advance))
                for pair in matching.pairs
            ]
    overall = sum((sums for _, sums in results), Sums())
    if as_json:
        machine.emit(_record(reference, file, matching, results, overall))
    else:
        _show(matching, results, overall)
    raise typer.Exit(0 if matching.complete else INVALID)


def measures(sums: Sums) -> dict[str, float]:
    """What is told about a tensor or a file."""
    return {
        "rmse": sums.rmse,
        "max_error": sums.largest,
        "cosine": sums.cosine,
        "snr_db": sums.snr,
        "bits_per_weight": sums.bits_per_weight,
    }


def _show(matching: Matching, results: Sequence[tuple[Pair, Sums]], overall: Sums) -> None:
    rows = [
        (text.printable(pair.tensor.name), _types(pair), *cells(sums)) for pair, sums in results
    ]
    screen.table(MEASURES, [*rows, ("all", "", *cells(overall))])
    for names, where in (
        (matching.only_reference, "only in the reference"),
        (matching.only_file, "only in the file"),
        ([pair.tensor.name for pair in matching.reshaped], "of another shape"),
    ):
        if names:
            listed = ", ".join(text.printable(name) for name in names[:10])
            more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
            screen.say(f"{text.plural(len(names), 'tensor')} {where}: {listed}{more}", "yellow")


def _types(pair: Pair) -> str:
    first, second = pair.reference.type, pair.tensor.type
    return first if first == second else f"{first} > {second}"


def cells(sums: Sums) -> tuple[str, ...]:
    """The measures as they are shown."""
    return (
        f"{sums.rmse:.4g}",
        f"{sums.largest:.4g}",
        f"{sums.cosine:.8f}",
        f"{sums.snr:.2f}",
        f"{sums.bits_per_weight:.3f}",
    )


def _record(
    reference: Path,
    file: Path,
    matching: Matching,
    results: Sequence[tuple[Pair, Sums]],
    overall: Sums,
) -> dict[str, Any]:
    return {
        "reference": str(reference),
        "file": str(file),
        "overall": {"weights": overall.count, **measures(overall)},
        "tensors": [
            {
                "name": pair.tensor.name,
                "reference_type": pair.reference.type,
                "type": pair.tensor.type,
                "weights": sums.count,
                **measures(sums),
            }
            for pair, sums in results
        ],
        "only_reference": matching.only_reference,
        "only_file": matching.only_file,
        "reshaped": [pair.tensor.name for pair in matching.reshaped],
    }
