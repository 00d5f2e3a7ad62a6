"""The cursor in Python: serves without a compiler and answers exactly as runtime/c/scan.c does.

Like that one it knows bytes, bounds and buffers; fields, widths, ids, order, limits and
severities come from the generated tables.
"""

from __future__ import annotations

import codecs
import re
import struct
from array import array
from collections.abc import Callable, Sequence
from functools import cache
from itertools import repeat
from operator import gt, lt

from ..generated import container as tables
from .cursor import TENSORS
from .findings import Findings, LeftOut, Raw

_UNKNOWN = 2**64 - 1  # the size of a tensor that has none
_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_BREAKS: dict[str, Callable[[int, int], bool]] = {"at_least": lt, "at_most": gt}
_TEXT_AT_ONCE = 1 << 16
_STRINGS_AT_ONCE = 1 << 10
_SHORT = 127  # the longest string whose length, as bytes, is ASCII

_DIMS = tables.COLUMNS[TENSORS].index("dims_0")
_TYPE = tables.COLUMNS[TENSORS].index("type")
_OFFSET = tables.COLUMNS[TENSORS].index("offset")
_NBYTES = tables.COLUMNS[TENSORS].index("nbytes")

_FORBIDDEN = "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in tables.FORBIDDEN)
_UNPRINTABLE = re.compile(f"[{_FORBIDDEN}]")
_UNPRINTABLE_ASCII = re.compile(
    b"[%s]" % re.escape(bytes(c for c in range(128) if _UNPRINTABLE.match(chr(c))))
)
_WORD, _SEPARATOR = (re.escape(text.encode()) for text in (tables.WORD, tables.SEPARATOR))
_DOTTED = re.compile(b"[%s]+(?:%s[%s]+)*" % (_WORD, _SEPARATOR, _WORD))


class _Stop(Exception):  # noqa: N818  not an error: it has been reported
    """Nothing behind the cursor can be found."""


