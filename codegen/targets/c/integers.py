"""Integer formulas in eight lanes."""

from __future__ import annotations

from dataclasses import replace

from ... import expr as E
from ...affine import Affine
from ...loops.text import index, row_major
from ...model import Code
from . import gather
from . import storage as S
from .context import Lanes, Plane
from .gather import BLOCK, SIGN, byte_vector, full_vector, vector
from .lanes import LANES, LaneBits, slices, trit_lanes, whole_word
from .scalars import scalar
from .storage import plus
from .tables import CTable


def integer(lanes: Lanes, node: E.Node, want: str = "exact") -> str:
    """An integer node as i32x8.

    want: ``exact``; ``low``, a code with anything above its bits; ``top``, a single bit at
    bit 31 with anything below.
    """
    if isinstance(node, E.LetRef):
        return integer(lanes, lanes.context.let(node.name), want)
    if isinstance(node, E.CodeRef) and node.name == lanes.chosen:
        return _wanted(_every_value(lanes, lanes.code(node.name)), want)
    if not lanes.varies(node):
        return _shared(lanes, node, want)
    for plane in lanes.context.planes:
        if plane.formula == node:
            return _wanted(_finished(lanes, plane), want)
    match node:
        case E.CodeRef(name=name):
            return _code(lanes, lanes.code(name), node, want)
        case E.Bit(arg=E.CodeRef(name=name), shift=shift) if name != lanes.chosen:
            text = _bit_of_code(lanes, lanes.code(name), shift, want)
            if text:
                return text
        case E.Binary(op="+" | "-" as op, left=E.CodeRef(name=name), right=E.Literal(value=value)):
            text = _with_bit_row(lanes, lanes.code(name), int(value) if op == "+" else -int(value))
            if text:
                return _wanted(text, want)
        case E.Lookup():
            return _wanted(_lookup(lanes, node), want)
    return _wanted(_computed(lanes, node), want)


def _wanted(text: str, want: str) -> str:
    return f"left({text}, 31)" if want == "top" else text


def _computed(lanes: Lanes, node: E.Node) -> str:
    match node:
        case E.Negate(arg=arg):
            return f"-{integer(lanes, arg)}"
        case E.Binary(op=op, left=left, right=right):
            return f"({_operand(lanes, left)} {op} {_operand(lanes, right)})"
        case E.Bit(arg=arg, shift=shift):
            counts = full_vector(lanes.view.fixed(shift))
            return f"(right_by({integer(lanes, arg)}, {counts}) & 1)"
        case E.Select(cond=cond, yes=yes, no=no):
            parts = [f"(f32x8){integer(lanes, part)}" for part in (no, yes)]
            return f"(i32x8)blend({parts[0]}, {parts[1]}, {integer(lanes, cond, 'top')})"
    raise S.NoForm(f"{type(node).__name__} in lanes")


def _operand(lanes: Lanes, node: E.Node) -> str:
    return str(node.value) if isinstance(node, E.Literal) else integer(lanes, node)


# ---- what lanes share, what was computed before


def _every_value(lanes: Lanes, code: Code) -> str:
    values = tuple(lane % (1 << code.width) for lane in range(LANES))
    return lanes.context.constant("i32x8", full_vector(values))


def _shared(lanes: Lanes, node: E.Node, want: str) -> str:
    if isinstance(node, E.Literal):
        value = SIGN if want == "top" and int(node.value) & 1 else str(node.value)
        return lanes.context.constant("i32x8", f"splat_int({value})")
    text = f"splat_int({scalar(lanes, node)})"
    return lanes.bind("i32x8", "v", _wanted(text, want), node.axes)


def _finished(lanes: Lanes, plane: Plane) -> str:
    place = lanes.run.base(row_major(lanes.context.region.order)) + Affine(lanes.start)
    kind = plane.formula.type
    signed = isinstance(kind, E.Int) and kind.low < 0
    return f"widen_{'i' if signed else 'u'}8({plus(plane.array, place)})"


# ---- codes


def _code(lanes: Lanes, code: Code, node: E.CodeRef, want: str) -> str:
    if trit_lanes(code, lanes.view):
        return _trits(lanes, code)
    word = whole_word(code)
    if word and word.word.scalar.kind == "int":
        return _wanted(_signed(lanes, code, word.width), want)
    parts = slices(code, lanes.view)
    if len(parts) == 1 and want != "exact":
        form = gather.low if want == "low" else gather.top
        text = form(parts[0], lanes.context.memory)
        if text:
            return text
    return _wanted(_joined(lanes, code, node, parts), want)


def _joined(lanes: Lanes, code: Code, node: E.CodeRef, parts: list[LaneBits]) -> str:
    text = _with_bit_row(lanes, code, 0)
    if text:
        return text
    body = lanes.context.memory.body
    mark = body.mark()
    texts = [gather.exact(part, lanes.context.memory) for part in parts]
    found = [text for text in texts if text is not None]
    if len(found) < len(parts):
        body.reset(mark)
        return _scattered(lanes, node)
    text = found[0] if len(found) == 1 else f"({' | '.join(found)})"
    return lanes.bind("i32x8", f"c_{code.name}", text, frozenset(code.axes))


