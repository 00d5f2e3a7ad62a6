"""``ggufspec diff``: what is not the same in two files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import machine, screen, text
from .failures import INVALID
from .options import Dialect, Json, Threads, file_argument
from .paths import open_model
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..edits.changes import Change
    from ..files.tensor import Tensor
    from ..jobs.diff import DataChange, Difference, Section, TensorChange

EXAMPLES = (
    "ggufspec diff model.gguf edited.gguf",
    "ggufspec diff model-00001-of-00003.gguf merged.gguf --exact",
    "ggufspec diff a.gguf b.gguf --no-data --ignore 'general.*'",
    "ggufspec diff a.gguf b.gguf --only data --json",
)

TENSORS = (
    Column(""),
    Column("tensor", style="cyan"),
    Column("type", style="green"),
    Column("shape"),
    Column("bytes", right=True),
)
DATA = (
    Column("tensor", style="cyan"),
    Column("type", style="green"),
    Column("values", right=True),
    Column("first", right=True),
    Column("largest difference", right=True),
    Column("blocks", right=True),
    Column("first", right=True),
    Column("bytes", right=True),
    Column("first", right=True),
)
_SIGNS = {"add": "+", "delete": "-", "change": "~"}
_WORDS: dict[Literal["add", "delete", "change"], str] = {
    "add": "added", "delete": "deleted", "change": "changed",
}  # fmt: skip
_MOST = 50  # tensors of a table
_MOST_KEYS = 500
_WHOLE = 64  # elements of an array that JSON has all of


def _sections(words: str | None) -> str | None:
    from ..jobs.diff import SECTIONS

    for word in words.split(",") if words is not None else ():
        if word not in SECTIONS:
            raise typer.BadParameter(f"there is no {word!r}; known: {', '.join(SECTIONS)}")
    return words


def command(
    first: Annotated[Path, file_argument("A", "A GGUF file, or any shard of a split set.")],
    second: Annotated[Path, file_argument("B", "The file to compare it with.")],
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="metadata,tensors,data",
            callback=_sections,
            help="What to compare; all by default.",
        ),
    ] = None,
    no_data: Annotated[
        bool, typer.Option("--no-data", help="Do not read the tensors' data.")
    ] = False,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            "--ignore",
            metavar="KEY",
            help="Leave out a key, or those that a pattern with * fits. May be repeated.",
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Exit with 1 also when the model is the same and the files' bytes are not.",
        ),
    ] = False,
    threads: Threads = None,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Say what is not the same in two files: keys, tensors, types, data, and the layout.

    Files may be of other versions and byte orders, and either may be a split set. Exit code 1 when
    the models differ, 0 when they are equal; what differs beside that is told.
    """
    from ..jobs.diff import SECTIONS, diff

    sections: list[Section] = [
        name
        for name in SECTIONS
        if (only is None or name in only.split(",")) and not (no_data and name == "data")
    ]
    with (
        open_model(first, dialect=dialect) as one,
        open_model(second, dialect=dialect) as other,
        Progress("comparing", one.size + other.size, quiet=as_json) as progress,
    ):
        found = diff(
            one, other, sections=sections, ignore=ignore or (), threads=threads,
            advance=progress.advance,
        )  # fmt: skip
        if as_json:
            machine.emit(_record(first, second, found))
        else:
            _show(found)
    differs = not found.equal or (exact and (found.identical is False))
    raise typer.Exit(INVALID if differs else 0)


def _show(found: Difference) -> None:
    first = True
    if found.metadata:
        _show_metadata(found.metadata)
        first = False
    if found.tensors:
        _show_tensors(found.tensors, first)
        first = False
    for changes, what in (
        (found.changed, "with other data"),
        (found.restated, "with the same values in other bytes"),
    ):
        if changes:
            _show_data(changes, found.compared, what, first)
            first = False
    if found.layout:
        columns = (Column("layout", style="cyan"), Column("A"), Column("B"))
        rows = [(text.printable(f.name), _fact(f.before), _fact(f.after)) for f in found.layout]
        screen.table(columns, rows, "how the files are laid out", first=first)
        first = False
    if not first:
        screen.say()
    screen.say(verdict(found), "" if found.equal else "yellow")


