"""Outputs that survive an interruption: OUT.partial and, beside it, OUT.partial.json.

The JSON says what the file is made from and with which options, and of every tensor that is
done where it lies and what its bytes hash to. Whoever goes on believes nothing of it that the
bytes do not confirm.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..files.atomic import lock, mode_of, name_it, resolved, sync_folder
from ..generated import SPEC_VERSION
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.encode import Piece
    from ..files.reader import File
    from .plan import Plan

INTERVAL = 1.0
"""Seconds between two notes of what is done."""

_FORMAT = 1
_CHUNK = 8 << 20


@dataclass(frozen=True)
class Done:
    """A tensor that is written: it starts at byte ``offset`` of the file."""

    name: str
    type: str
    offset: int
    nbytes: int
    sha256: str


def identity(plan: Plan, number: int) -> dict[str, Any]:
    """What file ``number`` of a plan's output depends on."""
    options = plan.options
    return {
        "format": _FORMAT,
        "ggufspec": __version__,
        "spec": SPEC_VERSION,
        "file_type": plan.file_type.name,
        "file": [number + 1, len(plan.files)],
        "options": json.loads(json.dumps(options.record())),
        "input": _input(plan.source),
        "dialect": plan.source.dialect,
        "imatrix": _sha256(Path(options.imatrix)) if options.imatrix is not None else None,
    }


def partial_path(path: str | os.PathLike[str]) -> Path:
    """Where an output grows until it is whole."""
    target = resolved(os.fspath(path))
    return target.with_name(target.name + ".partial")


def state_path(path: str | os.PathLike[str]) -> Path:
    """Where it stands what is done of it."""
    partial = partial_path(path)
    return partial.with_name(partial.name + ".json")


class PartialFile:
    """A sink that goes on where an interrupted run of the same work stopped.

    ``done`` holds the tensors that need no work any more. ConversionError where what lies there
    comes from other work, or another process is at it.
    """

    def __init__(
        self, path: str | os.PathLike[str], made_from: Mapping[str, Any], *, replace: bool
    ) -> None:
        self.path = os.fspath(path)
        self.target = resolved(self.path)
        self.temporary = partial_path(path)
        self.replace = replace
        self.done: list[Done] = []
        self._state = state_path(path)
        self._made_from = dict(made_from)
        self._position = self._kept = 0
        self._noted = time.monotonic()
        with self._named():
            self._file: io.BufferedRandom | None = _opened(self.temporary)
        try:
            self._begin()
        except BaseException:
            self._file.close()
            raise

    def write(self, data: Piece) -> None:
        """Append bytes; where they are there already, they have to be the same."""
        file = self._open()
        with self._named():
            known = min(len(data), max(0, self._kept - self._position))
            if known and file.read(known) != bytes(data[:known]):
                raise _foreign(self.temporary, "it starts with other bytes")
            if known < len(data):
                file.seek(self._position + known)
                file.write(data[known:])
            self._position += len(data)

    def skip(self, count: int) -> None:
        """Pass over bytes that are there already."""
        self._position += count
        self._open().seek(self._position)

    def note(self, tensor: Done) -> None:
        """A tensor is whole."""
        self.done.append(tensor)
        if time.monotonic() - self._noted >= INTERVAL:
            self._save()

    def flush(self) -> None:
        """Let others read what was written."""
        file = self._open()
        with self._named():
            file.flush()

    def commit(self) -> None:
        """Give the file its name, and forget how it came about."""
        file = self._open()
        with self._named():
            self._save()
            os.fsync(file.fileno())
            file.close()
            self._file = None
            name_it(self.temporary, self.target, replace=self.replace)
            self._state.unlink()
            sync_folder(self.target.parent)

    def abort(self) -> None:
        """Keep what there is; harmless after commit."""
        if self._file is None:
            return
        with contextlib.suppress(OSError):  # a full disk: then the last note counts
            self._save()
        file, self._file = self._file, None
        with contextlib.suppress(OSError):
            file.close()

    def _begin(self) -> None:
        descriptor = self._open().fileno()
        if not lock(descriptor):
            raise ConversionError(
                "another process is writing it", "usage", file=str(self.temporary)
            )
        with self._named():
            mode = mode_of(self.target)
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            self._take_up()

    def _take_up(self) -> None:
        """Believe as much of what lies there as its bytes confirm, and cut off the rest."""
        file, state = self._open(), _read_state(self._state)
        if state is None or not os.fstat(file.fileno()).st_size:
            file.truncate(0)
            return
        for name, value in self._made_from.items():
            if state.get(name) != value:
                raise _foreign(self.temporary, _difference(name, state.get(name), value))
        for entry in state["tensors"]:
            tensor = Done(**entry)
            in_place = tensor.nbytes >= 0 and tensor.offset >= self._kept
            if not in_place or _hash(file, tensor.offset, tensor.nbytes) != tensor.sha256:
                break
            self.done.append(tensor)
            self._kept = tensor.offset + tensor.nbytes
        file.truncate(self._kept)
        file.seek(0)

    def _save(self) -> None:
        """Note what is done, the data first."""
        self._open().flush()
        text = json.dumps(
            {**self._made_from, "tensors": [asdict(tensor) for tensor in self.done]}, indent=1
        )
        fresh = self._state.with_name(self._state.name + ".new")
        fresh.write_text(text, "utf-8")
        fresh.replace(self._state)
        self._noted = time.monotonic()

    def _open(self) -> io.BufferedRandom:
        if self._file is None:
            raise ValueError("the file is finished")
        return self._file

    @contextlib.contextmanager
    def _named(self) -> Any:
        """Let the system's errors tell the path that the caller knows."""
        try:
            yield
        except OSError as error:
            raise OSError(error.errno, error.strerror, self.path) from error


