"""What ``valid`` asks, in NumPy: where blocks break it, and where in a block that stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import expr as E
from ...model import BlockType, Region
from ...validity import Condition, Place, conditions, offsets
from . import expressions as X

_OF: Mapping[Place, str] = {
    "block": "a block",
    "row": "what is stored once a row",
    "tensor": "what a tensor ends with",
}


def broken(kind: BlockType) -> list[str]:
    """Functions and a table of a type's module; nothing where any bytes are good."""
    made, places = [], []
    for place, what in _OF.items():
        found = conditions(kind, place)
        if found:
            made.append(_function(kind, place, what, found))
            places += [f'    "{one.text}": {_places(offsets(one, kind))},' for one in found]
    if made:
        texts = "".join(f'"{one.text}", ' for one in conditions(kind, "block")).strip()
        made.append(f"CONDITIONS: tuple[str, ...] = ({texts})\n")
        made.append("\n".join(["PLACES: dict[str, Array] = {", *places, "}"]) + "\n")
    return made


def _function(kind: BlockType, place: Place, what: str, found: Sequence[Condition]) -> str:
    lines = [f"def broken_{place}(b: Blocks) -> dict[str, Array]:"]
    lines.append(f'    """Which values of {what} break each condition: bool (count, values)."""')
    wholes: list[str] = []
    for one in found:
        parts: list[str] = []
        for number, node in one.nodes:
            lines += _names(kind, number, node)
            parts.append(_broken(kind, number, node))
            if len(one.nodes) > 1:  # names mean another thing in the next region
                lines.append(f"    part_{number} = {parts.pop()}")
                parts.append(f"part_{number}")
        whole = parts[0] if len(parts) == 1 else f"np.concatenate([{', '.join(parts)}], axis=1)"
        if len(one.nodes) > 1:
            lines.append(f"    whole_{len(wholes)} = {whole}")
            whole = f"whole_{len(wholes)}"
        wholes.append(f'        "{one.text}": {whole},')
    return "\n".join([*lines, "    return {", *wholes, "    }"]) + "\n"


def _names(kind: BlockType, number: int, node: E.Node) -> list[str]:
    """The floats that a condition computes with."""
    region, lines = kind.regions[number], []
    for part in E.walk(node) if isinstance(node, E.Finite) else ():
        if isinstance(part, E.FieldRef):
            value = _stored(kind, number, part)
            if part.field.scalar.is_float:
                value = X.as_float(part.field.scalar, value)
            lines.append(f"    f_{part.field.name} = {value}")
        if isinstance(part, E.CodeRef):
            code, value = region.code(part.name), _stored(kind, number, part)
            if code.is_float and code.scalar:
                value = X.as_float(code.scalar, value)
            lines.append(f"    c_{part.name} = {value}")
    return list(dict.fromkeys(lines))


def _broken(kind: BlockType, number: int, node: E.Node) -> str:
    match node:
        case E.Finite(arg=arg):
            test = f"~np.isfinite({X.text(arg, kind.regions[number])})"
        case E.Compare(op=op, left=left, right=E.Literal(value=value)):
            test = f"~({_stored(kind, number, left)} {op} {value})"
        case _:
            raise TypeError(f"no condition: {type(node).__name__}")
    return f"({test}).reshape(b.count, -1)" if test[1] == "(" else f"{test}.reshape(b.count, -1)"


def _stored(kind: BlockType, number: int, node: E.Node) -> str:
    region = kind.regions[number]
    if isinstance(node, E.CodeRef):
        return f"{X.reader(kind, region.code(node.name), number)}(b)"
    assert isinstance(node, E.FieldRef)
    return f'b.native("{X.kind(node.field.scalar)}", {node.field.offset}, {_ones(region)})'


def _ones(region: Region) -> str:
    return f"[{', '.join(['(1, 0)'] * len(region.order))}]"


def _places(found: Sequence[int]) -> str:
    return f"np.array({_runs(found)})"


def _runs(found: Sequence[int]) -> str:
    """Numbers as a list, runs of successive ones as ranges."""
    parts: list[str] = []
    at = 0
    while at < len(found):
        end = at + 1
        while end < len(found) and found[end] == found[end - 1] + 1:
            end += 1
        few = end - at < 3
        first = f"{found[at]}, " if found[at] else ""
        parts += map(str, found[at:end]) if few else [f"*range({first}{found[end - 1] + 1})"]
        at = end
    return f"[{', '.join(parts)}]"
