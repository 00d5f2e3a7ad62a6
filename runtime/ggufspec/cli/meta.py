"""``ggufspec meta``: look at metadata and edit them."""

from __future__ import annotations

import os
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import machine, screen, text
from .conversion import failing
from .failures import INVALID, CommandError, usage
from .meta_edit import Manner, edit, matching_keys, open_draft, opened
from .options import Dialect, Json, file_argument, file_name
from .paths import check_output, telling, writing

if TYPE_CHECKING:
    from ..edits import Draft

File = Annotated[Path, file_argument("FILE", "A GGUF file; of a split set this one file.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="OUT", parser=file_name,
        help="Write a new file and leave FILE as it is.",
    ),
]  # fmt: skip
InPlace = Annotated[
    bool,
    typer.Option(
        "--in-place",
        help="Change FILE's own bytes where no data has to move, with FILE.undo beside it.",
    ),
]
Room = Annotated[
    int | None,
    typer.Option(
        "--room", min=0, metavar="BYTES",
        help="Leave room for later edits in place; file systems can share the data then.",
    ),
]  # fmt: skip
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change; write nothing.")]
Force = Annotated[
    bool,
    typer.Option("--force", help="Change keys that the model depends on; replace an existing OUT."),
]


class Format(str, Enum):
    """Forms of documents."""

    json = "json"
    yaml = "yaml"


FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="json or yaml; by default what the file's name says, else json."),
]


def group() -> Any:
    """The command and those below it."""
    app = typer.Typer(name="meta", add_completion=False, no_args_is_help=True, help=_HELP)
    for name, function, examples in (
        ("get", get, _GET),
        ("set", set_, _SET),
        ("delete", delete, _DELETE),
        ("rename", rename, _RENAME),
        ("copy", copy, _COPY),
        ("export", export, _EXPORT),
        ("apply", apply, _APPLY),
        ("recover", recover, _RECOVER),
    ):
        app.command(name, epilog="Examples:\n\n" + "\n\n".join(examples))(function)
    return typer.main.get_command(app)


_HELP = (
    "Look at the metadata of a GGUF file, and edit them.\n\n"
    "An edit writes a new file beside FILE and renames it, so that FILE is always whole; the data "
    "are shared with the old file where the file system can do that. With --in-place the header "
    "alone is written over, if the data can stay where they are. All take --json."
)

_GET = (
    "ggufspec meta get model.gguf general.name",
    "ggufspec meta get model.gguf tokenizer.chat_template --raw > template.jinja",
    "ggufspec meta get model.gguf 'general.*' --json",
)
_SET = (
    "ggufspec meta set model.gguf general.name='My model' general.license=mit",
    "ggufspec meta set model.gguf tokenizer.chat_template=@template.jinja --in-place",
    "ggufspec meta set model.gguf tokenizer.chat_template=@tokenizer_config.json#chat_template",
    "ggufspec meta set model.gguf my.key=ARRAY[UINT32]:[1,2] my.other=FLOAT32:0.5 --dry-run",
    "ggufspec meta set model.gguf tokenizer.ggml.eos_token_id=TOKEN:'</s>' --force",
)
_DELETE = ("ggufspec meta delete model.gguf general.url 'general.base_model.*'",)
_RENAME = (
    "ggufspec meta rename model.gguf "
    "tokenizer.ggml.prefix_token_id tokenizer.ggml.fim_pre_token_id --force",
)
_COPY = (
    "ggufspec meta copy model.gguf other.gguf tokenizer.chat_template",
    "ggufspec meta copy model.gguf other.gguf 'tokenizer.*' --force",
)
_EXPORT = (
    "ggufspec meta export model.gguf > model.json",
    "ggufspec meta export model.gguf -o model.yaml",
)
_APPLY = (
    "ggufspec meta apply model.gguf model.json --dry-run",
    "ggufspec meta apply model.gguf model.yaml --exact",
)
_RECOVER = (
    "ggufspec meta recover model.gguf",
    "ggufspec meta recover model.gguf --new",
)


def get(
    file: File,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help="Keys, or patterns with *; all by default."),
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Write the text of one key as it is, and nothing else.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show keys with their types and values, whole."""
    from .meta_view import record, show_values

    with open_draft(file) as draft:
        found = [key for name in keys or ["*"] for key in matching_keys(draft, name)]
        if raw:
            _write_raw(draft, found)
        elif as_json:
            metadata = [record(key, draft.before[key]) for key in found]
            machine.emit({"file": str(file), "metadata": metadata})
        else:
            show_values(draft.part.metadata, found, whole=len(found) == 1)


def set_(
    file: File,
    assignments: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=TYPE:VALUE...",
            help="A GGUF type and a value, arrays as JSON; without TYPE: that of a well-known key; "
            "@FILE: what a file holds; TOKEN:TEXT: the number of a token.",
        ),
    ],
    output: Output = None,
    in_place: InPlace = False,
    room: Room = None,
    dry_run: DryRun = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Give keys values; a key that is there keeps its place, a new one goes to the end."""

    def change(draft: Draft) -> None:
        from ..edits.assignments import parse_assignment

        for assignment in assignments:
            for key, entry in parse_assignment(assignment, draft):
                draft.set(key, entry)

    edit(file, change, Manner(output, in_place, room, dry_run, force, as_json, dialect))


