"""Scans a file with every cursor there is and insists that all give the same answer."""

from __future__ import annotations

from collections.abc import Iterable

from ggufspec.container import cscan
from ggufspec.container.cursor import TypeSize
from ggufspec.container.scan import Buffer, Scan, index_arrays, index_strings, length_width, scan
from support.crafted import ARRAY, STRING

PROFILES = ("ggml", "spec", "strict", "lenient")
BACKENDS = ("python", "native") if cscan.library() else ("python",)


def scan_all(
    data: Buffer, profile: str = "lenient", types: Iterable[TypeSize] | None = None
) -> Scan:
    """The scan that all cursors agree on."""
    sizes = None if types is None else list(types)
    first, *others = (scan(data, profile=profile, backend=b, types=sizes) for b in BACKENDS)
    for other in others:
        assert other == first
    _index_all(data, first)
    return first


def first_error(data: Buffer, profile: str) -> tuple[str, int | None] | None:
    """Rule and offset of the first error under a profile; None when there is none."""
    error = scan_all(data, profile).first_error()
    return None if error is None else (error.rule, error.offset)


def _index_all(data: Buffer, found: Scan) -> None:
    """The indexes of all arrays that have one end where the scan says."""
    keys = found.keys
    for row in range(len(keys)):
        if keys.value_type[row] == ARRAY and keys.element_type[row] in (STRING, ARRAY):
            for backend in BACKENDS:
                _index(data, found, row, backend)


def _index(data: Buffer, found: Scan, row: int, backend: str) -> None:
    keys, version, order = found.keys, found.version, found.byte_order
    start, count, end = keys.value_offset[row], keys.count[row], keys.value_end[row]
    if keys.element_type[row] == STRING:
        strings = index_strings(
            data, start, count, version=version, byte_order=order, backend=backend
        )
        assert len(strings) == count + 1
        assert strings[count] == end + length_width(version)
    else:
        arrays = index_arrays(
            data, start, count, version=version, byte_order=order, backend=backend
        )
        assert len(arrays.count) == count
        assert (arrays.value_end[-1] if count else start) == end
