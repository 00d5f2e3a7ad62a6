"""``ggufspec compare``: how far two files' weights are apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import machine, screen, text
from .conversion import failing
from .failures import INVALID, UNSUPPORTED, usage
from .options import Dialect, Json, Threads, file_argument, file_option
from .paths import open_model
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..imatrix import Imatrix
    from ..jobs.comparing import (
        Blocks,
        Comparison,
        Grouping,
        Matching,
        Measured,
        Pair,
        Sums,
        Wanted,
        WorstBlock,
    )

EXAMPLES = (
    "ggufspec compare f16.gguf q4_k_m.gguf",
    "ggufspec compare f16.gguf q4_k_m.gguf --by role,layer --sort error",
    "ggufspec compare f16.gguf q4_k_m.gguf --histogram --worst 20",
    "ggufspec compare f16.gguf q4_k_m.gguf --tensors ffn_down --imatrix imatrix.gguf --json",
)

MEASURES = (
    Column("tensor", style="cyan"),
    Column("types", style="green"),
    Column("RMSE", right=True),
    Column("max error", right=True),
    Column("cosine", right=True),
    Column("SNR dB", right=True),
    Column("bits/weight", right=True),
)

_WORST = (
    Column("tensor", style="cyan"),
    Column("row", right=True),
    Column("block", right=True),
    Column("relative RMSE", right=True),
    Column("RMSE", right=True),
    Column("first values, reference > file"),
)

_GROUPS: tuple[Grouping, ...] = ("role", "layer", "type")
_GROUPINGS: tuple[Grouping | Literal["tensor"], ...] = ("tensor", *_GROUPS)
_SHOWN = 4  # values of a block
_SHOW = "What is shown"
_MEASURE = "What is measured"


class Sort(str, Enum):
    """Orders of a table."""

    file = "file"
    name = "name"
    size = "size"
    error = "error"


class WorstBy(str, Enum):
    """What makes a block a bad one."""

    relative = "relative"
    rmse = "rmse"


@dataclass(frozen=True)
class Manner:
    """What is shown of a comparison."""

    by: tuple[Grouping | Literal["tensor"], ...]
    sort: Sort
    worst: int
    histogram: bool
    share_over: bool
    wanted: Wanted


def _groupings(words: str) -> str:
    for word in words.split(","):
        if word not in _GROUPINGS:
            known = ", ".join(_GROUPINGS)
            raise typer.BadParameter(f"there is no {word!r}; known: {known}")
    return words


def _chosen(words: str) -> tuple[Grouping | Literal["tensor"], ...]:
    named = words.split(",")
    return tuple(sorted((one for one in _GROUPINGS if one in named), key=named.index))


def command(
    reference: Annotated[
        Path,
        file_argument("REFERENCE", "The file that counts as exact."),
    ],
    file: Annotated[Path, file_argument("FILE", "The file to measure.")],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="tensor,role,layer,type",
            callback=_groupings,
            rich_help_panel=_SHOW,
            help="Tables to show: each tensor, or those of a role, layer or type together.",
        ),
    ] = "tensor",
    sort: Annotated[
        Sort,
        typer.Option("--sort", help="Order of the tables, the worst first.", rich_help_panel=_SHOW),
    ] = Sort.file,
    histogram: Annotated[
        bool,
        typer.Option(
            "--histogram",
            rich_help_panel=_SHOW,
            help="Show how many blocks of each type have which relative RMSE.",
        ),
    ] = False,
    worst: Annotated[
        int,
        typer.Option(
            "--worst",
            min=0,
            max=100_000,
            metavar="N",
            rich_help_panel=_SHOW,
            help="Show the N worst blocks; as JSON also those of each tensor, with all values.",
        ),
    ] = 0,
    worst_by: Annotated[
        WorstBy,
        typer.Option(
            "--worst-by",
            rich_help_panel=_SHOW,
            help="What makes a block a bad one: its relative RMSE or its RMSE.",
        ),
    ] = WorstBy.relative,
    tensors: Annotated[
        str | None,
        typer.Option(
            "--tensors",
            metavar="REGEX",
            rich_help_panel=_MEASURE,
            help="Look at tensors alone in whose name this is found.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            min=0,
            metavar="R",
            rich_help_panel=_MEASURE,
            help="Tell the share of blocks whose relative RMSE is above R; 0.1 as JSON.",
        ),
    ] = None,
    imatrix: Annotated[
        Path | None,
        file_option("--imatrix", "Also weight errors by this importance matrix.", _MEASURE),
    ] = None,
    fail_above: Annotated[
        float | None,
        typer.Option(
            "--fail-above",
            min=0,
            metavar="R",
            rich_help_panel=_MEASURE,
            help="Exit with 1 when the relative RMSE of a tensor is above R, or none.",
        ),
    ] = None,
    threads: Threads = None,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Measure the error of every tensor: RMSE, largest error, cosine, SNR, bits per weight.

    Exit code 1 when the files do not have the same tensors in the same shapes or rows
    without whole blocks, 3 when some have types that nobody can decode.
    """
    from ..jobs.comparing import Wanted, compare_models, match

    matrix = _matrix(imatrix)
    wanted = Wanted(worst, worst_by.value, 0.1 if threshold is None else threshold, matrix)
    manner = Manner(_chosen(by), sort, worst, histogram, threshold is not None, wanted)
    with (
        open_model(reference, dialect=dialect) as first,
        open_model(file, dialect=dialect) as second,
        _of_matrix(imatrix),
    ):
        matching = match(first, second, _selection(tensors))
        if tensors is not None and not any((*_names(matching), matching.pairs)):
            raise usage(f"no tensor has {tensors!r} in its name", file=str(file))
        with Progress("comparing", matching.nbytes, quiet=as_json) as progress:
            found = compare_models(
                first, second, wanted, matching=matching, threads=threads, advance=progress.advance
            )
    failed = [] if fail_above is None else _above(found, fail_above)
    if as_json:
        machine.emit(_record(reference, file, found, manner, failed))
    else:
        _show(found, manner)
        if failed and fail_above is not None:
            _show_failed(failed, fail_above)
    raise typer.Exit(_exit(found, bool(failed)))