def delete(
    file: File,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Keys, or patterns with *.")],
    output: Output = None,
    in_place: InPlace = False,
    room: Room = None,
    dry_run: DryRun = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Remove keys."""

    def change(draft: Draft) -> None:
        for key in dict.fromkeys(key for name in keys for key in matching_keys(draft, name)):
            draft.delete(key)

    edit(file, change, Manner(output, in_place, room, dry_run, force, as_json, dialect))


def rename(
    file: File,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The key as it is.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    output: Output = None,
    in_place: InPlace = False,
    room: Room = None,
    dry_run: DryRun = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Give a key another name; it keeps its place and value."""

    def change(draft: Draft) -> None:
        draft.rename(old, new)

    edit(file, change, Manner(output, in_place, room, dry_run, force, as_json, dialect))


def copy(
    file: File,
    source: Annotated[Path, file_argument("FROM", "The GGUF file to take keys from.")],
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY]...",
            help="Keys, or patterns with *; all by default, but the alignment and those of a set.",
        ),
    ] = None,
    output: Output = None,
    in_place: InPlace = False,
    room: Room = None,
    dry_run: DryRun = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Take keys over from another file, with their types and bits."""
    from ..edits import Draft as AnyDraft
    from ..files.shards import OWN_KEYS

    with opened(source), AnyDraft.open(source) as other:

        def change(draft: Draft) -> None:
            wanted = [key for name in keys or () for key in matching_keys(other, name, source)]
            draft.copy(
                other.part.metadata,
                wanted if keys else [key for key in other.before if key not in OWN_KEYS],
            )

        manner = Manner(output, in_place, room, dry_run, force, as_json, dialect)
        edit(file, change, manner, reads=(source,))


def export(
    file: File,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help="Keys, or patterns with *; all by default."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            parser=file_name,
            help="The document; standard output by default.",
        ),
    ] = None,
    format_: FormatOption = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing OUT.")] = False,
    as_json: Json = False,
) -> None:
    """Write metadata as a document that `apply` takes: nothing is lost on the way."""
    from ..edits.documents import write_document

    with open_draft(file) as draft, failing(file):
        found = [key for name in keys or ["*"] for key in matching_keys(draft, name)]
        document = write_document({key: draft.before[key] for key in found}, _form(format_, output))
    if output is None:
        sys.stdout.buffer.write(document.encode())
        return
    check_output(output, [file], force=force)
    from ..files.atomic import AtomicFile

    with writing(output), AtomicFile(output, replace=force, like=[file]) as target:
        target.write(document.encode())
    with telling(f"{output} is written"):
        if as_json:
            machine.emit({"file": str(file), "output": str(output), "keys": len(found)})
        else:
            screen.say(f"{text.printable(str(output))}: {text.plural(len(found), 'key')}")


def apply(
    file: File,
    document: Annotated[
        Path, file_argument("DOCUMENT", "What `export` wrote; - for standard input.")
    ],
    exact: Annotated[
        bool, typer.Option("--exact", help="Also delete keys that the document does not have.")
    ] = False,
    format_: FormatOption = None,
    output: Output = None,
    in_place: InPlace = False,
    room: Room = None,
    dry_run: DryRun = False,
    force: Force = False,
    dialect: Dialect = None,
    as_json: Json = False,
) -> None:
    """Set the keys of a document; with --exact the file has these keys alone, in that order."""
    from ..edits.documents import read_document

    with failing(document):
        entries = read_document(_text_of(document), _form(format_, document))

    def change(draft: Draft) -> None:
        if exact:
            draft.replace(entries)
            return
        for key, entry in entries.items():
            draft.set(key, entry)

    manner = Manner(output, in_place, room, dry_run, force, as_json, dialect)
    edit(file, change, manner, reads=() if str(document) == "-" else (document,))


def recover(
    file: File,
    new: Annotated[
        bool, typer.Option("--new", help="Finish the edit, instead of going back.")
    ] = False,
    as_json: Json = False,
) -> None:
    """End an interrupted --in-place edit: FILE as it was before or, with --new, after it."""
    from ..edits import recover as recover_file

    with failing(file):
        undo = recover_file(file, "new" if new else "old")
    state = "new" if new else "old"
    words = f"{text.printable(str(file))} is as {'after' if new else 'before'} the edit"
    with telling(words):
        if as_json:
            record = {"start": undo.start, "bytes": len(undo.new if new else undo.old)}
            machine.emit({"file": str(file), "state": state, **record})
        else:
            screen.say(words)


def _write_raw(draft: Draft, keys: list[str]) -> None:
    if len(keys) != 1:
        raise usage("--raw writes one key", file=str(draft.path))
    stored = draft.before[keys[0]]
    if stored.is_array or stored.kind.kind != "string":
        raise usage(f"{keys[0]} is no text", file=str(draft.path), hint="without --raw")
    sys.stdout.flush()
    sys.stdout.buffer.write(bytes(stored.bytes()))


def _form(given: Format | None, path: Path | None) -> Any:
    if given is not None:
        return given.value
    return "yaml" if path is not None and path.suffix in (".yaml", ".yml") else "json"


def _text_of(document: Path) -> str:
    if str(document) == "-":
        data = sys.stdin.buffer.read()
    elif document.exists() and not document.is_file():
        raise usage("it is not a regular file", file=os.fspath(document))
    else:
        data = document.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(
            "the document cannot be used: it is not UTF-8", INVALID, file=os.fspath(document)
        ) from None
