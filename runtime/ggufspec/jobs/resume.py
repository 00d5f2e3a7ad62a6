"""Outputs that survive an interruption: OUT.partial and, beside it, OUT.partial.json.

The JSON says what the file is made from and with which options, and of every tensor that is
done where it lies and what its bytes and those it was made from hash to. Whoever goes on
believes nothing of it that the bytes do not confirm.

The JSON is there before the first byte of OUT.partial, so a file of that name without it is not
ours, and nothing that is not ours is written to: no link, no pipe, no file of other work.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..files.atomic import (
    IrregularFileError,
    lock,
    masked,
    mode_of,
    name_it,
    naming,
    open_regular,
    permissions_of,
    resolved,
    stands_for,
    sync_folder,
    unfinished,
)
from ..generated import SPEC_VERSION
from .errors import ConversionError

if TYPE_CHECKING:
    from ..files.encode import Piece
    from ..files.tensor import Tensor
    from .origin import Origin
    from .plan import Plan

INTERVAL = 1.0
"""Seconds between two notes of what is done."""

_FORMAT = 2
_MARK = b'{\n "partial_format": '
"""What every note starts with."""

_CHUNK = 8 << 20
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True)
class Done:
    """A tensor that is written: it starts at byte ``offset`` of the file.

    sha256: of its bytes there. source: of the data it was made from.
    """

    name: str
    type: str
    offset: int
    nbytes: int
    sha256: str
    source: str

    @property
    def sound(self) -> bool:
        """Whether its fields are what they are meant to be."""
        words = (self.name, self.type, self.sha256, self.source)
        numbers = (self.offset, self.nbytes)
        return all(isinstance(word, str) for word in words) and all(
            type(number) is int and 0 <= number <= _LARGEST for number in numbers
        )


def identity(plan: Plan, number: int, origin: Origin) -> dict[str, Any]:
    """What file ``number`` of a plan's output depends on."""
    return {
        "partial_format": _FORMAT,
        "ggufspec": __version__,
        "spec": SPEC_VERSION,
        "file_type": plan.file_type.name,
        "file": [number + 1, len(plan.files)],
        "options": json.loads(json.dumps(plan.options.record())),
        "size": plan.files[number].size,
        **origin.facts,
    }


def partial_path(path: str | os.PathLike[str]) -> Path:
    """Where an output grows until it is whole."""
    target = resolved(os.fspath(path))
    return target.with_name(target.name + ".partial")


def state_path(path: str | os.PathLike[str]) -> Path:
    """Where it stands what is done of it."""
    partial = partial_path(path)
    return partial.with_name(partial.name + ".json")