def _exit(found: Comparison, failed: bool) -> int:
    if failed or not found.matching.complete:
        return INVALID
    if not found.undecoded:
        return 0
    from ..generated.rules import RULES

    known = (RULES.get(one.code) for one in found.undecoded)
    return UNSUPPORTED if all(rule is None or rule.unsupported for rule in known) else INVALID


def _matrix(path: Path | None) -> Imatrix | None:
    if path is None:
        return None
    from ..imatrix import read_imatrix

    with _of_matrix(path):
        matrix = read_imatrix(path)
        matrix.check()
    return matrix


@contextmanager
def _of_matrix(path: Path | None) -> Iterator[None]:
    """Let what is wrong with the matrix be a failure of the command."""
    from ..imatrix import ImatrixError
    from ..jobs.importance import of_matrix

    with failing(path):
        try:
            yield
        except ImatrixError as error:
            raise of_matrix(error) from error


def _selection(pattern: str | None) -> Callable[[str], bool]:
    if pattern is None:
        return lambda _: True
    from ..recipes.patterns import pattern_of

    try:
        return pattern_of(pattern).search
    except ValueError as error:
        raise usage(f"--tensors: not a regular expression: {pattern!r:.80} ({error})") from None


def _above(found: Comparison, limit: float) -> list[Measured]:
    return [one for one in found.tensors if not one.sums.relative <= limit]


def measures(sums: Sums) -> dict[str, float]:
    """What is told about a tensor or a file."""
    return {
        "rmse": sums.rmse,
        "max_error": sums.largest,
        "cosine": sums.cosine,
        "snr_db": sums.snr,
        "bits_per_weight": sums.bits_per_weight,
    }


def cells(sums: Sums) -> tuple[str, ...]:
    """The measures as they are shown."""
    return (
        f"{sums.rmse:.4g}",
        f"{sums.largest:.4g}",
        f"{sums.cosine:.8f}",
        f"{sums.snr:.2f}",
        f"{sums.bits_per_weight:.3f}",
    )


