"""Which tensors go to which file of a set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...container.layout import pad_up
from ...files.encode import Encoder
from ...files.shard_names import parse_shard_name, shard_name
from ...files.shards import SET_KEYS
from ...files.values import Value
from ...generated.container import ALIGNMENT_DEFAULT, ALIGNMENT_KEY
from ...generated.shards import COUNT_KEY, NUMBER_KEY, TENSORS_KEY
from ...text import plural, printable
from ..errors import ConversionError
from .layout import ends_padded, layout_changes, padding_of
from .plan import Change, FilePlan, Item, SetPlan, head, items_of, stamps_of
from .source import joined_entries, set_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...edits.plain import Entry
    from ...files.part import Part
    from ...files.reader import File

DEFAULT_TENSORS = 128
"""Tensors a file where nothing else is asked for, as in llama-gguf-split."""

MOST = 2**16 - 1
"""Files of a set: their count is a UINT16."""

_SUFFIX = ".gguf"


def plan_split(
    source: File,
    prefix: Path,
    *,
    max_size: int | None = None,
    max_tensors: int | None = None,
    tensorless_first: bool = False,
) -> SetPlan:
    """Work out the set that a file is to become; nothing is written. See `split`.

    ConversionError where it cannot be: of contradicting files, or of too many.
    """
    _check_limits(max_size, max_tensors)
    stamps, parts = stamps_of(source), source.parts
    entries, changes = joined_entries(parts)
    own = _own_entries(parts[0], entries)
    items = items_of(parts)
    if max_size is not None:
        groups = _by_size(parts[0], entries, own, items, max_size, tensorless_first)
    else:
        groups = _by_count(items, max_tensors or DEFAULT_TENSORS, tensorless_first)
    if len(groups) > MOST:
        raise ConversionError(
            f"{plural(len(groups), 'file')} are needed, a set has at most {MOST:,}", "usage",
            hint="allow more in each", file="",
        )  # fmt: skip
    paths = shard_paths(prefix, len(groups))
    alignment = parts[0].scan.alignment
    padded = bool(items) or ends_padded(parts[0])
    files = [
        FilePlan(
            path, parts[0],
            {**(own if number else entries), **numbering(number, len(groups), len(items))},
            tuple(group), alignment, max_size, padded,
        )
        for number, (path, group) in enumerate(zip(paths, groups, strict=True))
    ]  # fmt: skip
    stale = set_keys(parts)
    if stale:
        changes.append(Change("replaced", f"{', '.join(stale)}, which number the new files"))
    alone = not items
    changes += [change for part in parts for change in layout_changes(part, alignment, alone=alone)]
    if alone and padding_of(parts[0]) and not files[0].padding:  # nothing will tell a merge of it
        changes.append(Change("padding", "the padding behind the last key goes", parts[0].file))
    choice = parts[0].choice
    dialect = choice.dialect.name if choice else None
    return SetPlan(parts, stamps, tuple(files), tuple(changes), dialect)


def shard_paths(prefix: Path, count: int) -> list[Path]:
    """The names of a set's files; a prefix may end in ``.gguf``, which is taken off."""
    name = prefix.name.removesuffix(_SUFFIX)
    if not name or parse_shard_name(prefix.name) is not None:
        raise ConversionError(
            "the prefix is the part of the names in front of -00001-of-...", "usage",
            file=str(prefix), hint="out/model gives out/model-00001-of-00003.gguf",
        )  # fmt: skip
    return [prefix.with_name(shard_name(name, number, count)) for number in range(1, count + 1)]


def numbering(number: int, count: int, tensors: int) -> dict[str, Entry]:
    """The keys of file ``number``, from 0, in the order of llama-gguf-split."""
    return {
        NUMBER_KEY: Value("UINT16", number),
        TENSORS_KEY: Value("INT32", tensors),
        COUNT_KEY: Value("UINT16", count),
    }


def _check_limits(max_size: int | None, max_tensors: int | None) -> None:
    if max_size is not None and max_tensors is not None:
        raise ConversionError("either a size or a number of tensors is the limit", "usage", file="")
    for limit in (max_size, max_tensors):
        if limit is not None and limit < 1:
            raise ConversionError(f"a limit of {limit} lets nothing in", "usage", file="")


def _own_entries(part: Part, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    """The keys that every file needs: it is a file of its own, with an alignment of its own."""
    if part.scan.alignment == ALIGNMENT_DEFAULT:
        return {}
    return {ALIGNMENT_KEY: entries[ALIGNMENT_KEY]}


def _by_count(items: Sequence[Item], most: int, tensorless_first: bool) -> list[Sequence[Item]]:
    groups = [items[first : first + most] for first in range(0, len(items), most)]
    return [(), *groups] if tensorless_first or not groups else list(groups)


def _by_size(
    part: Part,
    entries: Mapping[str, Entry],
    own: Mapping[str, Entry],
    items: Sequence[Item],
    limit: int,
    tensorless_first: bool,
) -> list[Sequence[Item]]:
    """Fill each file up to `limit` bytes; only what no file can hold makes one larger."""
    first, other = (_size_of_keys(part, keys) for keys in (entries, own))
    encoder, alignment = Encoder(part.form), part.scan.alignment
    groups: list[list[Item]] = [[]]
    front, data, closed = first, 0, tensorless_first
    for item in items:
        info, padded = len(item.info(encoder, 0)), pad_up(item.count, alignment)
        size = pad_up(front + info, alignment) + data + padded
        if closed or (size > limit and (len(groups) == 1 or groups[-1])):
            groups.append([])
            front, data, closed = other, 0, False
        groups[-1].append(item)
        front, data = front + info, data + padded
    return list(groups)


def _size_of_keys(part: Part, entries: Mapping[str, Entry]) -> int:
    kept = {key: entry for key, entry in entries.items() if key not in SET_KEYS}
    return sum(len(piece) for piece in head(part, {**kept, **numbering(0, 0, 0)}, 0))


def oversize(plan: SetPlan) -> list[str]:
    """What to say of files that are larger than they shall be."""
    found = []
    for number, file in enumerate(plan.files):
        if not file.over:
            continue
        limit = f"the limit of {file.limit:,} bytes"
        if len(file.items) == 1 and number:
            name = printable(file.items[0].name)
            found.append(f"{file.path.name}: {name!r} alone is more than {limit} allows")
        else:
            found.append(f"{file.path.name}: the metadata alone exceed {limit}")
    return found
