"""Formulas in eight lanes: a node to C text that computes it for one vector of elements.

What to do is read off the layout: bits by where they lie (gather, planes), small tables by
their size, signs as flips of the sign bit, values that all lanes share as broadcasts. A
formula that nothing here fits raises NoForm, and the portable loops serve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ... import expr as E
from ...affine import Affine
from ...model import BlockType, Code, Region
from ...tables import Table
from . import gather, planes, tables
from . import storage as S
from .gather import BLOCK, Memory, byte_vector, vector
from .lanes import LANES, View, slices, trit_lanes, whole_word
from .portable import literal
from .tables import CTable
from .text import index, plus, row_major

SIGN = "INT32_MIN"


@dataclass(frozen=True)
class Stage:
    """A value of all lanes, computed for all of a block beforehand: an array over its axes."""

    array: str
    order: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Context:
    """What formulas of one region need besides the lanes.

    ``derived`` collects the tables that the text asks for. With ``strict`` lanes that only
    one scalar load each could fill raise NoForm.
    """

    kind: BlockType
    region: Region
    memory: Memory
    derived: list[CTable]
    stages: Mapping[str, Stage]
    strict: bool = False

    def let(self, name: str) -> E.Node:
        """The formula called ``name``."""
        return next(let.expr for let in self.region.decode if let.name == name)

    def resolved(self, node: E.Node) -> E.Node:
        """A named formula as the formula itself."""
        return self.resolved(self.let(node.name)) if isinstance(node, E.LetRef) else node


@dataclass(frozen=True)
class Lanes:
    """Eight lanes, ``start`` lanes into a run.

    ``chosen`` is a code that stands for its values 0, 1, 2, 3 in the lanes instead.
    """

    context: Context
    run: View
    start: int = 0
    chosen: str | None = None

    @property
    def view(self) -> View:
        return self.run.part(self.start, LANES)

    def bind(self, ctype: str, hint: str, text: str, axes: frozenset[str]) -> str:
        """Name a value as far out as the loops that it depends on allow."""
        loops = {BLOCK, *self.view.loops(axes)}
        return self.context.memory.body.bind(ctype, hint, text, loops)

    # ---- elements

    def element(self) -> str:
        """The region's x."""
        x = self.context.region.x
        code = self._few_values(x)
        if code is None:
            return self.real(x)
        table = replace(self, chosen=code.name).real(x)
        table = self.bind("f32x8", "values", table, x.axes - self._only(x, code))
        return f"lookup4({table}, {self.integer(_code_ref(code), 'low')})"

    def _few_values(self, x: E.Node) -> Code | None:
        """The only thing in ``x`` that differs between lanes, if it has at most 4 values."""
        names = self._varying(x)
        if names is None or len(names) != 1:
            return None
        code = self.context.region.code(names.pop())
        return code if code.width <= 2 and code.low == 0 and not code.is_float else None

    def _varying(self, node: E.Node) -> set[str] | None:
        """Codes that differ between lanes; None when something else does."""
        node = self.context.resolved(node)
        if not self.view.varies(node.axes):
            return set()
        if isinstance(node, E.CodeRef):
            return {node.name}
        if isinstance(node, E.Lookup) and node.column and self.view.varies(node.column.axes):
            return None
        if isinstance(node, E.Bit) and self.view.varies(node.shift.axes):
            return None
        found: set[str] = set()
        for child in E.children(node):
            inner = self._varying(child)
            if inner is None:
                return None
            found |= inner
        return found

    def _only(self, node: E.Node, code: Code) -> frozenset[str]:
        """The axes that a formula has from ``code`` alone."""
        return frozenset(code.axes) - self._without(node, code)

    def _without(self, node: E.Node, code: Code) -> frozenset[str]:
        node = self.context.resolved(node)
        if isinstance(node, E.CodeRef):
            return frozenset() if node.name == code.name else node.axes
        own = node.column.axes if isinstance(node, E.Lookup) and node.column else frozenset()
        parts = [self._without(child, code) for child in E.children(node)]
        return own.union(*parts)

    # ---- floats

    def real(self, node: E.Node) -> str:
        """A float node as f32x8."""
        stage = self._staged(node)
        if stage:
            return self.bind("f32x8", "v", f"splat({stage})", node.axes)
        match node:
            case E.LetRef(name=name):
                text = self.real(self.context.let(name))
                shared = not self.view.varies(node.axes) and not self.chosen
                return self.bind("f32x8", f"v_{name}", text, node.axes) if shared else text
            case E.Literal(value=value):
                return self._constant("f32x8", f"splat({literal(float(value))})")
            case E.FieldRef(field=field):
                return self._field(node)
            case E.CodeRef(name=name):
                return self._real_code(self.context.region.code(name), node)
            case E.Half(arg=arg):
                text = f"splat(half_value((uint16_t){self.scalar(arg)}))"
                return self.bind("f32x8", "v", text, node.axes)
            case E.Convert(arg=arg):
                return self._converted(arg)
            case E.Negate(arg=arg):
                return f"-{self.real(arg)}"
            case E.Binary(op="*", left=left, right=E.Sign(arg=flag)):
                return f"flip({self.real(left)}, {self._signs(flag)})"
            case E.Binary(op="*", left=E.Sign(arg=flag), right=right):
                return f"flip({self.real(right)}, {self._signs(flag)})"
            case E.Binary(op=op, left=left, right=right):
                return f"({self.real(left)} {op} {self.real(right)})"
            case E.Sign(arg=flag):
                one = self._constant("f32x8", "splat(1.0f)")
                return f"flip({one}, {self._signs(flag)})"
            case E.Select(cond=cond, yes=yes, no=no):
                return f"blend({self.real(no)}, {self.real(yes)}, {self.integer(cond, 'top')})"
        raise S.NoForm(f"{type(node).__name__} in lanes")

    def _constant(self, ctype: str, text: str) -> str:
        return self.context.memory.body.bind(ctype, "k", text, ())

    def _field(self, node: E.FieldRef) -> str:
        field = node.field
        names = {f.name: "row" for f in self.context.kind.prefix}
        names |= {f.name: "tail" for f in self.context.kind.suffix}
        pointer = names.get(field.name, "src")
        if field.scalar.name == "f16":
            text = f"splat_half({plus(pointer, Affine(field.offset))})"
        else:
            text = f"splat({S.field_value(field, pointer)})"
        axes = {BLOCK} if pointer == "src" else set()
        return self.context.memory.body.bind("f32x8", f"v_{field.name}", text, axes)

    def _real_code(self, code: Code, node: E.CodeRef) -> str:
        word = whole_word(code)
        if word is None:
            raise S.NoForm(f"code {code.name} is no float")
        if not self.view.varies(node.axes):
            base = self.view.lane(0).base(word.word.offset)
            where = base + Affine(self.view.offsets(word.word.offset)[0])
            stored = S.load(word.word.scalar, "src", where)
            text = f"splat({S.as_float(word.word.scalar, stored)})"
            return self.bind("f32x8", f"v_{code.name}", text, node.axes)
        (bits,) = slices(code, self.view)
        start = bits.walk(16)
        if start is None or word.word.scalar.name not in ("f16", "bf16"):
            raise S.NoForm(f"no vector of {word.word.scalar.name}")
        where = plus("src", bits.base + Affine(start // 8))
        if word.word.scalar.name == "f16":
            return f"widen_halves({where})"
        return f"(f32x8)left(widen_u16({where}), 16)"

    def _converted(self, arg: E.Node) -> str:
        if isinstance(arg, E.Lookup) and self.view.varies(arg.axes):
            halves = self._rows_of_four(arg)
            if halves:
                return halves
        text = f"to_float({self.integer(arg)})"
        if self.view.varies(arg.axes) or self.chosen:
            return text
        return self.bind("f32x8", "v", text, arg.axes)

    def _rows_of_four(self, node: E.Lookup) -> str | None:
        """A grid row for each four lanes: rows of floats, so that a lane group is one load."""
        halves = [self.view.part(at, 4) for at in (0, 4)]
        if node.column is None or any(half.varies(node.row.axes) for half in halves):
            return None
        if not self.view.varies(node.row.axes):
            return None
        columns = self.view.fixed(node.column)
        if columns[:4] != columns[4:] or columns[:4] != (*range(columns[0], columns[0] + 4),):
            return None
        width, name = node.table.shape[1], f"floats_{node.table.name}"
        values = tuple(f"{value}.0f" for value in node.table.data)
        doc = f"{node.table.name} as floats: a row is one load."
        self.context.derived.append(CTable(name, "float", values, doc))
        rows = [self.scalar(node.row, at) for at in (0, 4)]
        first, second = (
            f"{name} + {width} * {row}" + (f" + {columns[0]}" if columns[0] else "") for row in rows
        )
        return f"join({first}, {second})"

    # ---- signs

    def _signs(self, flag: E.Node) -> str:
        """Bit 31 where the flag is 1, no other bit."""
        match flag:
            case E.Bit(arg=E.Lookup(table=table, row=row, column=None), shift=shift):
                known = not self.view.varies(row.axes) and table.high < 256
                if known and self.view.fixed(shift) == (*range(LANES),):
                    return self._sign_row(table, row)
        return f"top_bit({self.integer(flag, 'top')})"

    def _sign_row(self, table: Table, row: E.Node) -> str:
        name = f"signs_{table.name}"
        values = tuple(
            SIGN if value >> lane & 1 else "0" for value in table.data for lane in range(LANES)
        )
        doc = f"{table.name}, each bit as the sign bit of a lane."
        self.context.derived.append(CTable(name, "int32_t", values, doc))
        return f"load_words({name} + {LANES} * {self.scalar(row)})"

    # ---- integers

    def integer(self, node: E.Node, want: str = "exact") -> str:
        """An integer node as i32x8.

        want: ``exact``; ``low``, a code with anything above its bits; ``top``, a single bit at
        bit 31 with anything below.
        """
        if isinstance(node, E.LetRef):
            return self.integer(self.context.let(node.name), want)
        if isinstance(node, E.CodeRef) and node.name == self.chosen:
            return self._every_value(node)
        if not self.view.varies(node.axes):
            return self._shared(node, want)
        if planes.fits(node, self.context.region, self.run):
            memory = self.context.memory
            buffer = planes.staged(node, self.context.region, self.run, memory)
            return _wanted(planes.widened(buffer, self.start, node), want)
        match node:
            case E.CodeRef(name=name):
                return self._bits(self.context.region.code(name), want, node)
            case E.Bit(arg=E.CodeRef(name=name), shift=shift):
                text = self._bit_of_code(self.context.region.code(name), shift, want)
                if text:
                    return text
            case E.Lookup():
                return _wanted(self._lookup(node), want)
        return _wanted(self._computed(node), want)

    def _computed(self, node: E.Node) -> str:
        match node:
            case E.Negate(arg=arg):
                return f"-{self.integer(arg)}"
            case E.Binary(op=op, left=left, right=right):
                parts = [
                    str(part.value) if isinstance(part, E.Literal) else self.integer(part)
                    for part in (left, right)
                ]
                return f"({parts[0]} {op} {parts[1]})"
            case E.Bit(arg=arg, shift=shift):
                return f"(right_by({self.integer(arg)}, {_full(self.view.fixed(shift))}) & 1)"
            case E.Select(cond=cond, yes=yes, no=no):
                parts = [f"(f32x8){self.integer(part)}" for part in (no, yes)]
                return f"(i32x8)blend({parts[0]}, {parts[1]}, {self.integer(cond, 'top')})"
        raise S.NoForm(f"{type(node).__name__} in lanes")

    def _every_value(self, node: E.CodeRef) -> str:
        width = self.context.region.code(node.name).width
        values = tuple(lane % (1 << width) for lane in range(LANES))
        return self._constant("i32x8", _full(values))

    def _shared(self, node: E.Node, want: str) -> str:
        if isinstance(node, E.Literal):
            return self._constant("i32x8", f"splat_int({_wanted_number(int(node.value), want)})")
        text = f"splat_int({self.scalar(node)})"
        return self.bind("i32x8", "v", _wanted(text, want), node.axes)

    def _bits(self, code: Code, want: str, node: E.CodeRef) -> str:
        if trit_lanes(code, self.view):
            return self._trits(code)
        parts = slices(code, self.view)
        word = whole_word(code)
        if word and word.word.scalar.kind == "int":
            return self._signed(code, word.width)
        if len(parts) == 1 and want != "exact":
            form = gather.low if want == "low" else gather.top
            text = form(parts[0], self.context.memory)
            if text:
                return text
        texts = [gather.exact(part, self.context.memory) for part in parts]
        if any(text is None for text in texts):
            return _wanted(self._scattered(node), want)
        joined = " | ".join(text for text in texts if text)
        text = f"({joined})" if len(texts) > 1 else joined
        return _wanted(self.bind("i32x8", f"c_{code.name}", text, frozenset(code.axes)), want)

    def _signed(self, code: Code, width: int) -> str:
        (bits,) = slices(code, self.view)
        start = bits.walk(width)
        if start is None:
            raise S.NoForm(f"signed code {code.name} does not walk its words")
        how = {8: "widen_i8", 16: "widen_i16", 32: "load_words"}[width]
        return f"{how}({plus('src', bits.base + Affine(start // 8))})"

    def _trits(self, code: Code) -> str:
        """Base-3 digits lane by lane: bytes to their lanes, times 3^digit, times 3."""
        found = trit_lanes(code, self.view)
        if found is None:
            raise S.NoForm(f"code {code.name} is no trit")
        base, places, digits = found
        (part,) = code.cases[0].slices
        bits = gather.LaneBits(
            part.word.field.offset, base, tuple(8 * p for p in places), (8,) * LANES, (0,) * LANES
        )
        text = gather.exact(bits, self.context.memory)
        if text is None:
            raise S.NoForm(f"the bytes of {code.name} lie too far apart")
        powers = tuple(3**digit for digit in digits)
        return f"(((({text}) * {vector(powers)}) & 0xff) * 3 >> 8)"

    def _bit_of_code(self, code: Code, shift: Affine, want: str) -> str | None:
        """Bit k of a code that is one slice is bit k of its place in storage."""
        parts = [] if trit_lanes(code, self.view) else slices(code, self.view)
        if len(parts) != 1 or code.low < 0:
            return None
        shifts = self.view.fixed(shift)
        bits = replace(
            parts[0],
            bits=tuple(bit + by for bit, by in zip(parts[0].bits, shifts, strict=True)),
            widths=(1,) * LANES,
            places=(0,) * LANES,
        )
        return (gather.top if want == "top" else gather.exact)(bits, self.context.memory)

    def _lookup(self, node: E.Lookup) -> str:
        signed = "i" if node.table.signed else "u"
        name = f"table_{node.table.name}"
        if node.column is not None and not self.view.varies(node.row.axes):
            columns = self.view.fixed(node.column)
            if columns == (*range(columns[0], columns[0] + LANES),):
                at = f" + {columns[0]}" if columns[0] else ""
                return f"widen_{signed}8({name} + {node.table.shape[1]} * {self.scalar(node.row)}{at})"
        if node.column is None and len(node.table.data) == 16:
            return self._sixteen(node, name)
        raise S.NoForm(f"table {node.table.name} is neither small nor read by rows")

    def _sixteen(self, node: E.Lookup, name: str) -> str:
        """A table of 16 bytes is one shuffle; for nibbles in a row, of 16 codes at once."""
        table = self._constant("u8x32", f"twice({name})")
        spread = self._nibbles(node.row, table)
        shift = ">> 24" if node.table.signed else ""
        if spread:
            return f"({spread} >> 24)" if node.table.signed else f"right({spread}, 24)"
        found = f"(i32x8)shuffle({table}, (u8x32){self.integer(node.row)})"
        return f"(left({found}, 24) >> 24)" if shift else f"({found} & 0xff)"

    def _nibbles(self, row: E.Node, table: str) -> str | None:
        """Codes in a row of bytes: look 16 up at once, then put 8 into the lanes' top bytes."""
        if not isinstance(row, E.CodeRef) or row.name == self.chosen:
            return None
        code = self.context.region.code(row.name)
        parts = [] if trit_lanes(code, self.view) else slices(code, self.view)
        start = parts[0].walk(8) if len(parts) == 1 else None
        memory = self.context.memory
        window = None if start is None else memory.window(parts[0], 16, 16)
        if start is None or window is None:
            return None
        axes = {BLOCK, *parts[0].base.axes}
        text = memory.load("twice", "u8x32", parts[0].base, window)
        if start % 8:
            text = f"right_bytes({text}, {start % 8})"
        text = f"shuffle({table}, {text} & splat_byte({S.mask(code.width)}))"
        found = memory.body.bind("u8x32", "found", text, axes)
        first = start // 8 - window
        order = byte_vector([b for lane in range(LANES) for b in (128, 128, 128, first + lane)])
        return f"(i32x8)shuffle({found}, {self._constant('u8x32', order)})"

    def _scattered(self, node: E.Node) -> str:
        """Lanes filled one by one."""
        if self.context.strict:
            raise S.NoForm("lanes that no vector load reaches")
        return f"(i32x8){{{', '.join(self.scalar(node, lane) for lane in range(LANES))}}}"

    # ---- scalars

    def scalar(self, node: E.Node, lane: int = 0) -> str:
        """An integer node in one lane, as a C integer."""
        stage = self._staged(node, lane)
        if stage:
            return stage
        view = self.view.lane(lane)
        match node:
            case E.LetRef(name=name):
                return self.scalar(self.context.let(name), lane)
            case E.Literal(value=value):
                return str(value)
            case E.FieldRef(field=field):
                return S.field_value(field, "src")
            case E.CodeRef(name=name):
                return self._scalar_code(self.context.region.code(name), view)
            case E.Negate(arg=arg):
                return f"-{self.scalar(arg, lane)}"
            case E.Binary(op=op, left=left, right=right):
                return f"({self.scalar(left, lane)} {op} {self.scalar(right, lane)})"
            case E.Bit(arg=arg, shift=shift):
                where = view.base(shift) + Affine(view.offsets(shift)[0])
                return f"({self.scalar(arg, lane)} >> ({index(where)}) & 1)"
            case E.Lookup(table=table, row=row, column=column):
                place = self.scalar(row, lane)
                if column is not None:
                    at = view.base(column) + Affine(view.offsets(column)[0])
                    place = f"{table.shape[1]} * {place} + {index(at)}"
                return f"table_{table.name}[{place}]"
        raise S.NoForm(f"{type(node).__name__} as a scalar")

    def _scalar_code(self, code: Code, view: View) -> str:
        case = code.cases[0]
        for other in code.cases[1:]:
            if all(view.fixed(Affine.of(0, {a: 1})) == (v,) for a, v in other.fixed):
                case = other
        parts, low = [], 0
        for piece in case.slices:
            where = view.base(piece.word.offset) + Affine(view.offsets(piece.word.offset)[0])
            scalar = piece.word.scalar
            if piece.is_word:
                text = S.load(scalar, "src", where)
            else:
                text = self._cut_word(piece, where, view)
            parts.append(f"({text} << {low})" if low else text)
            low += piece.width
        return parts[0] if len(parts) == 1 else f"({' | '.join(parts)})"

    def _cut_word(self, piece: object, where: Affine, view: View) -> str:
        if not isinstance(piece, S.Bits):
            raise S.NoForm("a trit as a scalar")
        scalar = piece.word.scalar
        load = f"src[{index(where)}]" if scalar.bits == 8 else f"load_u{scalar.bits}({plus('src', where)})"
        axes = {BLOCK, *where.axes}
        word = self.context.memory.body.bind(f"uint{scalar.bits}_t", "w", load, axes)
        shift = view.base(piece.shift) + Affine(view.offsets(piece.shift)[0])
        if shift == Affine():
            return f"({word} & {S.mask(piece.width)})"
        if shift.is_const and shift.const + piece.width == scalar.bits:
            return f"({word} >> {shift.const})"
        return f"({word} >> ({index(shift)}) & {S.mask(piece.width)})"

    # ---- values computed beforehand

    def _staged(self, node: E.Node, lane: int = 0) -> str | None:
        name = getattr(node, "name", None)
        stage = self.context.stages.get(name) if isinstance(name, str) else None
        if stage is None:
            return None
        view = self.view.lane(lane)
        place = row_major(stage.order)
        at = view.base(place) + Affine(view.offsets(place)[0])
        return f"{stage.array}[{index(at)}]"


def _code_ref(code: Code) -> E.CodeRef:
    return E.CodeRef(E.Int(code.low, code.high), frozenset(code.axes), code.name)


def _wanted(text: str, want: str) -> str:
    return f"left({text}, 31)" if want == "top" else text


def _wanted_number(value: int, want: str) -> str:
    if want == "top":
        return SIGN if value & 1 else "0"
    return str(value)


def _full(values: tuple[int, ...]) -> str:
    return f"(i32x8){{{', '.join(map(str, values))}}}"


__all__ = ["Context", "Lanes", "Stage", "tables"]