def _show(found: Comparison, manner: Manner) -> None:
    for number, grouping in enumerate(manner.by):
        if grouping == "tensor":
            _show_tensors(found, manner)
        else:
            _show_groups(found, grouping, manner, first=number == 0)
    if manner.histogram:
        from .histogram import show

        groups = found.grouped("type")
        for name, group in groups.items():
            show(name, group.blocks)
    if manner.worst:
        _show_worst(found.worst(manner.worst, manner.wanted))
    _show_rest(found)


def _columns(name: str, second: Column, manner: Manner) -> list[Column]:
    columns = [Column(name, style="cyan"), second, *MEASURES[2:]]
    if manner.share_over:
        columns.append(Column(f"over {manner.wanted.threshold:g}", right=True))
    if manner.wanted.imatrix is not None:
        columns += [Column("weighted RMSE", right=True), Column("relative", right=True)]
    return columns


def _cells(sums: Sums, blocks: Blocks, manner: Manner) -> tuple[str, ...]:
    shown = cells(sums)
    if manner.share_over:
        shown += (f"{blocks.share_over:.2%}",)
    if manner.wanted.imatrix is not None:
        weighted = (sums.weighted_rmse, sums.weighted_relative)
        shown += tuple("-" if math.isnan(value) else f"{value:.4g}" for value in weighted)
    return shown


def _show_tensors(found: Comparison, manner: Manner) -> None:
    ordered = _sorted(found.tensors, manner.sort, lambda one: (one.name, one.sums))
    rows = [
        (text.printable(one.name), _types(one.pair), *_cells(one.sums, one.blocks, manner))
        for one in ordered
    ]
    rows.append(("all", "", *_cells(found.overall, _all_blocks(found), manner)))
    screen.table(_columns("tensor", MEASURES[1], manner), rows)


def _show_groups(found: Comparison, by: Grouping, manner: Manner, *, first: bool) -> None:
    groups = found.grouped(by).items()
    ordered = _sorted(groups, manner.sort, lambda item: (item[0], item[1].sums))
    rows = [
        (text.printable(name), f"{group.tensors:,}", *_cells(group.sums, group.blocks, manner))
        for name, group in ordered
    ]
    total = _cells(found.overall, _all_blocks(found), manner)
    rows.append(("all", f"{len(found.tensors):,}", *total))
    columns = _columns(by, Column("tensors", right=True), manner)
    screen.table(columns, rows, f"by {by}", first=first)


def _all_blocks(found: Comparison) -> Blocks:
    from ..jobs.comparing import Blocks as AnyBlocks

    return sum((one.blocks for one in found.tensors), AnyBlocks())


def _sorted(items: Iterable[Any], sort: Sort, told: Callable[[Any], tuple[str, Sums]]) -> list[Any]:
    """Items by their name, or the largest and the worst first; NaN is the worst."""
    if sort is Sort.file:
        return list(items)
    if sort is Sort.name:
        return sorted(items, key=lambda item: told(item)[0])
    if sort is Sort.size:
        return sorted(items, key=lambda item: -told(item)[1].nbytes)
    return sorted(items, key=lambda item: _badness(told(item)[1].relative))


def _badness(value: float) -> tuple[bool, float]:
    return not math.isnan(value), -value


def _show_worst(blocks: Iterable[WorstBlock]) -> None:
    rows = [
        (
            text.printable(block.tensor),
            f"{block.row:,}",
            f"{block.block:,}",
            f"{block.relative:.4g}",
            f"{block.rmse:.4g}",
            f"{_values(block.reference)} > {_values(block.values)}",
        )
        for block in blocks
    ]
    screen.table(_WORST, rows, "the worst blocks")


def _values(values: Any) -> str:
    shown = " ".join(f"{value:.4g}" for value in values[:_SHOWN].tolist())
    return shown + (" ..." if len(values) > _SHOWN else "")


