"""What ``meta`` shows: values, changes, and what becomes of the file."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..edits.filler import KEY as FILLER
from ..edits.plain import Entry, to_plain, type_of
from ..files.arrays import Stored, value_of
from ..files.values import Value
from . import screen, text
from .info import KEYS, shown_value

if TYPE_CHECKING:
    from ..edits import Change, EditPlan, Transferred
    from ..files.metadata import Metadata

_SHOWN = 6  # elements of an array
_LINES = 60  # of the difference of two texts
_COLOURS = {"-": "red", "+": "green"}


def record(key: str, stored: Stored) -> dict[str, Any]:
    """A key for machines, as in the documents of `export`."""
    return {"key": key, "type": type_of(stored), "value": to_plain(stored)}


def show_values(metadata: Metadata, keys: Sequence[str], *, whole: bool) -> None:
    """Print keys, a single one with all of its value."""
    if not whole:
        rows = [
            (text.printable(key), metadata.type_of(key), shown_value(metadata, key, _SHOWN))
            for key in keys
        ]
        screen.table(KEYS, rows)
        return
    value = metadata[keys[0]]
    if isinstance(value, (str, bytes)):
        screen.say(_text(value))
    elif metadata.stored(keys[0]).is_array:
        for item in value:
            screen.say(_text(item) if isinstance(item, (str, bytes)) else _item(item))
    else:
        screen.say(_item(value))


def show_difference(lines: Iterable[str], outcome: str) -> None:
    """Print what `difference` gave, and what was done or would be."""
    for line in lines:
        screen.say(line, _COLOURS.get(line[:1], ""))
    screen.say(outcome)


def difference(plan: EditPlan) -> list[str]:
    """The changes, in lines that start with - and +."""
    lines = [line for change in plan.changes for line in _difference(change)]
    return [*lines, "  keys change places"] if plan.reordered else lines


def plan_record(plan: EditPlan) -> dict[str, Any]:
    """A plan for machines."""
    return {
        "file": str(plan.draft.path),
        "output": str(plan.output),
        "way": plan.way,
        "why_not_in_place": plan.why_not or None,
        "changes": [_change(change) for change in plan.changes],
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
        blanks = [len(_plain_text(entry) or "") for entry in (before, after)]
        yield f"  {key}: {blanks[0]:,} blanks before, {blanks[1]:,} after"
        return
    texts = [_plain_text(entry) for entry in (before, after)]
    if texts[0] is not None and texts[1] is not None and "\n" in texts[0] + texts[1]:
        yield f"  {key} = STRING:"
        yield from _of_texts(texts[0], texts[1])
        return
    if before is not None:
        yield f"- {key} = {_shown(before)}"
    if after is not None:
        yield f"+ {key} = {_shown(after)}"
    if before is not None and after is not None and type_of(before) == type_of(after):
        yield from _of_arrays(before, after)


def _of_texts(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=2)
    for number, line in enumerate(list(lines)[2:]):
        if number == _LINES:
            yield "    ..."
            return
        mark = " " if line.startswith("@") else line[:1]
        yield f"{mark}   {text.printable(line.removeprefix(mark))}"


def _of_arrays(before: Entry, after: Entry) -> Iterator[str]:
    """Where two arrays of one type differ first."""
    if not type_of(before).startswith("ARRAY"):
        return
    first, second = _items(before), _items(after)
    count = min(len(first), len(second))
    differing = [number for number in range(count) if not _equal(first[number], second[number])]
    if differing:
        at = differing[0]
        yield (
            f"  other elements: {len(differing):,}, the first is number {at:,}: "
            f"{_item(first[at])} becomes {_item(second[at])}"
        )


def _equal(first: Any, second: Any) -> bool:
    return repr(first) == repr(second)


def _items(entry: Entry) -> list[Any]:
    value = value_of(entry) if isinstance(entry, Stored) else entry.value
    return list(value.tolist() if hasattr(value, "tolist") else value)


def _plain_text(entry: Entry | None) -> str | None:
    if entry is None or type_of(entry) != "STRING":
        return None
    value = value_of(entry) if isinstance(entry, Stored) else entry.value
    return value if isinstance(value, str) else None


def _shown(entry: Entry) -> str:
    """Type and value as `set` takes them, shortened."""
    kind = type_of(entry)
    value = value_of(entry) if isinstance(entry, Stored) else entry.value
    if not kind.startswith("ARRAY"):
        return f"{kind}:{_item(value)}"
    items = list(value[:_SHOWN])
    more = ", ..." if len(value) > len(items) else ""
    return f"{kind}:[{', '.join(_item(item) for item in items)}{more}] ({len(value):,})"


def _item(value: Any) -> str:
    if isinstance(value, Value):
        return f"{value.type}:{_item(value.value)}"
    if isinstance(value, (str, bytes)):
        return text.printable(value)
    if type(value).__name__ in ("bool", "bool_"):
        return str(bool(value)).lower()
    if isinstance(value, float) or type(value).__name__.startswith("float"):
        return f"{float(value):.9g}"
    if hasattr(value, "__len__"):
        return f"[{len(value):,}]"
    return str(value)


def _text(value: str | bytes) -> str:
    """All of a text, line by line."""
    lines = value.split("\n") if isinstance(value, str) else value.split(b"\n")
    return "\n".join(text.printable(line, len(line)) for line in lines)


def _change(change: Change) -> dict[str, Any]:
    result: dict[str, Any] = {"key": change.key, "kind": change.kind}
    for name, entry in (("before", change.before), ("after", change.after)):
        if entry is not None:
            result[name] = {"type": type_of(entry), "value": _machine(entry)}
    return result


def _machine(entry: Entry) -> Any:
    return to_plain(entry) if isinstance(entry, Stored) else _told(entry.value)


def _told(value: Any) -> Any:
    """A value that will be, with the types of inner arrays that have their own."""
    if isinstance(value, Value):
        return {"type": value.type, "value": _told(value.value)}
    return [_told(item) for item in value] if isinstance(value, list) else value
