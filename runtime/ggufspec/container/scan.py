"""Find every key and tensor of a GGUF file without making an object of any of them."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import GGUFError
from ..generated import container as tables
from ..report import Finding
from .columns import ArrayColumns, Column, KeyColumns, TensorColumns
from .cursor import Cursor, TypeSize, type_rows
from .findings import Findings, write_out
from .front import Front
from .walk import walk

__all__ = [
    "ArrayColumns",
    "KeyColumns",
    "Scan",
    "TensorColumns",
    "index_arrays",
    "index_strings",
    "length_width",
    "scan",
]

ByteOrder = Literal["little", "big"]
Buffer = bytes | bytearray | memoryview | mmap.mmap


@dataclass(frozen=True)
class Scan:
    """Where everything is. A scan that met a fatal error holds what came before it.

    `data_offset` is the data section's start in bytes (padded to `alignment` when there are
    tensors, else `metadata_end`); `metadata_end` the byte behind the last tensor info.
    """

    version: int
    byte_order: ByteOrder
    alignment: int
    metadata_end: int
    data_offset: int
    file_size: int
    header: Mapping[str, int]  # every integer field of the header, by its name in the spec
    keys: KeyColumns
    tensors: TensorColumns
    findings: tuple[Finding, ...]

    @property
    def whole(self) -> bool:
        """Whether every record that the header counts was read to its end."""
        layout = tables.LAYOUTS.get(self.version)
        fields = layout.sections[0] if layout and self.header else ()
        read = {"metadata": len(self.keys), "tensors": len(self.tensors)}
        counted = {field.counts: self.header.get(field.name) for field in fields if field.counts}
        return counted == read

    def first_error(self) -> Finding | None:
        """The error nearest the start of the file."""
        return next((finding for finding in self.findings if finding.severity == "error"), None)

    def raise_error(self) -> None:
        """Raise the first error as a `GGUFError`; nothing when there is none."""
        error = self.first_error()
        if error is not None:
            raise error.error()


def scan(
    buffer: Buffer | Front,
    *,
    profile: str = tables.DEFAULT_PROFILE["open"],
    backend: str = "auto",
    types: Iterable[TypeSize] | None = None,
) -> Scan:
    """Walk the whole container and check it under a profile; never raises for its content.

    A `Front` that is not whole raises what its `reach` does, and the padding between its tensors
    is not looked at. `types` gives the sizes of other tensor types than ggml's own. Raises
    ValueError for an unknown profile or backend, TypeError for what has no contiguous bytes.
    """
    number = profile_number(profile)
    rows = type_rows(types)
    front = buffer if isinstance(buffer, Front) else _whole(buffer)
    with _open_front(front, number, rows, backend) as cursor:
        walked = walk(cursor, front, Findings(number), rows)
        found, left_out = cursor.findings()
        found = [*found, *walked.found.kept]
        left_out = left_out.plus(walked.found.left_out)
        return Scan(
            version=walked.header.get("version", 0),
            byte_order="big" if cursor.big_endian else "little",
            alignment=walked.alignment,
            metadata_end=walked.end,
            data_offset=walked.data_offset,
            file_size=front.size,
            header=walked.header,
            keys=walked.keys,
            tensors=walked.tensors,
            findings=write_out(found, left_out, number, walked.texts()),
        )


def profile_number(profile: str) -> int:
    """The column of a profile in the tables; ValueError naming the known ones."""
    names = [entry.name for entry in tables.PROFILES]
    if profile not in names:
        raise ValueError(f"unknown profile {profile!r}; known are {', '.join(names)}")
    return names.index(profile)


def length_width(version: int) -> int:
    """Bytes of the length in front of a string (4 in version 1, 8 since)."""
    return tables.LAYOUTS[version].string_length


def index_strings(
    buffer: Buffer,
    offset: int,
    count: int,
    *,
    version: int,
    byte_order: ByteOrder,
    backend: str = "auto",
) -> Column[int]:
    """Where the strings of an array lie: `count + 1` file offsets.

    String i is the bytes from `index[i]` to `index[i + 1] - length_width(version)`. Raises
    GGUFError if they do not fit into the file, which a scan would have found.
    """
    with _at(buffer, offset, version, byte_order, backend) as cursor:
        return _fitting(cursor.index_strings(count), offset)


def index_arrays(
    buffer: Buffer,
    offset: int,
    count: int,
    *,
    version: int,
    byte_order: ByteOrder,
    backend: str = "auto",
) -> ArrayColumns:
    """Where the arrays inside an array of arrays lie; raises like `index_strings`."""
    with _at(buffer, offset, version, byte_order, backend) as cursor:
        rows = _fitting(cursor.index_arrays(count), offset)
    return ArrayColumns(*(rows[column::4] for column in range(4)))


def _at(buffer: Buffer, offset: int, version: int, byte_order: ByteOrder, backend: str) -> Cursor:
    cursor = _open_cursor(memoryview(buffer).cast("B"), 0, (), backend)
    cursor.version = version
    cursor.big_endian = byte_order == "big"
    cursor.at = offset
    return cursor


def _fitting(numbers: Column[int] | None, offset: int) -> Column[int]:
    if numbers is not None:
        return numbers
    rule = tables.RULES[tables.RULE_OF["fits"]]
    message = "the array does not fit into the file; it has changed since it was opened"
    raise GGUFError(message, code=rule.id, offset=offset, path="metadata", hint=rule.hint)


def _whole(buffer: Buffer) -> Front:
    view = memoryview(buffer).cast("B")
    return Front(view, len(view))


def _open_front(
    front: Front, profile: int, types: Sequence[tuple[int, ...]], backend: str
) -> Cursor:
    if front.whole:
        return _open_cursor(front.view, profile, types, backend)
    from .frontscan import FrontCursor

    return FrontCursor(front, profile, types)


def _open_cursor(
    view: memoryview, profile: int, types: Sequence[tuple[int, ...]], backend: str
) -> Cursor:
    if backend not in ("auto", "native", "python"):
        raise ValueError(f"unknown backend {backend!r}; known are auto, native, python")
    if backend != "python":
        from . import cscan

        library = cscan.library()
        if library is not None:
            return cscan.CCursor(library, view, profile, types)
        if backend == "native":
            raise ValueError("the compiled part is not there; use backend='python'")
    from .pyscan import PyCursor

    return PyCursor(view, profile, types)
