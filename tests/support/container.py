"""Scans a file with every cursor there is and insists that all give the same answer."""

from __future__ import annotations

from collections.abc import Iterable

from ggufspec import cscan
from ggufspec.cursor import TypeSize
from ggufspec.scan import Buffer, Scan, index_arrays, index_strings, scan

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
    """The indexes of all arrays that have one: equal too, and ending where the scan says."""
    keys = found.keys
    for row in range(len(keys)):
        if keys.value_type[row] != 9 or keys.element_type[row] not in (8, 9):
            continue
        start, count, end = keys.value_offset[row], keys.count[row], keys.value_end[row]
        for backend in BACKENDS:
            place = {"version": found.version, "byte_order": found.byte_order, "backend": backend}
            if keys.element_type[row] == 8:
                strings = index_strings(data, start, count, **place)
                width = 4 if found.version == 1 else 8
                assert len(strings) == count + 1
                assert strings[count] == end + width
            else:
                arrays = index_arrays(data, start, count, **place)
                assert len(arrays.count) == count
                assert (arrays.value_end[-1] if count else start) == end
