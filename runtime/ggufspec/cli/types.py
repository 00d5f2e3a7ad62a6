"""``ggufspec types``: all types, or one with its fields, formula and bit picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import completion, machine, screen
from .bitbar import bar
from .failures import usage
from .options import Json
from .screen import Column

if TYPE_CHECKING:
    from ..generated.describe import Description
    from ..registry import TensorType

TYPES = (
    Column("id", right=True),
    Column("name", style="cyan"),
    Column("status", style="green"),
    Column("elements", right=True),
    Column("bytes", right=True),
    Column("bits/weight", right=True),
    Column("what it is"),
)
PICTURE = (
    Column("byte", right=True),
    Column("field", style="cyan"),
    Column("type", style="green"),
    Column("bits, the highest first"),
)


def command(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            autocompletion=completion.types,
            help="A type, say Q4_K; all of them without.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the tensor types, or show how one stores its weights."""
    from ..generated.describe import DESCRIPTIONS
    from ..registry import types

    if name is not None and name not in types:
        if _show_sizes(name, as_json=as_json):
            return
        raise usage(f"there is no type {name!r}", hint="`ggufspec types` lists them all")
    shown = [types[name]] if name is not None else list(types.values())
    if as_json:
        records = [_record(kind, DESCRIPTIONS[kind.name]) for kind in shown]
        machine.emit(records if name is None else records[0])
    elif name is None:
        screen.table(TYPES, [_row(kind, DESCRIPTIONS[kind.name]) for kind in shown])
    else:
        _show(shown[0], DESCRIPTIONS[shown[0].name])


def _row(kind: TensorType, description: Description) -> tuple[str, ...]:
    sizes = (str(kind.elements), str(kind.bytes), f"{kind.bits_per_weight:.5g}")
    return (
        "" if kind.id is None else str(kind.id),
        kind.name,
        kind.status,
        *(sizes if kind.elements else ("", "", "")),
        description.doc,
    )


def _show(kind: TensorType, description: Description) -> None:
    number = "no id of ggml's" if kind.id is None else f"id {kind.id}"
    screen.say(f"{kind.name} ({number}, {kind.status}): {description.doc}", "bold")
    screen.say(f"since {description.since}; described in {description.file}")
    for dialect, number_there, verified in _numbers(kind):
        doubt = "" if verified else " (one source only)"
        screen.say(f"{dialect}: id {number_there}{doubt}")
    for what, said in description.removed:
        screen.say(f"{what}: {said}")
    if not kind.elements:
        return
    screen.say(
        f"{_count(kind.elements, 'weight')} in {_count(kind.bytes, 'byte')}: "
        f"{kind.bits_per_weight:.5g} bits per weight"
    )
    screen.table(
        PICTURE,
        [(str(line[0]), line[1], line[2], bar(line[2], line[4])) for line in description.picture],
        "a block",
    )
    if any("from bit" in cut for line in description.picture for cut in line[4]):
        screen.say("name<<4: bits of that code from bit 4 on")
    _show_formula(description)


def _show_formula(description: Description) -> None:
    screen.say()
    screen.say("a weight", "bold")
    for number, axes in enumerate(description.axes):
        if axes:
            order = ", ".join(f"{name} < {length}" for name, length in axes)
            note = " (the last one counts fastest)" if number == 0 else ""
            screen.say(f"  {'then ' if number else ''}for each {order}{note}:")
    for line in description.codes:
        screen.say(f"    {line}")
    for name, formula in description.decode:
        screen.say(f"    {name} = {formula}", "cyan")
    if description.valid:
        screen.say(f"  valid: {', '.join(description.valid)}")


def _show_sizes(name: str, *, as_json: bool) -> bool:
    """Say what is known of a fork's type that nothing describes; whether there is one."""
    from ..dialects import dialects

    found = [
        (dialect.name, meaning)
        for dialect in dialects.values()
        for meaning in dialect.own.values()
        if not meaning.described and meaning.name.upper() == name.upper()
    ]
    if as_json and found:
        machine.emit([{"dialect": dialect, **meaning._asdict()} for dialect, meaning in found])
        return True
    for dialect, meaning in found:
        screen.say(f"{meaning.name} (id {meaning.id} of {dialect})", "bold")
        if meaning.elements:
            parts = ((meaning.row_prefix, "in front of each row"),
                     (meaning.tensor_suffix, "behind each tensor"))  # fmt: skip
            more = "".join(f", {_count(size, 'byte')} {where}" for size, where in parts if size)
            weights, stored = _count(meaning.elements, "weight"), _count(meaning.bytes, "byte")
            screen.say(f"{weights} in {stored}{more}")
        unknown = "how they decode" if meaning.elements else "what it stores"
        screen.say(f"nothing says {unknown}; source: {meaning.source}")
        if meaning.note:
            screen.say(meaning.note)
    return bool(found)


def _numbers(kind: TensorType) -> list[tuple[str, int, bool]]:
    """The dialects that give a type a number of their own, and whether two sources say so."""
    from ..dialects import dialects

    return [
        (name, meaning.id, meaning.verified)
        for name, dialect in dialects.items()
        for meaning in dialect.own.values()
        if meaning.described and meaning.name == kind.name
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _record(kind: TensorType, description: Description) -> dict[str, Any]:
    return {
        "id": kind.id,
        "name": kind.name,
        "status": kind.status,
        "elements": kind.elements,
        "bytes": kind.bytes,
        "bits_per_weight": kind.bits_per_weight,
        "doc": description.doc,
        "since": description.since,
        "file": description.file,
        "axes": [
            [{"name": name, "length": length} for name, length in axes] for axes in description.axes
        ],
        "codes": description.codes,
        "decode": [{"name": name, "formula": formula} for name, formula in description.decode],
        "valid": description.valid,
        "picture": [
            {"offset": offset, "field": field, "type": scalar, "count": count, "bits": cuts}
            for offset, field, scalar, count, cuts in description.picture
        ],
        "removed": dict(description.removed),
        "dialects": [
            {"name": dialect, "id": number, "verified": verified}
            for dialect, number, verified in _numbers(kind)
        ],
    }
