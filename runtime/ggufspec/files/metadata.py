"""The metadata of an open file: a mapping whose values are made when they are asked for."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

from ..container.scan import Scan
from .arrays import Form, Stored, array_type, name_of, value_of, value_type
from .source import Source


class Metadata(Mapping[str, Any]):
    """Keys and values of one file, in its order.

    Values are bool, int, float, str (bytes if not UTF-8), read-only ndarrays, or lazy
    sequences. Keys are str; bytes in them that are not UTF-8 appear as lone surrogates.
    """

    def __init__(self, source: Source, scan: Scan, of_set: Container[str] = ()) -> None:
        """of_set: the keys that number the files of the set this is the first of."""
        keys, view = scan.keys, source.view
        self._of_set = of_set
        self.form = Form(scan.version, scan.byte_order)
        self.alignment = scan.alignment
        self._source = source
        self._scan = scan
        self._arrays: dict[str, Any] = {}
        self._rows = {
            name_of(view[offset : offset + length]): row
            for row, (offset, length) in enumerate(
                zip(keys.key_offset, keys.key_length, strict=True)
            )
        }

    def __getitem__(self, key: str) -> Any:
        if key in self._arrays:
            return self._arrays[key]
        stored = self.stored(key)
        value = value_of(stored)
        if stored.is_array:
            # Kept, so that the index of its strings is made once.
            value = self._arrays.setdefault(key, value)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def __repr__(self) -> str:
        return f"<Metadata of {len(self)} keys>"

    def type_of(self, key: str) -> str:
        """The value type of a key: `UINT32`, `ARRAY[STRING]`; KeyError if there is none."""
        stored = self.stored(key)
        return array_type(stored) if stored.is_array else stored.kind.name

    def stored(self, key: str) -> Stored:
        """The value as it lies in the file."""
        row, keys = self._rows[key], self._scan.keys
        is_array = value_type(self.form.version, keys.value_type[row]).kind == "array"
        kind = value_type(self.form.version, keys.element_type[row])
        return Stored(
            self._source,
            self.form,
            kind,
            is_array,
            keys.count[row],
            keys.value_offset[row],
            keys.value_end[row],
            {name: column[row] for name, column in keys.extra.items()},
        )

    def row(self, key: str) -> int:
        """The number of a key in the order of the file; KeyError if there is none."""
        return self._rows[key]

    def start(self, key: str) -> int:
        """Where the pair starts in the file; KeyError if there is none."""
        return int(self._scan.keys.start[self._rows[key]])

    def stored_items(self) -> dict[str, Stored]:
        """All that one file of its own needs: without the keys that number a set's files."""
        return {key: self.stored(key) for key in self if key not in self._of_set}

    @property
    def header(self) -> Mapping[str, int]:
        """The integer fields of the file's header."""
        return self._scan.header
