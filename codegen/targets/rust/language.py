"""How Rust spells a kernel. Blocks and outputs are arrays whose extents the compiler knows."""

from __future__ import annotations

from collections.abc import Sequence

from ... import expr as E
from ...affine import Affine
from ...loops.language import Array, Language, Part
from ...loops.text import index
from ...model import BlockType
from ...scalars import Scalar
from ...tables import Table


class Rust(Language):
    """The loops of `codegen.loops` in Rust."""

    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        return f"for i_{axis} in 0..{extent}_usize"

    def declare(self, ctype: str, name: str, text: str) -> str:
        return f"let {name}: {ctype} = {_bare(text)};"

    def type(self, of: E.Type) -> str:
        match of:
            case E.Int(low=low, high=high):
                return _int_type(low, high)
            case E.Float(bits=64):
                return "f64"
        return "f32"

    def word_type(self, bits: int) -> str:
        return f"u{bits}"

    def store(self, place: str, value: str) -> str:
        return f"dst[{_place(place)}] = {_bare(value)};"

    # ---- storage

    def load(self, bits: int, base: str, offset: str) -> str:
        at = _place(offset)
        return f"{base}[{at}]" if bits == 8 else f"load_u{bits}({base}, {at})"

    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        word = self.load(scalar.bits, base, offset)
        signed = f"{word} as i{scalar.bits}" if scalar.kind == "int" else word
        return f"({signed} as {_int_type(scalar.low, scalar.high)})"

    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        if scalar.ieee:
            half = "half" if many else "one_half"
            names = {"f16": half, "bf16": "bfloat", "f32": "f32::from_bits"}
            return f"{names.get(scalar.name, 'f64::from_bits')}({word})"
        return f"SCALAR_{scalar.name.upper()}[usize::from({word})]"

    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        if shift.is_const and shift.const + width == bits:
            return f"({word} >> {shift.const})" if shift.const else word
        if shift != Affine():
            word = f"({word} >> {_parenthesised(shift)})"
        return f"({word} & {_mask(width)})"

    def trit(self, word: str, digit: str) -> str:
        return f"trit({word}, {_place(digit)})"

    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        return _joined(parts, self.type(of))

    def equal(self, axis: str, value: int) -> str:
        return f"i_{axis} == {value}"

    def both(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"(if {condition} {{ {_bare(yes)} }} else {{ {_bare(no)} }})"

    # ---- formulas

    def literal(self, value: float, of: E.Type) -> str:
        return f"{value!r}_{self.type(of)}"

    def to_float(self, value: str, of: E.Type) -> str:
        return f"({value} as f32)"

    def negate(self, value: str, of: E.Type) -> str:
        return f"(-{self._wide(value, of)})"

    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        return f"({self._wide(left, of)} {op} {self._wide(right, of)})"

    def lookup(self, table: Table, row: str, column: str | None) -> str:
        entry = f"TABLE_{table.name.upper()}[{row} as usize]"
        return f"i32::from({entry})" if column is None else f"i32::from({entry}[{_place(column)}])"

    def bit(self, value: str, shift: str) -> str:
        by = f"({_place(shift)})" if " " in shift else shift
        return f"((({value} >> {by}) & 1) as i32)"

    def sign(self, bit: str) -> str:
        return f"((1 - 2 * {bit}) as f32)"

    def select(self, condition: str, yes: str, no: str) -> str:
        return f"(if {condition} != 0 {{ {_bare(yes)} }} else {{ {_bare(no)} }})"

    def half(self, value: str) -> str:
        return f"one_half({value} as u16)"

    def _wide(self, value: str, of: E.Type) -> str:
        """An operand in the type of a result that is wider than most."""
        rust = self.type(of)
        return f"({value} as {rust})" if isinstance(of, E.Int) and rust != "i32" else value

    # ---- codes of a block, all arrays one behind the other in ``codes``

    def element(self, array: Array, place: str) -> str:
        if array.start:
            place = str(array.start) if place == "0" else f"{array.start} + {place}"
        return f"codes[{_place(place)}]"

    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        if scalar is not None and scalar.kind == "int":
            (part,) = parts
            return f"{element} = {part.text} as i{scalar.bits} as i64;"
        return f"{element} = {_bare(_joined(parts, 'i64'))};"

    def clear(self, kind: BlockType) -> str:
        return f"*dst = [0; {kind.bytes}];"

    def store_word(self, bits: int, offset: str, element: str) -> str:
        return f"store_u{bits}(dst, {_place(offset)}, {element} as u{bits});"

    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        value = f"({element} >> {low})" if low else element
        value = f"({value} & {_mask(width)}) as u{bits}"
        if shift != Affine():
            value = f"({value}) << {_parenthesised(shift)}"
        return f"or_u{bits}(dst, {_place(offset)}, {value});"

    def add_trit(self, offset: str, element: str, digit: str) -> str:
        return f"add_trit(dst, {_place(offset)}, {element}, {_place(digit)});"

    def seal_trits(self, offset: str) -> str:
        return f"seal_trits(dst, {_place(offset)});"


def _int_type(low: int, high: int) -> str:
    if low >= -(1 << 31) and high < 1 << 31:
        return "i32"
    return "u32" if low >= 0 and high < 1 << 32 else "i64"


def _place(text: str) -> str:
    """A sum of unsigned numbers: what is taken away comes last, so that nothing is below zero."""
    terms = text.replace("- ", "+ -").split(" + ")
    taken = [term[1:] for term in terms if term.startswith("-")]
    added = [term for term in terms if not term.startswith("-")]
    return " - ".join([" + ".join(added), *taken])


def _bare(text: str) -> str:
    """A whole expression without the parentheses around it, of which the compiler warns."""
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth and at < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") else text


def _parenthesised(affine: Affine) -> str:
    text = _place(index(affine))
    return f"({text})" if " " in text else text


def _mask(width: int) -> str:
    return f"0x{(1 << width) - 1:x}"


def _joined(parts: Sequence[Part], rust: str) -> str:
    """Slices as one number, each in the number's type before it is shifted."""
    texts = [
        f"({part.text} as {rust}) << {part.low}" if part.low else f"({part.text} as {rust})"
        for part in parts
    ]
    return texts[0] if len(texts) == 1 else f"({' | '.join(texts)})"
