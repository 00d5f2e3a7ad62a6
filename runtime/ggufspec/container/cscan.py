"""The cursor in C, reached through ctypes; see runtime/c/scan.h."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_uint64, c_void_p
from functools import cache

from .. import native
from ..generated import container as tables
from .cursor import HEADER
from .findings import ROOM, LeftOut, Raw
from .memory import Held

_FIRST_ROWS = 1024  # rows allocated at first; a count of the file never sizes an allocation
_FINDING_COLUMNS = len(Raw._fields)
_ARRAY_COLUMNS = 4


class _State(ctypes.Structure):
    """`ggufspec_cursor` of runtime/c/scan.h."""

    _fields_ = (
        ("data", c_void_p),
        ("size", c_uint64),
        ("at", c_uint64),
        ("layout", c_uint64),
        ("big_endian", c_uint64),
        ("profile", c_uint64),
        ("types", c_void_p),
        ("type_count", c_uint64),
        ("findings", c_void_p),
        ("finding_room", c_uint64),
        ("finding_count", c_uint64),
        ("left_out", c_uint64 * 3),
        ("section", c_uint64),
        ("record", c_uint64),
        ("field", c_uint64),
    )


@cache
def library() -> ctypes.CDLL | None:
    """The compiled part, if it has a cursor made from the same tables as this package."""
    lib = native.lib()
    if lib is None or not hasattr(ctypes, "pythonapi"):
        return None
    try:
        lib.ggufspec_container_digest.restype = c_char_p
        if lib.ggufspec_container_digest() != tables.DIGEST.encode():
            return None
    except AttributeError:
        return None
    state = POINTER(_State)
    lib.ggufspec_scan_records.argtypes = [state, c_uint64, c_uint64, c_void_p]
    lib.ggufspec_scan_records.restype = c_uint64
    lib.ggufspec_scan_tiled.argtypes = [c_void_p, c_uint64, c_uint64, c_uint64]
    lib.ggufspec_scan_tiled.restype = c_uint64
    for function in (lib.ggufspec_index_strings, lib.ggufspec_index_arrays):
        function.argtypes = [state, c_uint64, c_void_p]
        function.restype = c_int
    return lib


class CCursor:
    """`cursor.Cursor` by the compiled part."""

    def __init__(
        self, lib: ctypes.CDLL, view: memoryview, profile: int, types: Sequence[tuple[int, ...]]
    ) -> None:
        self._lib = lib
        self._view = view
        self._memory: Held | None = None
        self._types = array("Q", [number for row in types for number in row])
        self._found = array("Q", bytes(8 * _FINDING_COLUMNS * ROOM))
        self._state = _State(
            size=len(view),
            profile=profile,
            types=_address(self._types),
            type_count=len(types),
            findings=_address(self._found),
            finding_room=ROOM,
        )
        self.stopped = False
        self.partial = array("Q")

    def __enter__(self) -> CCursor:
        self._memory = Held(self._view)
        self._state.data = self._memory.address
        return self

    def __exit__(self, *exception: object) -> None:
        if self._memory is not None:
            self._memory.release()
        self._state.data = None

    @property
    def at(self) -> int:
        """The next byte to read."""
        return int(self._state.at)

    @at.setter
    def at(self, offset: int) -> None:
        self._state.at = offset

    @property
    def version(self) -> int:
        """The version whose layout holds."""
        return tables.VERSIONS[self._state.layout]

    @version.setter
    def version(self, version: int) -> None:
        self._state.layout = tables.VERSIONS.index(version)

    @property
    def big_endian(self) -> bool:
        """The byte order, once the header is read."""
        return bool(self._state.big_endian)

    @big_endian.setter
    def big_endian(self, value: bool) -> None:
        self._state.big_endian = value

    def records(self, section: int, count: int) -> array[int]:
        """Rows of the records that could be read, end to end."""
        stride = len(tables.COLUMNS[section])
        rows = array("Q")
        room = 1 if section == HEADER else _FIRST_ROWS
        self._state.record = 0
        while count and not self.stopped:
            wanted = min(count, room)
            chunk = array("Q", bytes(8 * stride * wanted))
            done = self._lib.ggufspec_scan_records(
                byref(self._state), section, wanted, _address(chunk)
            )
            if done < wanted:
                self.stopped = True
                self.partial = chunk[done * stride : (done + 1) * stride]
            rows.extend(chunk[: done * stride])
            count -= done
            room *= 2
        return rows

    def tiled(self, rows: array[int], alignment: int, room: int) -> bool:
        """Whether all tensors lie in order, without gaps and within `room` bytes."""
        count = len(rows) // len(tables.COLUMNS[-1])
        return bool(self._lib.ggufspec_scan_tiled(_address(rows), count, alignment, room) == count)

    def findings(self) -> tuple[list[Raw], LeftOut]:
        """What the walk found so far."""
        numbers = self._found[: self._state.finding_count * _FINDING_COLUMNS].tolist()
        rows = (
            numbers[first : first + _FINDING_COLUMNS]
            for first in range(0, len(numbers), _FINDING_COLUMNS)
        )
        return [Raw(*row) for row in rows], LeftOut(*self._state.left_out)

    def index_strings(self, count: int) -> array[int] | None:
        """Where `count` strings from `at` start, and the end plus a length's bytes."""
        offsets = array("Q", bytes(8 * (count + 1)))
        whole = self._lib.ggufspec_index_strings(byref(self._state), count, _address(offsets))
        return offsets if whole else None

    def index_arrays(self, count: int) -> array[int] | None:
        """Rows of element type, count, first byte and end of `count` arrays from `at`."""
        rows = array("Q", bytes(8 * _ARRAY_COLUMNS * count))
        whole = self._lib.ggufspec_index_arrays(byref(self._state), count, _address(rows))
        return rows if whole else None


def _address(numbers: array[int]) -> int:
    return numbers.buffer_info()[0]
