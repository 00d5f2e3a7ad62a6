"""Integer formulas in one lane, as plain C: table rows, and what all lanes share."""

from __future__ import annotations

from ... import expr as E
from ...affine import Affine
from ...loops.text import index
from ...model import Bits, Case, Code, Trit
from . import storage as S
from .context import Lanes
from .gather import BLOCK
from .storage import plus


def scalar(lanes: Lanes, node: E.Node, lane: int = 0) -> str:
    """An integer node in one lane, as a C integer."""
    staged = lanes.staged(node, lane)
    if staged:
        return staged
    match node:
        case E.LetRef(name=name):
            return scalar(lanes, lanes.context.let(name), lane)
        case E.Literal(value=value):
            return str(value)
        case E.FieldRef(field=field):
            return S.field_value(field, "src")
        case E.CodeRef(name=name):
            return _code(lanes, lanes.code(name), lane)
        case E.Negate(arg=arg):
            return f"-{scalar(lanes, arg, lane)}"
        case E.Binary(op=op, left=left, right=right):
            return f"({scalar(lanes, left, lane)} {op} {scalar(lanes, right, lane)})"
        case E.Bit(arg=arg, shift=shift):
            return f"(int32_t)({scalar(lanes, arg, lane)} >> ({index(lanes.at(shift, lane))}) & 1)"
        case E.Lookup(table=table, row=row, column=column):
            place = scalar(lanes, row, lane)
            if column is not None:
                place = f"{table.shape[1]}u * {place} + {index(lanes.at(column, lane))}"
            return f"table_{table.name}[{place}]"
    raise S.NoForm(f"{type(node).__name__} as a scalar")


def _code(lanes: Lanes, code: Code, lane: int) -> str:
    case = next(case for case in code.cases if _holds(lanes, case, lane))
    parts, low = [], 0
    for piece in case.slices:
        if isinstance(piece, Trit):
            raise S.NoForm("a trit as a scalar")
        text = _slice(lanes, piece, lane)
        parts.append(f"({text} << {low})" if low else text)
        low += piece.width
    return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"


def _holds(lanes: Lanes, case: Case, lane: int) -> bool:
    view = lanes.view.lane(lane)
    return all(view.fixed(Affine.of(0, {axis: 1})) == (value,) for axis, value in case.fixed)


def _slice(lanes: Lanes, piece: Bits, lane: int) -> str:
    scalar_type, where = piece.word.scalar, lanes.at(piece.word.offset, lane)
    if piece.is_word:
        return S.load(scalar_type, "src", where)
    bits = scalar_type.bits
    load = f"src[{index(where)}]" if bits == 8 else f"load_u{bits}({plus('src', where)})"
    word = lanes.context.memory.body.bind(f"uint{bits}_t", "w", load, {BLOCK, *where.axes})
    shift = lanes.at(piece.shift, lane)
    if shift == Affine():
        return f"({word} & {S.mask(piece.width)})"
    if shift.is_const and shift.const + piece.width == bits:
        return f"({word} >> {shift.const})"
    return f"({word} >> ({index(shift)}) & {S.mask(piece.width)})"
