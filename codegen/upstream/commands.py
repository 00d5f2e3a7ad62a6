"""``ggufspec upstream``: check, draft, verify."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ggufspec.cli import machine, screen
from ggufspec.cli.failures import INVALID, UNSUPPORTED, CommandError, usage
from ggufspec.cli.options import Force, Json
from ggufspec.cli.progress import Progress
from ggufspec.cli.screen import Column
from ggufspec.cli.text import plural, printable

from ..errors import SpecError, show_path
from ..generate import find_root
from .facts import UnreadError

if TYPE_CHECKING:
    from ..model import BlockType
    from ..spec import Spec
    from .compare import Comparison, Drift
    from .draft import Draft
    from .facts import Facts
    from .verify import Failure, Verdict

BLOCKS = ("ggml.h", "ggml-common.h", "ggml.c")
"""The files that say what a block is."""

_NOT_FOUND = {"struct-gone", "table-gone", "constant-gone", "traits-gone"}
"""What a file should have and has not."""

app = typer.Typer(add_completion=False, no_args_is_help=True)

_DRIFT = (
    Column("kind", style="red"),
    Column("name", style="cyan"),
    Column("spec"),
    Column("theirs"),
    Column("place"),
    Column("what to do"),
)

Ggml = Annotated[
    Path | None,
    typer.Option(
        "--ggml", metavar="PATH", help="A llama.cpp or ggml checkout, or a source archive of one."
    ),
]
BuiltLibrary = Annotated[
    Path | None,
    typer.Option("--library", metavar="PATH", help="A built libggml, or its folder or package."),
]
SpecDir = Annotated[
    Path | None,
    typer.Option(
        "--spec-dir",
        metavar="DIR",
        help="The spec to hold against it; that of the checkout here, else the installed one.",
    ),
]


def _examples(*lines: str) -> str:
    return "\n\n".join(["Examples:", *(f"ggufspec upstream {line}" for line in lines)])


@app.callback()
def _group() -> None:
    """Follow ggml: what changed there, drafts of new types, proofs of the bits."""


@app.command(
    "check",
    epilog=_examples(
        "check --ggml ~/llama.cpp --gguf-py", "check --library libggml-base.so --json"
    ),
)
def check(
    ggml: Ggml = None,
    gguf_py: Annotated[
        bool, typer.Option("--gguf-py", help="The gguf package that is installed here.")
    ] = False,
    library: BuiltLibrary = None,
    spec_dir: SpecDir = None,
    as_json: Json = False,
) -> None:
    """Compare the spec with ggml: types, blocks, codebooks, keys, constants. Exit 1 on drift."""
    if ggml is None and library is None and not gguf_py:
        raise usage("nothing to compare with", hint="--ggml PATH, --gguf-py or --library PATH")
    from .compare import compare
    from .known import load_known

    with _told():
        sources = list(_sources(ggml, gguf_py, library))
        spec = _spec(spec_dir)
        known = load_known(spec)
        found = [compare(spec, facts, known) for facts in sources]
    if as_json:
        machine.emit({"spec": spec.version, "sources": [_record(one) for one in found]})
    else:
        for one in found:
            _show(one)
    if any(one.drift for one in found):
        raise typer.Exit(INVALID)
    if not all(one.examined for one in found):
        raise typer.Exit(UNSUPPORTED)


@app.command(
    "draft", epilog=_examples("draft Q2_0 --ggml ~/llama.cpp --library . -o spec/types/q2_0.yaml")
)
def draft(
    name: Annotated[str, typer.Argument(metavar="TYPE", help="A type of the source, say Q2_0.")],
    ggml: Ggml = None,
    library: BuiltLibrary = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there, not to the screen."),
    ] = None,
    force: Force = False,
    spec_dir: SpecDir = None,
    as_json: Json = False,
) -> None:
    """Write the skeleton of a type file; with a library, what its bits were seen to do."""
    if ggml is None:
        raise usage("--ggml PATH is needed: a checkout or source archive that has the type")
    if output is not None:
        from ggufspec.cli.paths import check_output

        check_output(output, [ggml], force=force)
    from .draft import draft as make

    with _told():
        facts = _read_tree(ggml, *BLOCKS)
        spec = _spec(spec_dir)
        with _opened(library) as opened:
            made = make(spec, name, facts, opened)
    if output is not None:
        from ggufspec.files.atomic import AtomicFile

        with AtomicFile(output, replace=force) as file:
            file.write(made.text.encode())
    if as_json:
        machine.emit(_draft_record(made, output))
    else:
        _show_draft(made, output)


@app.command("verify", epilog=_examples("verify Q4_K Q6_K --library libggml-base.so"))
def verify(
    names: Annotated[list[str], typer.Argument(metavar="TYPE...", help="Types of the spec.")],
    library: BuiltLibrary = None,
    blocks: Annotated[
        int, typer.Option("--blocks", min=1, max=10_000_000, metavar="N", help="Blocks to decode.")
    ] = 2000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the random bytes.")] = 0,
    no_quantize: Annotated[
        bool, typer.Option("--no-quantize", help="Decode only; some tables take ggml 20 seconds.")
    ] = False,
    spec_dir: SpecDir = None,
    as_json: Json = False,
) -> None:
    """Hold types against a built ggml, bit for bit; shows the smallest block that differs."""
    if library is None:
        raise usage("--library PATH is needed: a built libggml")
    from .verify import verify as run

    with _told():
        spec = _spec(spec_dir)
        kinds = [_kind(spec, name) for name in names]
        verdicts = []
        total = sum(blocks * kind.bytes for kind in kinds)
        with _opened(library) as opened, Progress("comparing", total) as progress:
            assert opened is not None
            for kind in kinds:
                progress.describe(kind.name)
                verdicts.append(
                    run(
                        spec,
                        kind,
                        opened,
                        blocks=blocks,
                        seed=seed,
                        quantizers=not no_quantize,
                        advance=progress.advance,
                    )
                )
    if as_json:
        machine.emit([_verdict_record(one) for one in verdicts])
    else:
        for one in verdicts:
            _show_verdict(one)
    if any(one.failures for one in verdicts):
        raise typer.Exit(INVALID)
    if not all(one.compared for one in verdicts):
        raise typer.Exit(UNSUPPORTED)


# ---- what is read


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong, as the command line says it."""
    try:
        yield
    except SpecError as error:
        place = f"{error.file}:{error.line}"
        raise CommandError(error.message, INVALID, file=place, path=show_path(error.path)) from None
    except UnreadError as error:
        raise CommandError(str(error), UNSUPPORTED) from None
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tree_sitter"):
            raise
        hint = "pip install 'ggufspec[upstream]'"
        raise CommandError("C sources are read with tree-sitter", UNSUPPORTED, hint=hint) from None


