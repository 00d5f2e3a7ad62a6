"""How Go spells kernels. Every product is ``float32(a*b)``: so the compiler may not fuse it."""

from __future__ import annotations

from collections.abc import Sequence

from ... import expr as E
from ...affine import Affine
from ...loops.language import Array, Language, Part
from ...loops.text import index
from ...model import BlockType
from ...scalars import Scalar
from ...tables import Table
from .layout import statement
from .names import camel

_IEEE = {
    "f16": "half({})",
    "bf16": "math.Float32frombits(uint32({}) << 16)",
    "f32": "math.Float32frombits({})",
    "f64": "math.Float64frombits({})",
}


def int_type(low: int, high: int) -> str:
    """The type in which formulas hold an integer of this range."""
    if low >= -(1 << 31) and high < 1 << 31:
        return "int32"
    return "uint32" if low >= 0 and high < 1 << 32 else "int64"


class Go(Language):
    """``src`` and ``dst`` point to arrays of a block's bytes and elements."""

    indent = "\t"

    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        return f"for i_{axis} := 0; i_{axis} < {extent}; i_{axis}++"

    def declare(self, ctype: str, name: str, text: str) -> str:
        return statement(f"{name} := {text}")

    def type(self, of: E.Type) -> str:
        if isinstance(of, E.Int):
            return int_type(of.low, of.high)
        return "float64" if isinstance(of, E.Float) and of.bits == 64 else "float32"

    def word_type(self, bits: int) -> str:
        return f"uint{bits}"

    def store(self, place: str, value: str) -> str:
        return statement(f"dst[{place}] = {value}")

    def load(self, bits: int, base: str, offset: str) -> str:
        if bits == 8:
            return f"{base}[{offset}]"
        return f"binary.LittleEndian.Uint{bits}({base}[{offset}:])"

    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        word = self.load(scalar.bits, base, offset)
        if scalar.kind == "int":
            word = f"int{scalar.bits}({word})"
        return f"{int_type(scalar.low, scalar.high)}({word})"

    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        if scalar.ieee:
            return _IEEE[scalar.name].format(word)
        return f"scalar{camel(scalar.name)}[{word}]"

    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        if not shift.is_const:
            word = f"{word} >> ({index(shift)})"
        elif shift.const:
            word = f"{word} >> {shift.const}"
            if shift.const + width == bits:
                return f"({word})"
        return f"({word} & {hex((1 << width) - 1)})"

    def trit(self, word: str, digit: str) -> str:
        return f"trit({word}, {digit})"

    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        kind = self.type(of)
        texts = [_placed(kind, part) for part in parts]
        return texts[0] if len(texts) == 1 else f"({' | '.join(texts)})"

    def equal(self, axis: str, value: int) -> str:
        return f"i_{axis} == {value}"

    def both(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"choose({condition}, {yes}, {no})"

    def literal(self, value: float, of: E.Type) -> str:
        if not isinstance(value, float):
            return str(value)
        if value == 0 and str(value).startswith("-"):
            return "math.Float32frombits(0x80000000)"
        return f"float32({value!r})"

    def to_float(self, value: str, of: E.Type) -> str:
        return f"float32({value})"

    def negate(self, value: str, of: E.Type) -> str:
        return f"(-{value})"

    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        text = f"{left} {op} {right}"
        return f"float32({text})" if op == "*" and isinstance(of, E.Float) else f"({text})"

    def lookup(self, table: Table, row: str, column: str | None) -> str:
        place = f"[{row}]" if column is None else f"[{row}][{column}]"
        return f"int32(table{camel(table.name)}{place})"

    def bit(self, value: str, shift: str) -> str:
        return f"int32({value} >> ({shift}) & 1)"

    def sign(self, bit: str) -> str:
        return f"signs[{bit} & 1]"

    def select(self, condition: str, yes: str, no: str) -> str:
        return f"choose({condition} != 0, {yes}, {no})"

    def half(self, value: str) -> str:
        return f"half(uint16({value}))"

    # ---- codes of a block, all arrays one behind the other in ``codes``

    def element(self, array: Array, place: str) -> str:
        if not array.start:
            return f"codes[{place}]"
        return f"codes[{array.start}]" if place == "0" else f"codes[{array.start} + {place}]"

    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        if scalar and scalar.kind == "int":
            parts = [part._replace(text=f"int{scalar.bits}({part.text})") for part in parts]
        texts = " | ".join(_placed("int32", part) for part in parts)
        return statement(f"{element} = {texts}")

    def clear(self, kind: BlockType) -> str:
        return f"*dst = [{kind.bytes}]byte{{}}"

    def store_word(self, bits: int, offset: str, element: str) -> str:
        if bits == 8:
            return statement(f"dst[{offset}] = uint8({element})")
        put = f"binary.LittleEndian.PutUint{bits}"
        return statement(f"{put}(dst[{offset}:], uint{bits}({element}))")

    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        value = f"{element} >> {low}" if low else element
        value = f"uint{bits}({value}) & {hex((1 << width) - 1)}"
        if shift != Affine():
            value += f" << ({index(shift)})" if not shift.is_const else f" << {shift.const}"
        if bits == 8:
            return statement(f"dst[{offset}] |= {value}")
        return statement(f"or{bits}(dst[{offset}:], {value})")

    def add_trit(self, offset: str, element: str, digit: str) -> str:
        return statement(f"dst[{offset}] += packedTrit({element}, {digit})")

    def seal_trits(self, offset: str) -> str:
        return statement(f"dst[{offset}] = sealedTrits(dst[{offset}])")


def _placed(kind: str, part: Part) -> str:
    """A slice in the type of its code, at its place there."""
    text = _stripped(part.text)
    return f"{kind}({text}) << {part.low}" if part.low else f"{kind}({text})"


def _stripped(text: str) -> str:
    """Without parentheses around the whole of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if at == len(text) - 1 else text
    return text
