"""A built ggml, asked in a process of its own: its types, and what it decodes and quantizes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import worker
from .facts import Facts, Numbered, Place, TypeFacts, UnreadError

if TYPE_CHECKING:
    from typing_extensions import Self

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]

IDS = range(64)
"""Type ids that are asked for; a library ends before, or dies of the question."""

_VALUE_TYPES = {
    "u8": "UINT8", "i8": "INT8", "u16": "UINT16", "i16": "INT16", "u32": "UINT32", "i32": "INT32",
    "f32": "FLOAT32", "bool": "BOOL", "str": "STRING", "arr": "ARRAY", "u64": "UINT64",
    "i64": "INT64", "f64": "FLOAT64",
}  # fmt: skip
"""What ggml's names for value types stand for."""


class LibraryError(UnreadError):
    """The library cannot be loaded, does not know what it was asked, or died."""


class DiedError(LibraryError):
    """The library ended its process."""


@dataclass(frozen=True)
class LibraryType:
    """A type as the library has it."""

    id: int
    name: str
    elements: int
    bytes: int
    decodes: bool
    quantizer: str
    needs_importance: bool


class Library:
    """The library at a path, a file or the folder of it; close it, or use ``with``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._words: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - until `close`
        self._types: dict[int, LibraryType | None] = {}
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            self._process.wait()
        self._words.close()

    @property
    def version(self) -> str:
        """What the library calls its version; empty where it does not."""
        return str(json.loads(self._ask(worker.DESCRIBE))["version"])

    def type(self, number: int) -> LibraryType | None:
        """The type of an id, None where the library has none."""
        if number not in self._types:
            found: Any = json.loads(self._ask(worker.TYPE, number))
            self._types[number] = LibraryType(number, **found) if found else None
        return self._types[number]

    def named(self, name: str) -> LibraryType | None:
        """The type of a name, whatever its case."""
        for number in IDS:
            try:
                kind = self.type(number)
            except DiedError:
                self.restart()
                return None
            if kind is not None and kind.name.upper() == name.upper():
                return kind
        return None

    def dequantize(self, number: int, blocks: Bytes) -> Floats:
        """Blocks (n, bytes a block) to their elements (n, elements)."""
        kind = self._known(number)
        blocks = np.ascontiguousarray(blocks, np.uint8)
        count = len(blocks) * kind.elements
        data = self._ask(worker.DEQUANTIZE, number, count, 0, blocks.tobytes())
        return np.frombuffer(data, np.float32).reshape(len(blocks), kind.elements)

    def quantize(self, number: int, x: Floats, importance: Floats | None) -> Bytes:
        """Rows (n, row) to stored rows (n, bytes a row)."""
        self._known(number)
        rows, length = x.shape
        data = np.ascontiguousarray(x, np.float32).tobytes()
        if importance is not None:
            data += np.ascontiguousarray(importance, np.float32).tobytes()
        stored = self._ask(worker.QUANTIZE, number, rows, length, data)
        return np.frombuffer(stored, np.uint8).reshape(rows, -1)

    def value_type(self, number: int) -> str | None:
        """Ggml's short name of a type of metadata values."""
        found: str | None = json.loads(self._ask(worker.VALUE_TYPE, number))
        return found

    def restart(self) -> None:
        """Begin anew after the library has died."""
        self.close()
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 - until `close`
        self._start()

    def _known(self, number: int) -> LibraryType:
        kind = self.type(number)
        if kind is None:
            raise LibraryError(f"{self.path} has no type {number}")
        return kind

    def _start(self) -> None:
        if not self.path.exists():
            raise FileNotFoundError(2, "no such file or directory", str(self.path))
        command = [sys.executable, "-I", worker.__file__, str(self.path.resolve())]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words
        )
        self._answer()

    def _ask(
        self, operation: int, number: int = 0, a: int = 0, b: int = 0, data: bytes = b""
    ) -> bytes:
        assert self._process is not None
        assert self._process.stdin is not None
        request = worker.REQUEST.pack(operation, number, a, b, len(data))
        try:
            self._process.stdin.write(request + data)
            self._process.stdin.flush()
        except OSError:
            raise self._death() from None
        return self._answer()

    def _answer(self) -> bytes:
        head = self._exactly(worker.ANSWER.size)
        status, length = worker.ANSWER.unpack(head)
        data = self._exactly(length)
        if status:
            raise LibraryError(data.decode("utf-8", "replace"))
        return data

    def _exactly(self, count: int) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        data = self._process.stdout.read(count) if count else b""
        if len(data) < count:
            raise self._death()
        return data

    def _death(self) -> DiedError:
        assert self._process is not None
        code = self._process.wait()
        self._words.seek(0)
        words = self._words.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
        how = f"exit code {code}"
        if code < 0:
            try:
                how = signal.Signals(-code).name
            except ValueError:
                how = f"signal {-code}"
        last = f": {words[-1]}" if words else ""
        return DiedError(f"{self.path} ended its process ({how}){last}")


def read_library(path: Path) -> Facts:
    """What a built library says of its types and value types."""
    with Library(path) as library:
        place = Place(path.name)
        types = {}
        try:
            for number in IDS:
                kind = library.type(number)
                if kind is not None:
                    name = kind.name.upper()
                    types[name] = TypeFacts(name, number, place, kind.elements, kind.bytes)
        except DiedError:
            library.restart()
        values = {}
        for number in range(20):
            short = library.value_type(number)
            if short:
                name = _VALUE_TYPES.get(short, short)
                values[name] = Numbered(name, number, place)
        version = library.version
    return Facts(
        kind="library",
        name=f"{path.name} {version}".strip(),
        types=types,
        value_types=values or None,
        whole=frozenset({"types", "value_types"}),
    )
