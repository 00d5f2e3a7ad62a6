"""``ggufspec hash``: hashes of tensors, headers and files, and manifests of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..files.urls import Remote
from . import machine, screen, text
from .conversion import failing
from .failures import INVALID, usage
from .options import Dialect, Json, MaxBytes, Threads, file_name, limited, target_argument
from .paths import check_output, open_model, telling, writing
from .progress import Progress
from .screen import Column

if TYPE_CHECKING:
    from ..files.reader import File
    from ..jobs.hashing import Difference, Hashes, Scope

EXAMPLES = (
    "ggufspec hash model.gguf",
    "ggufspec hash model.gguf --no-tensors --algorithm uuid",
    "ggufspec hash https://example.com/model.gguf --header",
    "ggufspec hash model.gguf --manifest model.manifest.json",
    "ggufspec hash copy.gguf --verify model.manifest.json",
    "ggufspec hash edited.gguf --verify model.manifest.json --data",
)

_LONG = 4096
"""Characters of a name that are shown."""

_DETAIL = 200
"""Characters of what is said of a difference."""

DIFFERENCES = (
    Column("what"),
    Column("name", style="cyan"),
    Column("finding", style="red"),
    Column("detail"),
)


def _manifest_option(name: str, words: str) -> Any:
    return typer.Option(name, metavar="MANIFEST", parser=file_name, help=words)


def command(
    file: Annotated[
        Any,
        target_argument(
            "FILE",
            "A GGUF file, any file of a split set, or with --header an https:// URL: then the "
            "header alone is fetched.",
        ),
    ],
    algorithm: Annotated[
        list[str] | None,
        typer.Option(
            "--algorithm", "-a", metavar="NAME",
            help="sha256 (the default), sha1, xxh64, xxh3, uuid; may be given again, or as A,B.",
        ),
    ] = None,
    all_: Annotated[
        bool, typer.Option("--all", help="The same as --algorithm xxh64,sha1,sha256,uuid.")
    ] = False,
    no_tensors: Annotated[
        bool, typer.Option("--no-tensors", help="Hash all data together, no tensor by itself.")
    ] = False,
    header: Annotated[
        bool,
        typer.Option("--header", help="Hash what stands in front of the data; no data are read."),
    ] = False,
    whole: Annotated[
        bool, typer.Option("--file", help="Hash every byte of the file, as sha256sum does.")
    ] = False,
    data: Annotated[
        bool, typer.Option("--data", help="With --verify: check tensors, not metadata and files.")
    ] = False,
    manifest: Annotated[
        Path | None, _manifest_option("--manifest", "Write all hashes to this file, as JSON.")
    ] = None,
    verify: Annotated[
        Path | None,
        _manifest_option(
            "--verify",
            "Check against such a file, or a list as llama-gguf-hash and gguf_hash print it.",
        ),
    ] = None,
    threads: Threads = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing manifest.")
    ] = False,
    dialect: Dialect = None,
    max_bytes: MaxBytes = None,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Hash the data of tensors, each by itself and all together.

    These hashes stay the same when metadata are edited or tensors move. --header and --file hash
    bytes of the file instead. --manifest has all of it, and --verify finds what differs (exit
    code 1).
    """
    if manifest is not None and verify is not None:
        raise usage("--manifest and --verify exclude each other")
    if data and (verify is None or header or whole):
        raise usage("--data goes with --verify, without --header and --file")
    if isinstance(file, Remote) and (not header or whole or manifest is not None):
        raise usage(
            "of a URL the header alone is read", file=str(file),
            hint="--header hashes it; for the rest the file has to be downloaded first",
        )  # fmt: skip
    file = limited(file, max_bytes)
    names = _algorithms(algorithm or [], all_)
    if verify is not None:
        if names:
            raise usage("--verify takes the algorithms of the manifest")
        choice = _Choice(header=header, data=data, whole=whole, tensors=not no_tensors)
        with open_model(file, dialect=dialect) as model, failing(file):
            _verify(model, file, verify, choice, threads, as_json)
        return
    with open_model(file, dialect=dialect) as model, failing(file):
        if manifest is not None:
            check_output(manifest, model.paths, force=force)
        scope = _scope(header, whole, tensors=not no_tensors, everything=manifest is not None)
        hashes = _hash(model, names or ["sha256"], scope, threads, quiet=as_json)
        if manifest is not None:
            _write(hashes, manifest, force)
    done = f"{text.printable(str(manifest))} is written" if manifest is not None else ""
    with telling(done):
        if as_json:
            machine.emit({"file": str(file), **_record(hashes)})
        elif manifest is not None:
            what = _listed(_checked(hashes, scope))
            screen.say(f"{text.printable(str(manifest))}: {', '.join(hashes.algorithms)} of {what}")
        else:
            for one in _lines(hashes, file):
                print(one)


@dataclass(frozen=True, kw_only=True)
class _Choice:
    """What of a manifest is to be checked: all of it, or what is asked for."""

    header: bool
    data: bool
    whole: bool
    tensors: bool

    def scope(self, expected: Hashes) -> Scope:
        from ..jobs.hashing.check import scope_of
        from ..jobs.hashing.compute import Scope

        there = scope_of(expected)
        some = self.header or self.data or self.whole
        return Scope(
            header=there.header and (self.header or not some),
            keys=there.keys and (self.header or not some),
            tensors=there.tensors and self.tensors and (self.data or not some),
            data=there.data and (self.data or not some),
            files=there.files and (self.whole or not some),
            sizes=there.sizes and (self.whole or not some),
        )


