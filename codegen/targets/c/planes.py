"""Byte planes: codes put together from several fields, 32 lanes at a time.

Where every slice of a code lies in a row of bytes, lane by lane, its masks, shifts and sums
are done on whole bytes; the finished codes go to a small aligned array, from which eight at a
time are widened. Base-3 digits are taken there too.
"""

from __future__ import annotations

from ... import expr as E
from ...affine import Affine
from ...model import Region
from .gather import BLOCK, Memory
from .lanes import LaneBits, View, slices, trit_lanes
from .storage import NoForm, mask

WIDTH = 32


def fits(node: E.Node, region: Region, view: View) -> bool:
    """Whether a plane pays: an integer of byte size with a code that a plain load does not give."""
    if len(view.deltas) != WIDTH or not isinstance(node.type, E.Int):
        return False
    if node.type.low < -128 or node.type.high > (127 if node.type.low < 0 else 255):
        return False
    codes = _codes(node)
    if codes is None:
        return False
    forms = [_form(region, name, view) for name in codes]
    return all(forms) and any(form > 1 for form in forms)


def _codes(node: E.Node) -> list[str] | None:
    """The codes in a sum of codes and numbers; None for any other formula."""
    match node:
        case E.CodeRef(name=name):
            return [name]
        case E.Literal():
            return []
        case E.Negate(arg=arg):
            return _codes(arg)
        case E.Binary(op="+" | "-", left=left, right=right):
            a, b = _codes(left), _codes(right)
            return None if a is None or b is None else a + b
    return None


def _form(region: Region, name: str, view: View) -> int:
    """0: not a row of bytes; else how much work a lane is: slices, or 2 for a trit."""
    code = region.code(name)
    if code.is_float or code.low < 0:
        return 0
    digits = trit_lanes(code, view)
    if digits:
        _, places, numbers = digits
        rows = all(place == places[0] + lane for lane, place in enumerate(places))
        return 2 if rows and len(set(numbers)) == 1 else 0
    parts = slices(code, view)
    rows = all(part.byte_row() is not None and part.widths[0] < 8 for part in parts)
    return len(parts) if rows else 0


def plane(node: E.Node, region: Region, view: View, memory: Memory) -> str:
    """The finished bytes of 32 lanes as u8x32; negative ones in two's complement."""
    match node:
        case E.Literal(value=int(value)):
            return f"splat_byte({value & 0xFF})"
        case E.Negate(arg=arg):
            return f"(splat_byte(0) - {plane(arg, region, view, memory)})"
        case E.Binary(op=op, left=left, right=right):
            parts = [plane(part, region, view, memory) for part in (left, right)]
            return f"({parts[0]} {op} {parts[1]})"
        case E.CodeRef(name=name):
            digits = trit_lanes(region.code(name), view)
            if digits:
                base, places, numbers = digits
                return _digit(base, places[0], numbers[0], memory)
            parts = [_field(part, memory) for part in slices(region.code(name), view)]
            return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"
    raise NoForm(f"{type(node).__name__} in a byte plane")


def _digit(base: Affine, start: int, number: int, memory: Memory) -> str:
    """Times 3 for each digit before: a byte wraps as the format means it."""
    text = memory.load("load_bytes", "u8x32", base, start)
    for _ in range(number):
        text = memory.body.bind("u8x32", "w", f"{text} + {text} + {text}", {BLOCK, *base.axes})
    return f"leading_trits({text})"


def _field(part: LaneBits, memory: Memory) -> str:
    start, width, place = part.bits[0], part.widths[0], part.places[0]
    text = memory.load("load_bytes", "u8x32", part.base, start // 8)
    shift = place - start % 8
    if shift:
        text = f"{'left' if shift > 0 else 'right'}_bytes({text}, {abs(shift)})"
    return f"({text} & splat_byte({mask(width)} << {place}))"