def _opened(path: Path) -> io.BufferedRandom:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    return os.fdopen(os.open(path, flags, 0o666), "r+b")


def _read_state(path: Path) -> dict[str, Any] | None:
    """None where nothing is noted, or in words that nobody understands."""
    try:
        state = json.loads(path.read_text("utf-8"))
        for entry in state["tensors"]:
            done = Done(**entry)
            if not (isinstance(done.offset, int) and isinstance(done.nbytes, int)):
                return None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None
    return dict(state)


def _hash(file: io.BufferedRandom, offset: int, nbytes: int) -> str:
    """sha256 of a part of the file; of less where it ends before."""
    hashed = hashlib.sha256()
    file.seek(offset)
    while nbytes:
        data = file.read(min(nbytes, _CHUNK))
        if not data:
            break
        hashed.update(data)
        nbytes -= len(data)
    return hashed.hexdigest() if not nbytes else ""


def _sha256(path: Path) -> str:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            hashed.update(data)
    return hashed.hexdigest()


def _input(source: File) -> list[dict[str, Any]]:
    """What tells one input from another without reading all of it."""
    return [
        {
            "size": part.source.size,
            "modified": _modified(part.source.path),
            "sha256_before_data": hashlib.sha256(
                part.source.view[: part.scan.data_offset]
            ).hexdigest(),
        }
        for part in source.parts
    ]


def _modified(path: str | None) -> int:
    return Path(path).stat().st_mtime_ns if path is not None else 0


def _difference(name: str, old: Any, new: Any) -> str:
    if name == "input":
        return "the input is another one, or was changed since"
    if name in ("format", "ggufspec", "spec"):
        return f"another version of ggufspec made it ({name} {old}, this is {new})"
    return f"{name} was {json.dumps(old)}, now it is {json.dumps(new)}"


def _foreign(partial: Path, reason: str) -> ConversionError:
    return ConversionError(
        f"this is not the beginning of what is to be made: {reason}",
        "usage",
        hint=f"remove {partial.name} to start anew, or run what made it",
        file=str(partial),
    )