def _algorithms(given: Sequence[str], all_: bool) -> list[str]:
    from ..jobs.hashing import find_algorithm
    from ..jobs.hashing.algorithms import ALL

    names = [name.strip() for entry in given for name in entry.split(",")]
    try:
        return [find_algorithm(name).name for name in (*names, *(ALL if all_ else ()))]
    except ValueError as error:
        raise usage(str(error)) from None


def _scope(header: bool, whole: bool, *, tensors: bool, everything: bool) -> Scope:
    from ..jobs.hashing.compute import Scope

    if everything:
        return Scope(header=True, keys=True, tensors=tensors, data=True, files=True)
    some = header or whole
    return Scope(
        header=header, keys=header, tensors=tensors and not some, data=not some, files=whole
    )


def _hash(
    model: File, names: Sequence[str], scope: Scope, threads: int | None, *, quiet: bool
) -> Hashes:
    from ..jobs.hashing import hash_model

    with Progress("hashing", scope.bytes_of(model), quiet=quiet) as progress:
        return hash_model(model, names, scope, threads=threads, advance=progress.advance)


def _record(hashes: Hashes) -> dict[str, Any]:
    from ..jobs.hashing import record

    return record(hashes)


def _write(hashes: Hashes, path: Path, force: bool) -> None:
    import json

    from ..files.atomic import AtomicFile

    made = machine.plain(_record(hashes))
    document = json.dumps(made, ensure_ascii=True, allow_nan=False, indent=1) + "\n"
    with writing(path), AtomicFile(path, replace=force) as output:
        output.write(document.encode())


def _lines(hashes: Hashes, file: Path | Remote) -> Iterator[str]:
    from ..jobs.hashing.listing import line, write_listing

    yield from (text.printable(one, _LONG) for one in write_listing(hashes, str(file)))
    for one in hashes.files:
        name = text.printable(one.name if len(hashes.files) > 1 else str(file), _LONG)
        for algorithm, digest in one.header.items():
            yield line(algorithm, digest, f"{name}#header")
        for algorithm, digest in one.whole.items():
            yield line(algorithm, digest, f"{name}#file")


def _verify(
    model: File,
    file: Path | Remote,
    path: Path,
    choice: _Choice,
    threads: int | None,
    as_json: bool,
) -> None:
    from ..jobs.hashing import differences

    expected = _expected(path, model)
    scope = choice.scope(expected)
    if not (scope.reads_data or scope.header or scope.keys):
        raise usage("the manifest holds no hashes of what is to be checked", file=str(path))
    found = _hash(model, expected.algorithms, scope, threads, quiet=as_json)
    different = differences(expected, found, scope)
    if as_json:
        machine.emit(_verdict(file, path, expected, scope, different))
    else:
        _show(file, expected, scope, different)
    raise typer.Exit(INVALID if different else 0)


def _expected(path: Path, model: File) -> Hashes:
    from ..jobs.hashing import ManifestError, read_listing, read_manifest
    from ..jobs.hashing.listing import looks_like_listing
    from ..jobs.hashing.manifest import MOST

    with path.open("rb") as source:
        document = source.read(MOST + 1)
    try:
        if len(document) > MOST:
            raise ManifestError("the manifest has more than a gigabyte")
        if looks_like_listing(document):
            return read_listing(document, model.tensors)
        return read_manifest(document)
    except ManifestError as error:
        error.file = str(path)
        raise


def _checked(expected: Hashes, scope: Scope) -> dict[str, int]:
    """How much was compared, by what it is."""
    return {
        "tensor": len(expected.tensors) if scope.tensors else 0,
        "key": len(expected.keys) if scope.keys else 0,
        "data": int(scope.data),
        "header": len(expected.files) if scope.header else 0,
        "file": len(expected.files) if scope.files else 0,
    }


def _verdict(
    file: Path | Remote, path: Path, expected: Hashes, scope: Scope, different: Sequence[Difference]
) -> dict[str, Any]:
    return {
        "file": str(file),
        "manifest": str(path),
        "ok": not different,
        "algorithms": expected.algorithms,
        "checked": _checked(expected, scope),
        "differences": [
            {"subject": d.subject, "name": d.name, "kind": d.kind, "detail": d.detail}
            for d in different
        ],
    }


def _show(
    file: Path | Remote, expected: Hashes, scope: Scope, different: Sequence[Difference]
) -> None:
    name = text.printable(str(file))
    if different:
        rows = [
            (d.subject, text.printable(d.name), d.kind, text.printable(d.detail, _DETAIL))
            for d in different
        ]
        screen.table(DIFFERENCES, rows)
        screen.say()
        screen.say(f"{name}: {text.plural(len(different), 'difference')}", "bold red")
        return
    screen.say(f"{name}: as the manifest says ({_listed(_checked(expected, scope))})")


def _listed(count: dict[str, int]) -> str:
    parts = [text.plural(count[what], what) for what in ("tensor", "key") if count[what]]
    parts += [f"the {what}" for what in ("data", "header", "file") if count[what]]
    return ", ".join(parts)
