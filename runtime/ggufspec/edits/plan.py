"""What an edit comes to: which keys change, what becomes of the bytes, what speaks against it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..text import plural
from .changes import Change, Objection, changes_of, objections_to, reordered
from .draft import Draft, architecture
from .errors import EditError
from .filler import BLOCK, KEY, check_reserved, check_room, filled, is_blank, roomy
from .front import Blanks, Front
from .moves import Move, apart, kept_together, packed

if TYPE_CHECKING:
    from ..files.part import Part

Way = Literal["nothing", "in place", "beside", "copy"]
"""Nothing is to do, the file's own bytes change, a new file takes its place or another name."""


@dataclass(frozen=True)
class EditPlan:
    """An edit that was worked out; `carry_out` does it.

    output: the file that is written. front: what stands in front of the data then. moves: where
    the bytes behind it come from. size: bytes of the file then. filler: blanks that take the room
    of a shorter header, None without. why_not: what keeps the edit from being made in place.
    """

    draft: Draft
    output: Path
    way: Way
    changes: tuple[Change, ...]
    objections: tuple[Objection, ...]
    front: Front
    moves: tuple[Move, ...]
    size: int
    filler: int | None = None
    reordered: bool = False
    why_not: str = ""

    @property
    def moved(self) -> int:
        """Bytes of data that have to be written, or cloned."""
        if self.way in ("nothing", "in place"):
            return 0
        return sum(move.count for move in self.moves)

    @property
    def shareable(self) -> bool:
        """Whether data move by whole blocks of a disk, which a file system may share then."""
        return all((move.source - move.target) % BLOCK == 0 for move in self.moves)

    def check(self) -> None:
        """EditError for what is not done unless somebody insists."""
        if self.objections:
            first = self.objections[0]
            others = {one.key for one in self.objections} - {first.key}
            more = f" (and {plural(len(others), 'other key')})" if others else ""
            raise EditError(
                f"{first.key}{more}: {first.reason}", "usage",
                hint="--force changes it all the same",
            )  # fmt: skip


def plan_edit(
    draft: Draft,
    *,
    output: Path | None = None,
    in_place: bool = False,
    room: int | None = None,
) -> EditPlan:
    """Work out an edit; nothing is written.

    output: a new file; None changes the draft's own. in_place: change its bytes where no data has
    to move, otherwise as without. room: bytes that later edits in place can add at least, as
    blanks or padding; data move by whole blocks of a disk then, which a file system may share.
    EditError for values that cannot be stored.
    """
    for key, entry in draft.entries.items():
        if entry is not draft.before.get(key):
            check_reserved(key, entry)
    front, moves = _layout(draft.part, Front(draft.part, draft.entries))
    objections = objections_to(changes_of(draft), (architecture(draft.before), draft.architecture))
    why_not = ""
    way: Way = "beside" if output is None else "copy"
    if in_place and output is None:
        why_not = _obstacle(draft.part, front, moves)
        if not why_not:
            fitting = filled(front, draft.part.scan.data_offset) if _has_data(moves) else front
            if fitting is None:
                why_not = _no_fit(draft.part, front)
            else:
                way, front = "in place", fitting
                moves = kept_together(draft.part, front.size)
    if room is not None:
        check_room(room)
        if way != "in place" and _has_data(moves):
            front = roomy(front, room)
            moves = _moves(draft.part, front)
    blanks = _blanks(front) if front.entries is not draft.entries else None
    result = Draft(draft.path, draft.part, draft.stamp, draft.before, dict(front.entries))
    changes, moved = changes_of(result), reordered(result)
    if output is None and not changes and not moved:
        way = "nothing"
    return EditPlan(
        draft, output or draft.path, way, tuple(changes), tuple(objections), front, tuple(moves),
        _size(front, moves), blanks, moved, why_not,
    )  # fmt: skip


def _layout(part: Part, front: Front) -> tuple[Front, list[Move]]:
    """The front with the tensors' places in it, and how their data gets there."""
    if front.alignment != part.scan.alignment and len(part.scan.tensors):
        front = Front(part, front.entries, packed(part, front.alignment))
    return front, _moves(part, front)


def _moves(part: Part, front: Front) -> list[Move]:
    if front.offsets is None:
        return kept_together(part, front.size)
    return apart(part, front.offsets, front.size, front.alignment)


def _size(front: Front, moves: Sequence[Move]) -> int:
    return max([front.size, *(move.target + move.count for move in moves)])


def _has_data(moves: Sequence[Move]) -> bool:
    return any(move.count for move in moves)


def _obstacle(part: Part, front: Front, moves: Sequence[Move]) -> str:
    """Why the data cannot stay where it is, whatever the length of the header; "" if it can."""
    if front.offsets is None or not _has_data(moves):
        return ""
    if front.offsets == tuple(part.scan.tensors.offset):
        return ""
    return f"the alignment becomes {front.alignment}, so tensors move"


def _no_fit(part: Part, front: Front) -> str:
    room, needed = part.scan.data_offset, front.end
    if needed > room:
        return f"the new header has {needed:,} bytes, and the data starts at byte {room:,}"
    if KEY in front.entries and not is_blank(front.entries[KEY]):
        return f"{KEY} holds something else than blanks"
    return f"the new header leaves {room - needed:,} bytes, too few for a key that fills them"


def _blanks(front: Front) -> int | None:
    entry = front.entries.get(KEY)
    value = getattr(entry, "value", None)
    return len(value) if isinstance(value, (str, Blanks)) else None
