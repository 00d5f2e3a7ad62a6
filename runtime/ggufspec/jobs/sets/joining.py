"""One file from a set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .layout import layout_changes, padding_of
from .plan import Change, FilePlan, SetPlan, items_of, stamps_of
from .source import check_alone, joined_entries, set_keys

if TYPE_CHECKING:
    from ...files.reader import File


def plan_merge(source: File, path: Path) -> SetPlan:
    """Work out the file that a set is to become; nothing is written. See `merge`.

    The keys that number its files are left out, so nothing takes the result for one of a set.
    """
    parts = source.parts
    if len(parts) == 1:
        check_alone(parts[0])
    stamps = stamps_of(source)
    entries, changes = joined_entries(parts)
    alignment = parts[0].scan.alignment
    items = items_of(parts)
    padded = not items and padding_of(parts[0]) > 0
    file = FilePlan(path, parts[0], entries, items, alignment, padded=padded)
    changes.insert(0, Change("removed", f"{', '.join(set_keys(parts))}, which numbered the files"))
    alone = not items
    changes += [change for part in parts for change in layout_changes(part, alignment, alone=alone)]
    choice = parts[0].choice
    return SetPlan(parts, stamps, (file,), tuple(changes), choice.dialect.name if choice else None)