def _fact(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else text.printable(str(value))


def _show_metadata(changes: Sequence[Change]) -> None:
    from .meta_view import lines_of, show_lines

    screen.say(f"{text.plural(len(changes), 'key')}: {_counted(changes)}", "bold")
    show_lines(lines_of(changes[:_MOST_KEYS]))
    _show_more(len(changes), _MOST_KEYS)


def _counted(changes: Iterable[Change | TensorChange]) -> str:
    counts = Counter(change.kind for change in changes)
    return ", ".join(f"{counts[kind]:,} {word}" for kind, word in _WORDS.items() if counts[kind])


def _show_tensors(changes: Sequence[TensorChange], first: bool) -> None:
    rows = [_row(change) for change in changes[:_MOST]]
    title = f"{text.plural(len(changes), 'tensor')}: {_counted(changes)}"
    screen.table(TENSORS, rows, title, first=first)
    _show_more(len(changes), _MOST)


def _show_more(count: int, shown: int) -> None:
    if count > shown:
        screen.say(f"... and {count - shown:,} more; --json has all")


def _row(change: TensorChange) -> tuple[str, ...]:
    tensors = [one for one in (change.before, change.after) if one is not None]
    told = (
        [one.type for one in tensors],
        [text.shape(one.shape) for one in tensors],
        [f"{one.nbytes:,}" for one in tensors],
    )
    cells = (" > ".join(dict.fromkeys(words)) for words in told)
    return (_SIGNS[change.kind], text.printable(change.name), *cells)


def _show_data(changes: Sequence[DataChange], compared: int, what: str, first: bool) -> None:
    rows = [_data_row(change) for change in changes[:_MOST]]
    title = f"{len(changes):,} of {text.plural(compared, 'tensor')} {what}"
    screen.table(DATA, rows, title, first=first)
    _show_more(len(changes), _MOST)


def _data_row(change: DataChange) -> tuple[str, ...]:
    types = dict.fromkeys((change.pair.reference.type, change.pair.tensor.type))
    numbers = (
        change.elements, change.first_element,
        change.blocks, change.first_block, change.bytes, change.first_byte,
    )  # fmt: skip
    shown = ["-" if number is None else f"{number:,}" for number in numbers]
    largest = f"{change.largest:.4g}" if change.elements else "-"
    return (text.printable(change.name), " > ".join(types), *shown[:2], largest, *shown[2:])


def verdict(found: Difference) -> str:
    """What the difference comes to, in a sentence."""
    if found.identical:
        return "the files are equal, byte for byte"
    left_out = _left_out(found)
    if not found.equal:
        parts = [
            text.plural(len(found.metadata), "key") if found.metadata else "",
            text.plural(len(found.tensors), "tensor") if found.tensors else "",
            f"the data of {text.plural(len(found.changed), 'tensor')}" if found.changed else "",
        ]
        return f"the files differ: {', '.join(filter(None, parts))}{left_out}"
    if found.identical is None:
        return f"no difference{left_out}"
    others = [fact.name for fact in found.layout[:4]]
    others += ["..."] if len(found.layout) > 4 else []
    if found.restated:
        others.insert(0, f"bytes of {text.plural(len(found.restated), 'tensor')}")
    reason = f": {', '.join(map(text.printable, others))}" if others else ""
    return f"equal as models{left_out}; the files' bytes differ{reason}"


def _left_out(found: Difference) -> str:
    from ..jobs.diff import SECTIONS

    missing: list[str] = [name for name in SECTIONS if name not in found.sections]
    if found.ignored:
        missing.append(text.plural(len(found.ignored), "key"))
    return f" ({', '.join(missing)} not compared)" if missing else ""


def _record(first: Path, second: Path, found: Difference) -> dict[str, Any]:
    return {
        "first": str(first),
        "second": str(second),
        "equal": found.equal,
        "identical": found.identical,
        "compared": sorted(found.sections),
        "ignored": found.ignored,
        "metadata": [_change_record(change) for change in found.metadata],
        "tensors": [
            {
                "name": change.name,
                "kind": change.kind,
                "what": change.what,
                "before": _tensor_record(change.before),
                "after": _tensor_record(change.after),
            }
            for change in found.tensors
        ],
        "data": [_data_record(change) for change in found.changed],
        "restated": [_data_record(change) for change in found.restated],
        "tensors_compared": found.compared,
        "layout": [
            {"name": fact.name, "before": fact.before, "after": fact.after} for fact in found.layout
        ],
        "verdict": verdict(found),
    }


def _tensor_record(tensor: Tensor | None) -> dict[str, Any] | None:
    if tensor is None:
        return None
    return {
        "type": tensor.type,
        "type_id": tensor.type_id,
        "shape": tensor.shape,
        "nbytes": tensor.nbytes,
    }


def _data_record(change: DataChange) -> dict[str, Any]:
    return {
        "name": change.name,
        "before_type": change.pair.reference.type,
        "type": change.pair.tensor.type,
        "elements": change.elements,
        "first_element": change.first_element,
        "largest_difference": change.largest if change.elements else None,
        "blocks": change.blocks,
        "first_block": change.first_block,
        "bytes": change.bytes,
        "first_byte": change.first_byte,
    }


def _change_record(change: Change) -> dict[str, Any]:
    from ..edits.elements import array_change
    from .meta_view import change_record

    record = change_record(change, most=_WHOLE)
    if change.before is not None and change.after is not None:
        elements = array_change(change.before, change.after)
        if elements is not None:
            record["elements"] = {
                "changed": elements.changed,
                "inserted": elements.inserted,
                "deleted": elements.deleted,
                "first": [
                    {
                        "kind": one.kind,
                        "before_index": one.before_at,
                        "after_index": one.after_at,
                        "before": one.before,
                        "after": one.after,
                    }
                    for one in elements.first
                ],
            }
    return record