def _names(matching: Matching) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Of the tensors that are not measured."""
    reshaped = tuple(pair.tensor.name for pair in matching.reshaped)
    return matching.only_reference, matching.only_file, reshaped


def _show_rest(found: Comparison) -> None:
    only_reference, only_file, reshaped = _names(found.matching)
    for names, where in (
        (only_reference, "only in the reference"),
        (only_file, "only in the file"),
        (reshaped, "of another shape"),
        ([one.pair.tensor.name for one in found.undecoded], "that cannot be decoded"),
    ):
        if names:
            listed = ", ".join(text.printable(name) for name in names[:10])
            more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
            screen.say(f"{text.plural(len(names), 'tensor')} {where}: {listed}{more}", "yellow")
    if found.undecoded:
        first = found.undecoded[0]
        screen.warn(f"{text.printable(first.reason, 1000)} ({first.code})")


def _show_failed(failed: list[Measured], limit: float) -> None:
    count = text.plural(len(failed), "tensor")
    worst = min(failed, key=lambda one: _badness(one.sums.relative))
    screen.say(
        f"{count} above a relative RMSE of {limit:g}, the worst "
        f"{text.printable(worst.name)}: {worst.sums.relative:.4g}",
        "red",
    )


def _types(pair: Pair) -> str:
    first, second = pair.reference.type, pair.tensor.type
    return first if first == second else f"{first} > {second}"


def _record(
    reference: Path, file: Path, found: Comparison, manner: Manner, failed: list[Measured]
) -> dict[str, Any]:
    overall = found.overall
    only_reference, only_file, reshaped = _names(found.matching)
    record: dict[str, Any] = {
        "reference": str(reference),
        "file": str(file),
        "threshold": manner.wanted.threshold,
        "overall": {
            "weights": overall.count,
            **_measured(overall, _all_blocks(found), manner),
        },
        "tensors": [_tensor_record(one, manner) for one in found.tensors],
        **{f"{by}s": _groups_record(found, by, manner) for by in _GROUPS},
        "only_reference": only_reference,
        "only_file": only_file,
        "reshaped": reshaped,
        "undecoded": [
            {"name": one.pair.tensor.name, "rule": one.code, "reason": one.reason}
            for one in found.undecoded
        ],
        "failed": [one.name for one in failed],
    }
    if manner.worst:
        record["worst"] = list(map(_worst_record, found.worst(manner.worst, manner.wanted)))
    return record


def _tensor_record(one: Measured, manner: Manner) -> dict[str, Any]:
    record: dict[str, Any] = {
        "name": one.name,
        "reference_type": one.pair.reference.type,
        "type": one.pair.tensor.type,
        "shape": one.pair.tensor.shape,
        "role": one.place.role,
        "layer": one.place.layer,
        "weights": one.sums.count,
        **_measured(one.sums, one.blocks, manner),
    }
    if manner.worst:
        record["worst"] = list(map(_worst_record, one.worst))
    return record


def _groups_record(found: Comparison, by: Grouping, manner: Manner) -> list[Mapping[str, Any]]:
    return [
        {
            by: name,
            "tensors": group.tensors,
            "weights": group.sums.count,
            **_measured(group.sums, group.blocks, manner),
        }
        for name, group in found.grouped(by).items()
    ]


def _measured(sums: Sums, blocks: Blocks, manner: Manner) -> dict[str, Any]:
    record: dict[str, Any] = {
        **measures(sums), "relative_rmse": sums.relative, "nbytes": sums.nbytes,
    }  # fmt: skip
    if manner.wanted.imatrix is not None:
        record["weighted_rmse"] = sums.weighted_rmse
        record["weighted_relative_rmse"] = sums.weighted_relative
    record["blocks"] = _blocks_record(blocks)
    return record


def _blocks_record(blocks: Blocks) -> dict[str, Any]:
    histogram = blocks.histogram
    edges = histogram.edges()
    return {
        "size": blocks.size or None,
        "count": blocks.count,
        "over": blocks.over,
        "share_over": blocks.share_over,
        "equal": histogram.exact,
        "below": histogram.below,
        "above": histogram.above,
        "nan": histogram.nan,
        "histogram": [
            {"from": edges[number], "to": edges[number + 1], "blocks": count}
            for number, count in enumerate(histogram.counts)
            if count
        ],
    }


def _worst_record(block: WorstBlock) -> dict[str, Any]:
    return {
        "tensor": block.tensor,
        "row": block.row,
        "block": block.block,
        "element": block.element,
        "relative_rmse": block.relative,
        "rmse": block.rmse,
        "reference": block.reference,
        "values": block.values,
    }