def names_beside(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """What a run that can be resumed writes before the output gets its name."""
    state = state_path(path)
    return partial_path(path), state, _fresh(state)


class PartialFile:
    """A sink that goes on where an interrupted run of the same work stopped.

    ``done`` holds the tensors that need no work any more. ConversionError where what lies there
    is not ours or comes from other work, or another process is at it.

    made_from: has to be the same as in the interrupted run. tensors: those of the source, in the
    order of the output. front: bytes at the beginning that a file of ours has to share, before
    anything is cut off. like: as of `AtomicFile`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        made_from: Mapping[str, Any],
        origin: Origin,
        tensors: Sequence[Tensor],
        *,
        front: int,
        replace: bool,
        like: Iterable[Path] = (),
    ) -> None:
        self.path = os.fspath(path)
        self.target = resolved(self.path)
        self.temporary = partial_path(path)
        self.replace = replace
        self.done: list[Done] = []
        self._state = state_path(path)
        self._made_from = dict(made_from)
        self._origin = origin
        self._tensors = tensors
        self._front = front
        self._position = self._kept = 0
        self._cut = False
        self._mode: int | None = None
        self._noted = time.monotonic()
        allowed = permissions_of(like)
        with naming(self.path):
            self._file: io.BufferedRandom | None = _opened(self.temporary)
        try:
            self._begin(allowed)
        except BaseException:
            self._file.close()
            raise

    def write(self, data: Piece) -> None:
        """Append bytes; where they are there already, they have to be the same."""
        file = unfinished(self._file)
        with naming(self.path):
            known = min(len(data), max(0, self._kept - self._position))
            if known and file.read(known) != bytes(data[:known]):
                raise _foreign(self.temporary, "it starts with other bytes")
            if known < len(data):
                self._trim()
                file.seek(self._position + known)
                file.write(data[known:])
            self._position += len(data)

    def skip(self, count: int) -> None:
        """Pass over bytes that are there already."""
        self._position += count
        unfinished(self._file).seek(self._position)

    def note(self, tensor: Done) -> None:
        """A tensor is whole."""
        self.done.append(tensor)
        if time.monotonic() - self._noted >= INTERVAL:
            self._save()

    def flush(self) -> None:
        """Let others read what was written."""
        file = unfinished(self._file)
        with naming(self.path):
            self._trim()
            file.flush()

    def commit(self) -> None:
        """Give the file its name, and forget how it came about."""
        file = unfinished(self._file)
        with naming(self.path):
            self._trim()
            self._save()
            if self._mode is not None and hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), self._mode)
            os.fsync(file.fileno())
            self._file = None
            if sys.platform == "win32":  # which renames nothing that is open
                file.close()
            with file:  # and with it the lock, until nobody can take it for a partial file
                name_it(self.temporary, self.target, replace=self.replace)
            self._state.unlink(missing_ok=True)
            sync_folder(self.target.parent)

    def abort(self) -> None:
        """Keep what there is; harmless after commit."""
        if self._file is None:
            return
        if self._cut:  # else there is nothing new
            with contextlib.suppress(OSError):  # a full disk: then the last note counts
                self._save()
        file, self._file = self._file, None
        with contextlib.suppress(OSError):
            file.close()

    def _begin(self, allowed: int | None) -> None:
        descriptor = unfinished(self._file).fileno()
        if not lock(descriptor) or not stands_for(descriptor, self.temporary):
            raise ConversionError(
                "another process is writing it", "usage", file=str(self.temporary)
            )
        with naming(self.path):
            self._mode = mode = mode_of(self.target)
            if mode is not None and not self.replace:
                raise ConversionError("the output exists", "usage", file=self.path)
            if mode is None and allowed is not None:
                self._mode = mode = masked(descriptor, allowed)
            self._take_up()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode | 0o600)  # so that it can be taken up again
            if not os.fstat(descriptor).st_size:
                self._save()

    def _take_up(self) -> None:
        """Believe as much of what lies there as its bytes confirm; the rest will be cut off."""
        file, state = unfinished(self._file), _read_state(self._state)
        size = os.fstat(file.fileno()).st_size
        if not size:
            return
        if state is None:
            raise _not_ours(self.temporary, f"there is no {self._state.name} that tells of it")
        for name, value in self._made_from.items():
            if state.get(name) != value:
                raise _foreign(self.temporary, _difference(name, state.get(name), value))
        self._confirm([Done(**entry) for entry in state["tensors"]], size)
        if not self._origin.unchanged(state.get("stamps")):
            self._compare_source()
        self._kept = min(size, max(self._kept, self._front))
        file.seek(0)

    def _confirm(self, noted: list[Done], size: int) -> None:
        """Take the tensors whose bytes are there, up to the first whose are not."""
        for tensor in noted:
            end = tensor.offset + tensor.nbytes
            if tensor.offset < self._kept or end > self._made_from["size"]:
                raise _not_ours(self._state, f"tensor {tensor.name!r} cannot lie where it says")
            if end > size or _hash(unfinished(self._file), tensor) != tensor.sha256:
                break
            self.done.append(tensor)
            self._kept = end

    def _compare_source(self) -> None:
        for done, tensor in zip_longest(self.done, self._tensors[: len(self.done)]):
            if done.source != (self._origin.sha256(tensor) if tensor else ""):
                raise _foreign(self.temporary, _difference("input", None, None))

    def _trim(self) -> None:
        """Cut off what nobody confirmed; not sooner than the beginning was found to be ours."""
        if not self._cut:
            unfinished(self._file).truncate(max(self._position, self._kept))
            self._cut = True

    def _save(self) -> None:
        """Note what is done, the data first."""
        unfinished(self._file).flush()
        state = {
            **self._made_from,
            "stamps": self._origin.stamps,
            "tensors": [asdict(tensor) for tensor in self.done],
        }
        fresh = _fresh(self._state)
        _remove_torn(fresh)
        with os.fdopen(open_regular(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            file.write(json.dumps(state, indent=1).encode())
            file.flush()
            os.fsync(file.fileno())  # without it, what is there after a power cut is not ours
        fresh.replace(self._state)
        self._noted = time.monotonic()


def _opened(path: Path) -> io.BufferedRandom:
    with _must_be_regular(path):
        return os.fdopen(open_regular(path, os.O_RDWR | os.O_CREAT), "r+b")


def _fresh(state: Path) -> Path:
    """Where a note is written before it takes the place of the last one."""
    return state.with_name(state.name + ".new")


@contextlib.contextmanager
def _must_be_regular(path: Path) -> Iterator[None]:
    try:
        yield
    except IrregularFileError as error:
        raise _not_ours(path, error.strerror or "") from error


def _remove_torn(fresh: Path) -> None:
    """Make room for a note where a run was killed while it wrote one."""
    try:
        with _must_be_regular(fresh), os.fdopen(open_regular(fresh, os.O_RDONLY), "rb") as file:
            start = file.read(len(_MARK))
    except FileNotFoundError:
        return
    if not _MARK.startswith(start):
        raise _not_ours(fresh, "it is no note of ggufspec")
    fresh.unlink()


def _read_state(path: Path) -> dict[str, Any] | None:
    """None where nothing is noted; ConversionError for what no run has noted."""
    try:
        with _must_be_regular(path), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    try:
        state = json.loads(text) if text.startswith(_MARK) else {}
        noted = state["tensors"]
        if isinstance(noted, list) and all(Done(**entry).sound for entry in noted):
            return dict(state)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise _not_ours(path, "it is no note of ggufspec")


def _hash(file: io.BufferedRandom, tensor: Done) -> str:
    """sha256 of a tensor in the file, which is long enough for it."""
    hashed, left = hashlib.sha256(), tensor.nbytes
    file.seek(tensor.offset)
    while left and (data := file.read(min(left, _CHUNK))):
        hashed.update(data)
        left -= len(data)
    return hashed.hexdigest()


def _difference(name: str, old: Any, new: Any) -> str:
    if name == "input":
        return "the input is another one, or was changed since"
    if name in ("partial_format", "ggufspec", "spec"):
        return f"another version of ggufspec made it ({name} {old}, this is {new})"
    return f"{name} was {json.dumps(old)}, now it is {json.dumps(new)}"


def _foreign(partial: Path, reason: str) -> ConversionError:
    return ConversionError(
        f"this is not the beginning of what is to be made: {reason}",
        "usage",
        hint=f"remove {partial.name} to start anew, or run what made it",
        file=str(partial),
    )


def _not_ours(path: Path, reason: str) -> ConversionError:
    return ConversionError(
        f"this was not left by an interrupted run: {reason}",
        "usage",
        hint="remove it, or run without --resume",
        file=str(path),
    )