class PyCursor:
    """`cursor.Cursor` in Python."""

    def __init__(self, view: memoryview, profile: int, types: Sequence[tuple[int, ...]]) -> None:
        self._view = view
        self._size = len(view)
        self._types = {row[0]: row[1:] for row in types}
        self._found = Findings(profile)
        self._asked_of: dict[tuple[int, ...], list[tuple[int, str, int]]] = {}
        self._layout = tables.LAYOUTS[tables.VERSIONS[0]]
        self._section = self._record = self._field = 0
        self.at = 0
        self.big_endian = False
        self.stopped = False
        self.partial = array("Q")

    def __enter__(self) -> PyCursor:
        return self

    def __exit__(self, *exception: object) -> None:
        self._view = memoryview(b"")

    @property
    def version(self) -> int:
        """The version whose layout holds."""
        return self._layout.version

    @version.setter
    def version(self, version: int) -> None:
        self._layout = tables.LAYOUTS[version]

    # ---- entry points

    def records(self, section: int, count: int) -> array[int]:
        """Rows of the records that could be read, end to end."""
        rows = array("Q")
        stride = len(tables.COLUMNS[section])
        self._section = section
        for self._record in range(count):
            row = [0] * stride
            try:
                self._read_record(row)
            except _Stop:
                self.stopped = True
                self.partial = array("Q", row)
                break
            rows.extend(row)
        return rows

    def tiled(self, rows: array[int], alignment: int, room: int) -> bool:
        """Whether all tensors lie in order, without gaps and within `room` bytes."""
        stride = len(tables.COLUMNS[TENSORS])
        expected = 0
        for offset, nbytes in zip(rows[_OFFSET::stride], rows[_NBYTES::stride], strict=True):
            end = expected + nbytes
            if offset != expected or end > room:
                return False
            expected = end + -end % alignment
        return True

    def findings(self) -> tuple[list[Raw], LeftOut]:
        """What the walk found so far."""
        return self._found.kept, self._found.left_out

    def index_strings(self, count: int) -> array[int] | None:
        """Where `count` strings from `at` start, and the end plus a length's bytes."""
        width = self._layout.string_length
        unpack = struct.Struct(self._order() + _CODES[width]).unpack_from
        view, at, last = self._view, self.at, self._size - width
        offsets = array("Q", bytes(8 * (count + 1)))
        for number in range(count):
            if at > last:
                return None
            offsets[number] = at + width
            at += width + unpack(view, at)[0]
        if at > self._size:
            return None
        offsets[count] = at + width
        return offsets

    def index_arrays(self, count: int) -> array[int] | None:
        """Rows of element type, count, first byte and end of `count` arrays from `at`."""
        rows = array("Q")
        try:
            for _ in range(count):
                rows.extend(self._walk_array())
        except _Stop:
            return None
        return rows

    # ---- findings

    def _report(self, rule: int, offset: int, first: int = 0, second: int = 0) -> None:
        self._found.add(Raw(rule, self._section, self._record, self._field, offset, first, second))

    def _stop(self, check: str, offset: int, first: int = 0, second: int = 0) -> _Stop:
        self._report(tables.RULE_OF[check], offset, first, second)
        return _Stop()

    def _need(self, offset: int, size: int) -> None:
        """Stop unless `size` more bytes can be read; what needs them began at `offset`."""
        if size > self._size - self.at:
            raise self._stop("fits", offset, size, self._size - self.at)

    def _asked(self, rules: tuple[int, ...]) -> list[tuple[int, str, int]]:
        """Number, check and limit of the rules that the profile asks for."""
        asked = self._asked_of.get(rules)
        if asked is None:
            found = self._found
            asked = self._asked_of[rules] = [
                (rule, tables.RULES[rule].check, found.limits[rule])
                for rule in rules
                if found.severities[rule]
            ]
        return asked

    def _check_number(self, rules: tuple[int, ...], offset: int, value: int) -> None:
        for rule, check, limit in self._asked(rules):
            breaks = _BREAKS.get(check)
            if breaks and breaks(value, limit):
                self._report(rule, offset, value, limit)

    def _check_text(self, rules: tuple[int, ...], offset: int, text: memoryview) -> None:
        self._check_number(rules, offset, len(text))
        for rule, check, _ in self._asked(rules):
            holds = _TEXT_CHECKS.get(check)
            if holds and not holds(text):
                self._report(rule, offset, 1)

    # ---- numbers

    def _order(self) -> str:
        return ">" if self.big_endian else "<"

    def _number(self, width: int) -> int:
        self._need(self.at, width)
        start = self.at
        self.at += width
        order = "big" if self.big_endian else "little"
        return int.from_bytes(self._view[start : self.at], order)  # type: ignore[arg-type]

    # ---- fields

    def _read_record(self, row: list[int]) -> None:
        row[0] = self.at
        places: list[int] = []
        # The header's version decides about the fields behind it.
        while len(places) < len(self._layout.sections[self._section]):
            self._field = len(places)
            field = self._layout.sections[self._section][self._field]
            places.append(self.at)
            _READERS[field.kind](self, field, row)
        if self._section == TENSORS:
            row[_NBYTES] = self._size_tensor(row, places)

    def _read_literal(self, field: tables.Field, _row: list[int]) -> None:
        self._need(self.at, field.width)
        if self._view[self.at : self.at + field.width] != field.literal:
            raise self._stop("literal", self.at)
        self.at += field.width

    def _read_version(self, field: tables.Field, row: list[int]) -> None:
        """The version, which also tells the byte order: in the file's own it is a small number."""
        start = self.at
        self._need(start, field.width)
        text = self._view[start : start + field.width]
        little, big = int.from_bytes(text, "little"), int.from_bytes(text, "big")
        self.big_endian = little >= tables.VERSION_BELOW > big
        self.at += field.width
        version = row[field.column] = big if self.big_endian else little
        if version not in tables.LAYOUTS:
            raise self._stop("known_version", start, version)
        self._layout = tables.LAYOUTS[version]
        if self.big_endian:
            self._report(tables.RULE_OF["little_endian"], start)
        self._check_number(field.rules, start, version)

    def _read_numbers(self, field: tables.Field, row: list[int]) -> None:
        times = 1 if field.repeat < 0 else row[field.repeat]
        if times > field.columns:
            raise _Stop  # a rule of the repeating field has said so
        for column in range(field.column, field.column + times):
            start = self.at
            row[column] = self._number(field.width)
            self._check_number(field.rules, start, row[column])
        for column in range(field.column + times, field.column + field.columns):
            row[column] = 1

    def _read_string(self, field: tables.Field, row: list[int]) -> None:
        start = self.at
        length = self._number(field.width)
        self._need(start, length)
        row[field.column : field.column + 2] = self.at, length
        self._check_text(field.rules, start, self._view[self.at : self.at + length])
        self.at += length

    def _read_value(self, field: tables.Field, row: list[int]) -> None:
        start = self.at
        kind = self._value_type(start, self._number(field.width))
        row[field.column] = kind.id
        if kind.kind == "array":
            row[field.column + 1 : field.column + 5] = self._walk_array()
            return
        skipped = self._layout.string_length if kind.kind == "string" else 0
        row[field.column + 1 : field.column + 4] = kind.id, 1, self.at + skipped
        self._walk_elements(kind, 1)
        row[field.column + 4] = self.at

    def _value_type(self, offset: int, number: int) -> tables.ValueType:
        for kind in self._layout.value_types:
            if kind.id == number:
                return kind
        raise self._stop("known_value", offset, number)

    # ---- arrays

    def _walk_array(self) -> tuple[int, int, int, int]:
        """Element type, count, first byte and end of an array, all that is in it walked."""
        left: list[int] = []  # inner arrays still to come, for each level
        deepest = 0
        start = self.at
        kind, count = self._array_head()
        outer = (kind.id, count, self.at)
        while True:
            if kind.kind == "array":
                if len(left) == deepest:
                    deepest += 1
                    self._check_depth(start, deepest)
                if len(left) == tables.DEEPEST:
                    raise _Stop
                left.append(count)
            else:
                self._walk_elements(kind, count)
            while left and not left[-1]:
                left.pop()
            if not left:
                return (*outer, self.at)
            left[-1] -= 1
            start = self.at
            kind, count = self._array_head()

    def _array_head(self) -> tuple[tables.ValueType, int]:
        numbers: dict[str, int] = {}
        places: dict[str, int] = {}
        for name, width in self._layout.array:
            places[name] = self.at
            numbers[name] = self._number(width)
        kind = self._value_type(places["element_type"], numbers["element_type"])
        count = numbers["count"]
        self._check_number(tables.RULES_COUNT, places["count"], count)
        smallest = self._layout.smallest_values[self._layout.value_types.index(kind)]
        room = (self._size - self.at) // smallest
        if count > room:
            raise self._stop("count_fits", places["count"], count, room)
        return kind, count

    def _check_depth(self, offset: int, depth: int) -> None:
        """A rule about depth fires at the first array that is too deep."""
        for rule, _, limit in self._asked(tables.RULES_DEPTH):
            if depth == limit + 1:
                self._report(rule, offset, depth, limit)

    def _walk_elements(self, kind: tables.ValueType, count: int) -> None:
        if kind.kind == "string":
            self._walk_strings(kind, count)
            return
        start = self.at
        self._need(start, count * kind.bytes)
        self.at += count * kind.bytes
        for rule, check, limit in self._asked(kind.rules):
            bad = _first_scalar(
                self._view[start : self.at], kind.bytes, self._order(), check, limit
            )
            if bad is not None:
                self._report(rule, start + bad[0], bad[1], limit)

    def _walk_strings(self, kind: tables.ValueType, count: int) -> None:
        least, most, utf8 = 0, _UNKNOWN, -1
        for rule, check, limit in self._asked(kind.rules):
            if check == "utf8":
                utf8 = rule
            elif check == "at_least":
                least = max(least, limit)
            else:
                most = min(most, limit)
        bad = [0, 0]  # offset of the first string that is not UTF-8, how many there are
        while count:
            begin, once = self.at, min(count, _STRINGS_AT_ONCE)
            ordinary = not least and self._skip_short(once, min(most, _SHORT))
            if not ordinary:
                self._walk_any(kind.rules, once, least, most)
            if utf8 >= 0:
                self._find_bad_text(begin, ordinary, bad)
            count -= once
        if bad[1]:
            self._report(utf8, *bad)

    def _skip_short(self, count: int, most: int) -> bool:
        """Go behind the next strings if all are whole and short: the loop that must be fast."""
        width = self._layout.string_length
        unpack = struct.Struct(self._order() + _CODES[width]).unpack_from
        view, at = self._view, self.at
        try:
            for _ in repeat(None, count):
                length = unpack(view, at)[0]
                if length > most:
                    return False
                at += width + length
        except struct.error:
            return False
        if at > self._size:
            return False
        self.at = at
        return True

    def _walk_any(self, rules: tuple[int, ...], count: int, least: int, most: int) -> None:
        """Go behind the next strings, whatever they are."""
        width = self._layout.string_length
        for _ in range(count):
            start = self.at
            length = self._number(width)
            self._need(start, length)
            if not least <= length <= most:
                self._check_number(rules, start, length)
            self.at += length

    def _find_bad_text(self, begin: int, short: bool, bad: list[int]) -> None:
        """Add the strings from `begin` to here that are not UTF-8.

        A length below 128 is ASCII itself, so it ends a character that the string before it
        left unfinished, and `short` strings can be tested as one text.
        """
        width = self._layout.string_length
        if short and _is_utf8(self._view[begin + width : self.at]):
            return
        unpack = struct.Struct(self._order() + _CODES[width]).unpack_from
        at = begin
        while at < self.at:
            text = at + width
            end = text + unpack(self._view, at)[0]
            if not _is_utf8(self._view[text:end]):
                bad[:] = bad[0] if bad[1] else at, bad[1] + 1
            at = end

    # ---- tensors

    def _size_tensor(self, row: list[int], places: list[int]) -> int:
        """The tensor's bytes, or _UNKNOWN."""
        limits = self._found.limits
        dims = row[_DIMS : _DIMS + tables.MOST_DIMS]
        most = limits[tables.RULE_OF["elements"]]
        elements = _count_elements(dims, most)
        if not elements and max(dims) <= most:  # a larger dimension has a rule of its own
            self._report_tensor("elements", places, _DIMS, 0, most)
        size = self._types.get(row[_TYPE])
        if size is None or not size[0]:
            check = "known_type" if size is None else "live_type"
            self._report_tensor(check, places, _TYPE, row[_TYPE], 0)
            return _UNKNOWN
        block, block_bytes, prefix, suffix = size
        if dims[0] % block:
            self._report_tensor("whole_rows", places, _DIMS, dims[0], block)
            return _UNKNOWN
        if not elements:
            return _UNKNOWN
        if 0 in dims:
            return 0
        nbytes = (dims[0] // block * block_bytes + prefix) * (elements // dims[0]) + suffix
        most = limits[tables.RULE_OF["bytes"]]
        if nbytes > most:
            self._report_tensor("bytes", places, _DIMS, 0, most)
            return _UNKNOWN
        return nbytes

    def _report_tensor(
        self, check: str, places: list[int], column: int, first: int, second: int
    ) -> None:
        """Report about the tensor field that a column belongs to."""
        fields = self._layout.sections[TENSORS]
        self._field = [field.column for field in fields].index(column)
        self._report(tables.RULE_OF[check], places[self._field], first, second)


_READERS: dict[str, Callable[[PyCursor, tables.Field, list[int]], None]] = {
    "literal": PyCursor._read_literal,
    "version": PyCursor._read_version,
    "number": PyCursor._read_numbers,
    "string": PyCursor._read_string,
    "value": PyCursor._read_value,
}


def _count_elements(dims: Sequence[int], most: int) -> int:
    """The product of the dimensions but zero; 0 when it is out of range.

    The test is the one that ggml asserts, a little stricter than the product.
    """
    elements = dims[0] or 1
    if elements > most:
        return 0
    for dim in dims[1:]:
        if dim > 1:
            if most // dim <= elements:
                return 0
            elements *= dim
    return elements


def _first_scalar(
    view: memoryview, width: int, order: str, check: str, limit: int
) -> tuple[int, int] | None:
    """Place and value of the first scalar that breaks a rule."""
    if width == 1:
        found = _breaking_bytes(check, limit).search(view)
        return (found.start(), view[found.start()]) if found else None
    byte_order = "big" if order == ">" else "little"
    for at in range(0, len(view), width):
        value = int.from_bytes(view[at : at + width], byte_order)  # type: ignore[arg-type]
        if _BREAKS[check](value, limit):
            return at, value
    return None


@cache
def _breaking_bytes(check: str, limit: int) -> re.Pattern[bytes]:
    bad = bytes(value for value in range(256) if _BREAKS[check](value, limit))
    return re.compile(b"[%s]" % re.escape(bad) if bad else b"(?!)")


def _is_utf8(text: memoryview) -> bool:
    """Strict UTF-8, in pieces, so that a long text does not take a multiple of its size."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(text), _TEXT_AT_ONCE):
            decoder.decode(bytes(text[start : start + _TEXT_AT_ONCE]))
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _is_printable(text: memoryview) -> bool:
    """No forbidden code point; of text that is not UTF-8, no forbidden byte of ASCII."""
    try:
        return not _UNPRINTABLE.search(bytes(text).decode())
    except UnicodeDecodeError:
        return not _UNPRINTABLE_ASCII.search(text)


def _is_dotted(text: memoryview) -> bool:
    return not text or bool(_DOTTED.fullmatch(text))


_TEXT_CHECKS: dict[str, Callable[[memoryview], bool]] = {
    "utf8": _is_utf8,
    "printable": _is_printable,
    "dotted": _is_dotted,
}