def _with_bit_row(lanes: Lanes, code: Code, offset: int) -> str | None:
    """A code plus a number, where the code's last bits are the eight of one byte.

    A table has a row for each byte: what its bit and the number add in each lane.
    """
    one_by_one = lanes.context.strict or code.name == lanes.chosen
    if one_by_one or code.is_float or trit_lanes(code, lanes.view):
        return None
    *rest, last = slices(code, lanes.view)
    start = last.walk(1)
    if (
        not rest
        or last.widths[0] != 1
        or start is None
        or start % 8
        or any(part.byte_row() is None for part in rest)
    ):
        return None
    place = last.places[0]
    sign = "plus" if offset > 0 else "minus"
    name = f"bits_at_{place}" + (f"_{sign}_{abs(offset)}" if offset else "")
    values = tuple(
        str((byte >> lane & 1) * (1 << place) + offset)
        for byte in range(256)
        for lane in range(LANES)
    )
    doc = "The bits of a byte, one a lane."
    lanes.context.derived.append(CTable(name, "int32_t", values, doc))
    byte = index(last.base + Affine(start // 8))
    terms = [gather.exact(part, lanes.context.memory) or "0" for part in rest]
    return f"({' + '.join(terms)} + load_words({name} + {LANES}u * src[{byte}]))"


def _scattered(lanes: Lanes, node: E.Node) -> str:
    """Lanes filled one by one."""
    if lanes.context.strict:
        raise S.NoForm("lanes that no vector load reaches")
    return f"(i32x8){{{', '.join(scalar(lanes, node, lane) for lane in range(LANES))}}}"


def _signed(lanes: Lanes, code: Code, width: int) -> str:
    (bits,) = slices(code, lanes.view)
    start = bits.walk(width)
    how = {8: "widen_i8", 16: "widen_i16", 32: "load_words"}.get(width)
    if start is None or how is None:
        raise S.NoForm(f"signed code {code.name} does not walk its words")
    return f"{how}({plus('src', bits.base + Affine(start // 8))})"


def _trits(lanes: Lanes, code: Code) -> str:
    """Base-3 digits lane by lane: bytes to their lanes, times 3^digit, times 3."""
    found = trit_lanes(code, lanes.view)
    if found is None:
        raise S.NoForm(f"code {code.name} is no trit")
    base, places, digits = found
    field = code.cases[0].slices[0].word.field.offset
    bits = LaneBits(field, base, tuple(8 * p for p in places), (8,) * LANES, (0,) * LANES)
    text = gather.exact(bits, lanes.context.memory)
    if text is None:
        raise S.NoForm(f"the bytes of {code.name} lie too far apart")
    powers = vector(tuple(3**digit for digit in digits))
    return f"(({text} * {powers} & 0xff) * 3 >> 8)"


def _bit_of_code(lanes: Lanes, code: Code, shift: Affine, want: str) -> str | None:
    """Bit k of a code that is one slice is bit k of its place in storage."""
    parts = [] if trit_lanes(code, lanes.view) else slices(code, lanes.view)
    if len(parts) != 1 or code.low < 0:
        return None
    shifts = lanes.view.fixed(shift)
    bits = replace(
        parts[0],
        bits=tuple(bit + by for bit, by in zip(parts[0].bits, shifts, strict=True)),
        widths=(1,) * LANES,
        places=(0,) * LANES,
    )
    return (gather.top if want == "top" else gather.exact)(bits, lanes.context.memory)


# ---- tables


def _lookup(lanes: Lanes, node: E.Lookup) -> str:
    """A row of eight is one load; a table of 16 bytes is one shuffle."""
    name, width = f"table_{node.table.name}", node.table.shape[-1]
    if node.column is not None and not lanes.varies(node.row):
        columns = lanes.view.fixed(node.column)
        if columns == (*range(columns[0], columns[0] + LANES),):
            letter = "i" if node.table.signed else "u"
            at = f" + {columns[0]}" if columns[0] else ""
            return f"widen_{letter}8({name} + {width}u * {scalar(lanes, node.row)}{at})"
    if node.column is not None or len(node.table.data) != 16:
        raise S.NoForm(f"table {node.table.name} is neither small nor read by rows")
    table = lanes.context.constant("u8x32", f"twice({name})")
    spread = _nibbles(lanes, node.row, table)
    if spread is None:
        spread = f"left((i32x8)shuffle({table}, (u8x32){integer(lanes, node.row)}), 24)"
    return f"({spread} >> 24)" if node.table.signed else f"right({spread}, 24)"


def _nibbles(lanes: Lanes, row: E.Node, table: str) -> str | None:
    """Codes in a row of bytes: look 16 up at once, then put 8 into the lanes' top bytes."""
    if not isinstance(row, E.CodeRef) or row.name == lanes.chosen:
        return None
    code, memory = lanes.code(row.name), lanes.context.memory
    parts = [] if trit_lanes(code, lanes.view) else slices(code, lanes.view)
    start = parts[0].byte_row() if len(parts) == 1 else None
    window = None if start is None else memory.window(parts[0], 16, 16)
    if start is None or window is None:
        return None
    text = memory.load("twice", "u8x32", parts[0].base, window)
    if start % 8:
        text = f"right_bytes({text}, {start % 8})"
    text = f"shuffle({table}, {text} & splat_byte({S.mask(code.width)}))"
    found = memory.body.bind("u8x32", "found", text, {BLOCK, *parts[0].base.axes})
    first = start // 8 - window
    order = byte_vector([b for lane in range(LANES) for b in (128, 128, 128, first + lane)])
    return f"(i32x8)shuffle({found}, {lanes.context.constant('u8x32', order)})"
