"""What an edit changes, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ..files.values import known_key
from .front import same
from .plain import Entry, type_of

if TYPE_CHECKING:
    from ..files.arrays import Form
    from ..generated.metadata import Key
    from .draft import Draft


@dataclass(frozen=True)
class Change:
    """A key with another value than before; None where it is not there."""

    key: str
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> Literal["add", "delete", "change"]:
        """What happens to the key."""
        if self.before is None:
            return "add"
        return "delete" if self.after is None else "change"


@dataclass(frozen=True)
class Objection:
    """Why a change is not made unless somebody insists."""

    key: str
    reason: str


def changes_of(draft: Draft) -> list[Change]:
    """The keys that change, in the order of the file, new ones last."""
    return changes_between(draft.before, draft.entries, draft.part.form)


def changes_between(
    before: Mapping[str, Entry], after: Mapping[str, Entry], form: Form
) -> list[Change]:
    """The keys with other values, in the order of `before`, new ones last.

    form: a version and byte order in which all values can be written.
    """
    keys = dict.fromkeys([*before, *after])
    return [
        Change(key, before.get(key), after.get(key))
        for key in keys
        if not same(form, key, before.get(key), after.get(key))
    ]


def reordered(draft: Draft) -> bool:
    """Whether keys that stay have changed places."""
    return first_moved(draft.before, draft.entries) is not None


def first_moved(before: Iterable[str], after: Iterable[str]) -> tuple[str, str] | None:
    """The first names that stand in each other's place, of those that both have."""
    first, second = dict.fromkeys(before), dict.fromkeys(after)
    mine = (name for name in first if name in second)
    theirs = (name for name in second if name in first)
    return next((pair for pair in zip(mine, theirs, strict=True) if pair[0] != pair[1]), None)


def objections_to(
    changes: Iterable[Change], architectures: Iterable[str | None]
) -> list[Objection]:
    """What speaks against changes, by what the specification says of the keys.

    architectures: those that the file names, before and after.
    """
    prefixes = tuple(dict.fromkeys(architectures))
    return [found for change in changes for found in _objections(change, prefixes)]


def _objections(change: Change, architectures: tuple[str | None, ...]) -> Iterator[Objection]:
    known = described(change.key, architectures)
    if known is None:
        return
    if known.dangerous:
        yield Objection(change.key, known.dangerous)
    if change.after is not None:
        own = type_of(change.after)
        kept = change.before is not None and type_of(change.before) == own
        if own not in known.types and not kept:
            yield Objection(change.key, f"its type is {' or '.join(known.types)}, not {own}")


def described(key: str, architectures: Iterable[str | None]) -> Key | None:
    """What the specification says about a key of a file of one of these architectures."""
    found = (known_key(key, name) for name in architectures)
    return next((known for known in found if known is not None), None)
