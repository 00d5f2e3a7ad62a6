"""The walk through a file, section by section, and the checks of what belongs together."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..generated import container as tables
from .alignment import find_alignment
from .columns import KeyColumns, TensorColumns, key_columns, split_rows, tensor_columns
from .cursor import HEADER, METADATA, TENSORS, Cursor
from .findings import Findings, Raw, Texts
from .front import Front
from .layout import DataSection, check_data, pad_up

Types = Sequence[tuple[int, ...]]


@dataclass
class Walk:
    """What is known of a file so far; `whole` counts the sections that were read to their end."""

    front: Front
    found: Findings
    whole: int
    layout: tables.Layout  # of the oldest version while the version is not known
    header: dict[str, int]
    rows: list[array[int]]  # one table a section
    keys: KeyColumns
    tensors: TensorColumns
    end: int  # of the last record that was read whole
    data_offset: int
    alignment: int = tables.ALIGNMENT_DEFAULT

    @property
    def view(self) -> memoryview:
        """The bytes that were read, at their offsets in the file."""
        return self.front.view

    def names(self, section: int, field: str) -> Iterable[bytes]:
        """The texts of a string field, record by record."""
        columns = split_rows(section, self.rows[section])
        offsets, lengths = columns[f"{field}_offset"], columns[f"{field}_length"]
        for offset, length in zip(offsets, lengths, strict=True):
            yield bytes(self.view[offset : offset + length])

    def place(self, section: int, record: int, field: str) -> tuple[int, int]:
        """Number and file offset of a field of a record that was read whole."""
        stride = len(tables.COLUMNS[section])
        row = self.rows[section][record * stride : (record + 1) * stride]
        return _place(self.layout.sections[section], row, field)

    def texts(self) -> Texts:
        """What the messages of findings are filled from."""
        keys, tensors = self.keys, self.tensors
        names = (
            (array("Q"), array("Q")),
            (keys.key_offset, keys.key_length),
            (tensors.name_offset, tensors.name_length),
        )
        return Texts(self.view, names, self.layout)


def walk(cursor: Cursor, front: Front, found: Findings, types: Types) -> Walk:
    """Read everything that can be read and check it; the cursor is that of `front`."""
    result = _read(cursor, front, found)
    _check_unique(result)
    if result.whole > METADATA:
        keys = {name: record for record, name in enumerate(result.names(METADATA, "key"))}
        alignment = _alignment(result, keys, big_endian=cursor.big_endian)
        result.alignment = alignment or result.alignment
        if result.whole > TENSORS:
            _check_present(result, keys, types)
            if len(result.tensors):
                result.data_offset = pad_up(result.end, result.alignment)
            if alignment is not None:
                _check_data(result, cursor)
    return result


def _read(cursor: Cursor, front: Front, found: Findings) -> Walk:
    rows = [cursor.records(HEADER, 1), array("Q"), array("Q")]
    header = _header(rows[HEADER] or cursor.partial, whole=not cursor.stopped)
    layout = tables.LAYOUTS[cursor.version]
    whole = 0 if cursor.stopped else 1
    for section in (METADATA, TENSORS):
        if cursor.stopped:
            break
        count, field = _count_of(section, layout, header)
        most = (front.size - cursor.at) // layout.smallest[section]
        if count > most:
            place = _place(layout.sections[HEADER], rows[HEADER], field)
            found.add(Raw(tables.RULE_OF["count_fits"], HEADER, 0, *place, count, most))
            break
        rows[section] = cursor.records(section, count)
        whole += not cursor.stopped
    end = cursor.partial[0] if cursor.stopped else cursor.at
    return Walk(
        front=front,
        found=found,
        whole=whole,
        layout=layout,
        header=header,
        rows=rows,
        keys=key_columns(rows[METADATA]),
        tensors=tensor_columns(rows[TENSORS]),
        end=end,
        data_offset=end,
    )


def _header(row: Sequence[int], *, whole: bool) -> dict[str, int]:
    """The header's numbers by name; of a broken header the version alone, if it was read."""
    fields = dict(zip(tables.COLUMNS[HEADER][1:], row[1:], strict=True))
    if whole:
        return fields
    return {"version": fields["version"]} if fields.get("version") else {}


def _count_of(section: int, layout: tables.Layout, header: Mapping[str, int]) -> tuple[int, str]:
    """How many records the header promises, and the field that says so."""
    fields = layout.sections[HEADER]
    name = next(field.name for field in fields if field.counts == tables.SECTIONS[section])
    return header[name], name


def _place(fields: Sequence[tables.Field], row: Sequence[int], name: str) -> tuple[int, int]:
    at = row[0]
    for number, field in enumerate(fields):
        if field.name == name:
            return number, at
        if field.kind == "string":
            at = row[field.column] + row[field.column + 1]
        elif field.kind == "value":
            at = row[field.column + field.columns - 1]
        else:
            at += field.width * (1 if field.repeat < 0 else row[field.repeat])
    raise LookupError(name)


def _check_unique(walk: Walk) -> None:
    """Add names that stand twice. Python's hash is keyed, so collisions cannot be made."""
    for rule, entry in enumerate(tables.RULES):
        if entry.check != "unique" or not walk.found.severities[rule]:
            continue
        section_name, _, field = entry.at.partition(".")
        section = tables.SECTIONS.index(section_name)
        seen: dict[bytes, int] = {}
        for record, name in enumerate(walk.names(section, field)):
            first = seen.setdefault(name, record)
            if first != record:
                _, before = walk.place(section, first, field)
                place = walk.place(section, record, field)
                walk.found.add(Raw(rule, section, record, *place, before, 0))


def _alignment(walk: Walk, keys: Mapping[bytes, int], *, big_endian: bool) -> int | None:
    """The alignment that the file asks for; None when its key is no good."""
    record = keys.get(tables.ALIGNMENT_KEY.encode())
    if record is None:
        return tables.ALIGNMENT_DEFAULT
    columns = walk.keys
    start, end = columns.value_offset[record], columns.value_end[record]
    number, _ = walk.place(METADATA, record, "value")
    kinds = {kind.id: kind for kind in walk.layout.value_types}
    return find_alignment(
        walk.found,
        kinds[columns.value_type[record]],
        walk.view[start:end],
        (METADATA, record, number, start),
        big_endian=big_endian,
    )


def _check_present(walk: Walk, keys: Mapping[bytes, int], types: Types) -> None:
    """Add keys that should be there and are not; the place is where one would be appended."""
    blocks = {row[0] for row in types if row[1] > 1}
    quantized = not blocks.isdisjoint(walk.tensors.type)
    place = walk.tensors.start[0] if len(walk.tensors) else walk.end
    for rule, entry in enumerate(tables.RULES):
        asked = entry.check == "present" or (entry.check == "present_if_quantized" and quantized)
        if asked and entry.key.encode() not in keys:
            walk.found.add(Raw(rule, METADATA, len(keys), -1, place, 0, 0))


def _check_data(walk: Walk, cursor: Cursor) -> None:
    data = DataSection(
        front=walk.front,
        alignment=walk.alignment,
        metadata_end=walk.end,
        start=walk.data_offset,
        offsets=walk.tensors.offset,
        sizes=walk.tensors.nbytes,
        place_of=lambda index: walk.place(TENSORS, index, "offset"),
    )
    tiled = data.room >= 0 and cursor.tiled(walk.rows[TENSORS], walk.alignment, data.room)
    check_data(walk.found, data, tiled=tiled)
