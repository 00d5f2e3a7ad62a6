"""What ``meta`` shows: values, changes, and what becomes of the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..edits.elements import array_change, first_difference, sequence_change
from ..edits.filler import KEY as FILLER
from ..edits.filler import is_blank
from ..edits.front import Blanks
from ..edits.plain import Entry, to_plain, type_of
from ..files.arrays import Stored, value_of
from ..files.values import Value
from . import screen, text
from .info import KEYS, key_rows

if TYPE_CHECKING:
    from ..edits import Change, EditPlan, Transferred
    from ..edits.elements import ElementChange
    from ..files.metadata import Metadata

_SHOWN = 6  # elements of an array
_FIRST = 3  # elements of an array that differ
_LINES = 60  # of the difference of two texts
_MANY = 10_000  # lines of both that are compared line by line
_AROUND = 30  # characters around a difference
_COLOURS = {"-": "red", "+": "green"}


def record(key: str, stored: Stored) -> dict[str, Any]:
    """A key for machines, as in the documents of `export`."""
    return {"key": key, "type": type_of(stored), "value": to_plain(stored)}


def show_values(metadata: Metadata, keys: Sequence[str], *, whole: bool) -> None:
    """Print keys, a single one with all of its value."""
    if not whole:
        screen.table(KEYS, key_rows(metadata, keys, _SHOWN))
        return
    value, all_of = metadata[keys[0]], text.Brief(None, None)
    if isinstance(value, (str, bytes)):
        screen.say(_text(value))
    elif metadata.stored(keys[0]).is_array:
        for item in value:
            screen.say(_text(item) if isinstance(item, (str, bytes)) else all_of(item))
    else:
        screen.say(all_of(value))


def show_difference(lines: Iterable[str], outcome: str) -> None:
    """Print what `difference` gave, and what was done or would be."""
    show_lines(lines)
    screen.say(outcome)


def show_lines(lines: Iterable[str]) -> None:
    """Print lines that start with - and +."""
    for line in lines:
        screen.say(line, _COLOURS.get(line[:1], ""))


def difference(plan: EditPlan) -> list[str]:
    """The changes, in lines that start with - and +."""
    lines = lines_of(plan.changes)
    return [*lines, "  keys change places"] if plan.reordered else lines


def lines_of(changes: Iterable[Change]) -> list[str]:
    """Changes of keys, in lines that start with - and +."""
    return [line for change in changes for line in _difference(change)]


def plan_record(plan: EditPlan) -> dict[str, Any]:
    """A plan for machines."""
    return {
        "file": str(plan.draft.path),
        "output": str(plan.output),
        "way": plan.way,
        "why_not_in_place": plan.why_not or None,
        "changes": [change_record(change) for change in plan.changes],
        "reordered": plan.reordered,
        "refused": [{"key": one.key, "reason": one.reason} for one in plan.objections],
        "size": plan.size,
        "size_before": plan.draft.part.scan.file_size,
        "moved": plan.moved,
        "filler": plan.filler,
    }


def told(plan: EditPlan, done: Transferred, seconds: float) -> str:
    """What was done, in a sentence."""
    if plan.way == "nothing":
        return "nothing changes; nothing was written"
    name = text.printable(str(plan.output))
    if plan.way == "in place":
        return f"{name}: {done.copied:,} bytes changed in place{_blanks(plan)}"
    shared = f", {text.size(done.cloned)} shared with the old file" if done.cloned else ""
    took = f"written in {seconds:.1f} s"
    return f"{name}: {text.size(plan.size)} {took}{shared}{_blanks(plan)}"


def would(plan: EditPlan) -> str:
    """What would be done, in a sentence."""
    name = text.printable(str(plan.output))
    match plan.way:
        case "nothing":
            return "nothing changes; nothing would be written"
        case "in place":
            return f"{name} would be changed in place; no data moves{_blanks(plan)}"
        case "beside":
            reason = f" (not in place: {plan.why_not})" if plan.why_not else ""
            return f"a new file of {text.size(plan.size)} would take the place of {name}{reason}"
    return f"{name} of {text.size(plan.size)} would be written"


def _blanks(plan: EditPlan) -> str:
    if plan.filler is None:
        return ""
    purpose = "keep the data in place" if plan.way == "in place" else "leave room for later edits"
    return f"; {text.plural(plan.filler, 'blank')} under ggufspec.pad {purpose}"


def _difference(change: Change) -> Iterator[str]:
    """Lines that start with - and +."""
    before, after = change.before, change.after
    key = text.printable(change.key)
    if change.key == FILLER:
        blanks = [_blank_count(entry) for entry in (before, after)]
        yield f"  {key}: {blanks[0]:,} blanks before, {blanks[1]:,} after"
        return
    texts = [_plain_text(entry) for entry in (before, after)]
    if texts[0] is not None and texts[1] is not None:
        several = "\n" in texts[0] or "\n" in texts[1]
        if several or min(map(len, (texts[0], texts[1]))) > text.LIMIT:
            yield f"  {key} = STRING:"
            yield from (_of_texts if several else _of_long_texts)(texts[0], texts[1])
            return
    exact = (
        before is not None
        and after is not None
        and not type_of(before).startswith("ARRAY")
        and _shown(before) == _shown(after)
    )
    if before is not None:
        yield f"- {key} = {_shown(before, exact=exact)}"
    if after is not None:
        yield f"+ {key} = {_shown(after, exact=exact)}"
    if before is not None and after is not None and type_of(before) == type_of(after):
        yield from _of_arrays(before, after)


def _of_texts(before: str, after: str) -> Iterator[str]:
    """The lines that differ, with some around them."""
    texts = before.split("\n"), after.split("\n")
    if sum(map(len, texts)) > _MANY:
        yield from _of_long_texts(before, after)
        return
    lines = difflib.unified_diff(*texts, lineterm="", n=2)
    for number, line in enumerate(list(lines)[2:]):
        if number == _LINES:
            yield "    ..."
            return
        mark = " " if line.startswith("@") else line[:1]
        yield f"{mark}   {text.printable(line.removeprefix(mark))}"


def _of_long_texts(before: str, after: str) -> Iterator[str]:
    """Where two texts begin to differ."""
    at = first_difference(before, after)
    start = max(0, at - _AROUND)
    yield f"  they differ from character {at:,} of {len(before):,} on, now {len(after):,}:"
    for mark, value in (("-", before), ("+", after)):
        yield f"{mark}   ...{text.printable(value[start : at + _AROUND])}..."


def _of_arrays(before: Entry, after: Entry) -> Iterator[str]:
    """Which elements of two arrays of one type differ, the first of them."""
    found = array_change(before, after)
    if found is None:
        return
    counts = [
        f"{count:,}{words}"
        for count, words in (
            (found.changed, " changed" if found.inserted or found.deleted else ""),
            (found.inserted, " inserted"),
            (found.deleted, " deleted"),
        )
        if count
    ]
    if not counts:
        return
    shown = "; ".join(map(_element, found.first[:_FIRST]))
    more = found.changed + found.inserted + found.deleted > _FIRST
    yield f"  other elements: {', '.join(counts)}, the first is {shown}{'; ...' if more else ''}"


def _element(change: ElementChange) -> str:
    """An element that differs."""
    if change.kind == "change":
        return f"number {change.before_at:,}{_becomes(change.before, change.after)}"
    if change.kind == "insert":
        return f"number {change.after_at:,} of the new: {_item(change.after)} inserted"
    return f"number {change.before_at:,}: {_item(change.before)} deleted"


def _becomes(before: Any, after: Any) -> str:
    """Two values that differ, in words that differ: inside arrays and texts where they do."""
    told = _item(before), _item(after)
    if told[0] != told[1]:
        return f": {told[0]} becomes {told[1]}"
    if isinstance(before, (str, bytes)):
        before, after = (_as_str(value) for value in (before, after))
        at = first_difference(before, after)
        start = max(0, at - _AROUND)
        old, new = (text.printable(value[start : at + _AROUND]) for value in (before, after))
        return f" from character {at:,} on: ...{old}... becomes ...{new}..."
    inner = sequence_change(before, after, 1) if hasattr(before, "__len__") else None
    if inner is None or not inner.first:
        exact = text.Brief(exact=True)
        return f": {exact(before)} becomes {exact(after)}"
    first = inner.first[0]
    if first.kind != "change":
        return f", {_element(first)}"
    return f", number {first.before_at:,}{_becomes(first.before, first.after)}"


def _as_str(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogateescape")


def _plain_text(entry: Entry | None) -> str | None:
    if entry is None or type_of(entry) != "STRING":
        return None
    value = value_of(entry) if isinstance(entry, Stored) else entry.value
    return value if isinstance(value, str) else None


def _blank_count(entry: Entry | None) -> int:
    if isinstance(entry, Value) and isinstance(entry.value, Blanks):
        return len(entry.value)
    return len(_plain_text(entry) or "")


def _shown(entry: Entry, *, exact: bool = False) -> str:
    """Type and value as `set` takes them, shortened."""
    kind = type_of(entry)
    value = value_of(entry) if isinstance(entry, Stored) else entry.value
    brief = text.Brief(exact=exact)
    if not kind.startswith("ARRAY"):
        return f"{kind}:{brief(value)}"
    items = list(value[:_SHOWN])
    more = ", ..." if len(value) > len(items) else ""
    return f"{kind}:[{', '.join(map(brief, items))}{more}] ({len(value):,})"


def _item(value: Any) -> str:
    return text.Brief()(value)


def _text(value: str | bytes) -> str:
    """All of a text, line by line."""
    lines = value.split("\n") if isinstance(value, str) else value.split(b"\n")
    return "\n".join(text.printable(line, len(line)) for line in lines)


def change_record(change: Change, *, most: int | None = None) -> dict[str, Any]:
    """A change for machines; arrays of more than `most` elements without them (None: with all)."""
    result: dict[str, Any] = {"key": change.key, "kind": change.kind}
    for name, entry in (("before", change.before), ("after", change.after)):
        if entry is None:
            continue
        if change.key == FILLER and is_blank(entry):
            result[name] = {"type": type_of(entry), "blanks": _blank_count(entry)}
        else:
            result[name] = {"type": type_of(entry), **_value_record(entry, most)}
    return result


def _value_record(entry: Entry, most: int | None) -> dict[str, Any]:
    is_array = type_of(entry).startswith("ARRAY")
    if not is_array or most is None:
        return {"value": _machine(entry)}
    count = entry.count if isinstance(entry, Stored) else len(entry.value)
    return {"count": count, **({"value": _machine(entry)} if count <= most else {})}


def _machine(entry: Entry) -> Any:
    return to_plain(entry) if isinstance(entry, Stored) else _told(entry.value)


def _told(value: Any) -> Any:
    """A value that will be, with the types of inner arrays that have their own."""
    if isinstance(value, Value):
        return {"type": value.type, "value": _told(value.value)}
    return [_told(item) for item in value] if isinstance(value, list) else value