def _sources(ggml: Path | None, gguf_py: bool, library: Path | None) -> Iterator[Facts]:
    if ggml is not None:
        yield _read_tree(ggml)
    if gguf_py:
        from .gguf_py import installed

        yield installed()
    if library is not None:
        from .library import read_library

        yield read_library(library)


def _read_tree(path: Path, *names: str) -> Facts:
    """What a source says; with names, what these files of it say."""
    from .headers import read_tree
    from .tree import load_tree

    if not path.exists():
        raise FileNotFoundError(2, "no such file or directory", str(path))
    with Progress("reading", path.stat().st_size if path.is_file() else 0) as progress:
        tree = load_tree(path, progress.advance)
    if names:
        texts = {name: tree.texts[name] for name in names if name in tree.texts}
        tree = replace(tree, texts=texts)
    return replace(read_tree(tree), name=str(path))


@contextmanager
def _opened(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield None
        return
    from .library import Library

    with Library(path) as library:
        yield library


def _spec(folder: Path | None) -> Spec:
    """A whole spec, or the package's with the types of a folder added."""
    from ..spec import OWN, load_spec

    if folder is None:
        root = find_root(Path.cwd())
        return load_spec(root / "spec" if root else OWN)
    if not folder.is_dir():
        raise FileNotFoundError(2, "no such folder", str(folder))
    if (folder / "VERSION").is_file():
        return load_spec(folder)
    from ..extension import load

    spec, added = load_spec(OWN), load(folder)
    types = (*spec.types, *added.types)
    return replace(spec, tables=added.tables, types=types, every=types)


def _kind(spec: Spec, name: str) -> BlockType:
    kind = next((one for one in spec.types if one.name.upper() == name.upper()), None)
    if kind is None:
        raise usage(f"the spec has no type {name!r}", hint="`ggufspec types` lists them")
    if not kind.regions:
        raise usage(f"{kind.name} was removed from ggml and has no layout")
    if kind.prefix or kind.suffix:
        raise usage(f"{kind.name} stores something once a row or tensor, as no type of ggml does")
    return kind


# ---- check


def _show(one: Comparison) -> None:
    facts = one.facts
    screen.say(f"{facts.kind}: {printable(facts.name)}", "bold")
    counts = ", ".join(f"{count} {name}" for name, count in one.examined.items())
    screen.say(f"read: {counts}")
    if facts.unread:
        screen.say(f"not there, so not compared: {', '.join(facts.unread)}", "yellow")
    for drift, reason in one.meant:
        screen.say(f"meant: {drift.kind} {printable(drift.name)} ({reason.why})")
    if not one.drift:
        some = " in the files that are there" if facts.unread else ""
        if one.examined:
            screen.say(f"no drift{some}", "green")
        else:
            screen.say("nothing was compared", "yellow")
        return
    screen.table(_DRIFT, [_row(drift) for drift in one.drift])
    screen.say(plural(len(one.drift), "difference"))


def _row(drift: Drift) -> tuple[str, ...]:
    return tuple(
        printable(text)
        for text in (
            drift.kind, drift.name, drift.spec or "-", drift.theirs or "-", str(drift.place),
            drift.remedy,
        )
    )  # fmt: skip


def _record(one: Comparison) -> dict[str, Any]:
    return {
        "kind": one.facts.kind,
        "name": one.facts.name,
        "examined": one.examined,
        "unread": [*one.facts.unread, *_unread(one)],
        "drift": [_drift_record(drift) for drift in one.drift],
        "meant": [{**_drift_record(drift), "why": reason.why} for drift, reason in one.meant],
    }


def _unread(one: Comparison) -> Iterator[str]:
    """What is expected and could not be read, as file:line: name."""
    for drift in one.drift:
        if drift.kind.endswith("-unread") or drift.kind in _NOT_FOUND:
            yield f"{drift.place}: {drift.name}"


def _drift_record(drift: Drift) -> dict[str, Any]:
    return {
        "kind": drift.kind,
        "name": drift.name,
        "spec": drift.spec or None,
        "theirs": drift.theirs or None,
        "file": drift.place.file,
        "line": drift.place.line or None,
        "remedy": drift.remedy,
    }


# ---- draft


def _show_draft(made: Draft, output: Path | None) -> None:
    for note in made.notes:
        screen.warn(printable(note))
    if output is None:
        screen.say(made.text.rstrip("\n"))
        return
    for line in made.lines:
        screen.say(line, "cyan")
    if made.lines:
        screen.say(_outcome(made))
    screen.say(f"{printable(str(output))} is written; every TODO in it wants you")


def _outcome(made: Draft) -> str:
    if made.proved:
        return "the proposed order and codes claim every bit once and say what was seen"
    return "no order and codes of the spec's language were found for what was seen"


def _draft_record(made: Draft, output: Path | None) -> dict[str, Any]:
    numbers = [] if made.map is None else made.map.numbers
    return {
        "type": made.name,
        "file": None if output is None else str(output),
        "text": made.text,
        "numbers": [{"kind": n.kind, "bits": n.bits, "elements": n.elements} for n in numbers],
        "dead": [] if made.map is None else made.map.dead,
        "proved": made.proved,
        "levels": made.levels,
        "notes": made.notes,
    }


# ---- verify


def _show_verdict(one: Verdict) -> None:
    done = []
    if one.blocks:
        done.append(f"{one.blocks} blocks decoded")
    if one.rows:
        refused = f" ({one.refused} more are refused)" if one.refused else ""
        done.append(f"{one.rows} rows quantized{refused}")
    said = "; ".join([*done, *one.skipped])
    what, colour = ("alike", "green") if one.ok else ("DIFFERENT", "red")
    if not one.compared:
        what, colour = "not compared", "yellow"
    screen.say(f"{one.type}: {what}: {said}", colour)
    if one.meant:
        screen.say(f"  {len(one.meant)} known to differ in this version of ggml: {one.why}")
    for failure in one.failures:
        _show_failure(failure)


def _show_failure(failure: Failure) -> None:
    what = "blocks decode" if failure.way == "dequantize" else f"of the {failure.said} quantize"
    screen.say(f"  {failure.count} of {failure.total} {what} differently; the smallest:", "bold")
    if failure.row:
        screen.say(f"  row         {_sparse(failure.row)}")
    if failure.importance:
        screen.say(f"  importance  {_sparse(failure.importance)}")
    screen.say(f"  block       {failure.block.hex(' ')}")
    if failure.other:
        screen.say(f"  ggml's      {failure.other.hex(' ')}")
    for name, value in failure.values.items():
        screen.say(f"  {name:<11} {value}")
    if failure.ours:
        screen.say(f"  element {failure.element}: {failure.ours}, ggml {failure.theirs}")


def _sparse(row: tuple[float, ...]) -> str:
    """The numbers that are not zero, each with its place."""
    found = [f"[{place}] {value:.9g}" for place, value in enumerate(row) if value]
    shown = ", ".join(found[:16]) + (", ..." if len(found) > 16 else "")
    return f"{shown or 'zeros'}; zeros otherwise" if len(found) < len(row) else shown


def _verdict_record(one: Verdict) -> dict[str, Any]:
    return {
        "type": one.type,
        "ok": one.ok,
        "compared": one.compared,
        "blocks": one.blocks,
        "rows": one.rows,
        "refused": one.refused,
        "skipped": one.skipped,
        "failures": [_failure_record(failure) for failure in one.failures],
        "meant": [_failure_record(failure) for failure in one.meant],
        "why": one.why or None,
    }


def _failure_record(failure: Failure) -> dict[str, Any]:
    """The failure; bytes as hexadecimal digits."""
    hexes = {"block": failure.block.hex(), "other": failure.other.hex() or None}
    return {**vars(failure), **hexes}
