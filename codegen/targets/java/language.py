"""Java as the loops spell it.

A block stands in ``src`` at ``at``, its elements in ``dst`` at ``to``, a row's prefix in ``row``,
a tensor's suffix in ``tail``; ``arrays`` has the codes, of which block number ``block`` is meant.
Integers of 32 bits are ints, words of 32 bits ints with the same bits; wider ones are longs.
Java rounds each operation on floats once, so that nothing has to be said about it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ... import expr as E
from ...affine import Affine
from ...loops.language import Array, Language, Part
from ...loops.text import index
from ...model import BlockType
from ...scalars import Scalar
from ...tables import Table
from .text import floating, number

_REAL = {
    "f16": "Numbers.half({})",
    "bf16": "Numbers.bfloat({})",
    "f32": "Float.intBitsToFloat({})",
    "f64": "Double.longBitsToDouble({})",
}
_NARROW = {8: "(byte) ", 16: "(short) "}
_NAME = re.compile(r"[a-z]\w*")
_DECLARED = re.compile(r" *(?:int|long) (\w+) = ")
_SLICE = re.compile(
    r"\(*(?P<byte>src\[[^][]*\])"
    r"(?: & 255\) >>> (?P<shift>[0-9]+)\))?"
    r"(?: & (?P<mask>0x[0-9a-f]+)\))?"
)


class Java(Language):
    """Java 17; ``arrays`` are the codes of the type."""

    indent = "  "

    def __init__(self, arrays: Sequence[Array] = ()) -> None:
        self._numbers = {array.name: number for number, array in enumerate(arrays)}
        self._declared: dict[str, str] = {}
        self.slices: set[tuple[int, int]] = set()
        """Shift and width of slices of bytes that are looked up as floats."""

    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        return f"for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)"

    def declare(self, ctype: str, name: str, text: str) -> str:
        self._declared[name] = text
        return f"{ctype} {name} = {text};"

    def type(self, of: E.Type) -> str:
        match of:
            case E.Int():
                return "long" if _is_long(of) else "int"
            case E.Float(bits=64):
                return "double"
        return "float"

    def word_type(self, bits: int) -> str:
        return "long" if bits == 64 else "int"

    def store(self, place: str, value: str) -> str:
        return f"dst[{_at('to', place)}] = {value};"

    def load(self, bits: int, base: str, offset: str) -> str:
        place = _at("at" if base == "src" else f"{base}At", offset)
        return f"({base}[{place}] & 255)" if bits == 8 else f"Numbers.u{bits}({base}, {place})"

    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        word = self.load(scalar.bits, base, offset)
        if scalar.kind == "int":
            return word.replace("Numbers.u16", "Numbers.i16").replace(" & 255", "")
        return f"({word} & 0xffffffffL)" if scalar.bits == 32 else word

    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        if scalar.ieee:
            return _REAL[scalar.name].format(word)
        return f"Codebooks.{scalar.name.upper()}[{word}]"

    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        if word.endswith(" & 255)") and shift == Affine():
            return f"{word.removesuffix('255)')}{_mask(width)})"
        if not shift.is_const:
            word = f"({word} >>> {_grouped(shift)})"
        elif shift.const:
            word = f"({word} >>> {shift.const})"
            if shift.const + width == bits:
                return word
        return f"({word} & {_mask(width)})"

    def trit(self, word: str, digit: str) -> str:
        return f"Numbers.trit({word}, {digit})"

    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        wide = isinstance(of, E.Int) and _is_long(of)
        texts = [f"({part.text} & 0xffffffffL)" if wide else part.text for part in parts]
        texts = [_left(text, part.low) for text, part in zip(texts, parts, strict=True)]
        return texts[0] if len(texts) == 1 else f"({' | '.join(texts)})"

    def equal(self, axis: str, value: int) -> str:
        return f"i_{axis} == {value}"

    def both(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def literal(self, value: float, of: E.Type) -> str:
        text = floating(value) if isinstance(value, float) else number(value)
        return f"({text})" if text.startswith("-") else text

    def to_float(self, value: str, of: E.Type) -> str:
        if "Codebooks" in value or not isinstance(of, E.Int):
            return f"(float) {value}"
        piece = _SLICE.fullmatch(self._declared.get(value, ""))
        if piece and of.low >= 0:  # the float of a byte's slice is one look-up
            shift = int(piece["shift"] or 0)
            width = int(piece["mask"], 16).bit_length() if piece["mask"] else 8 - shift
            self.slices.add((shift, width))
            return f"{slice_name(shift, width)}[{piece['byte']} & 255]"
        if of.low >= 0 and of.high < 256:  # cheaper looked up than converted
            return f"Numbers.SMALL[{value} & 255]"
        if of.low >= -128 and of.high < 128:
            return f"Numbers.SIGNED[{value} + 128 & 255]"
        return f"(float) {value}"

    def negate(self, value: str, of: E.Type) -> str:
        return f"(-{value})"

    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        wide = "(long) " if isinstance(of, E.Int) and _is_long(of) else ""
        return f"({wide}{left} {op} {right})"

    def lookup(self, table: Table, row: str, column: str | None) -> str:
        place = row if column is None else f"{table.shape[1]} * {row} + {column}"
        entry = f"Codebooks.{table.name.upper()}[{place}]"
        return entry if table.signed else f"({entry} & 255)"

    def bit(self, value: str, shift: str) -> str:
        shift = shift if shift.isalnum() else f"({shift})"
        return f"(int) ({value} >>> {shift} & 1)"

    def sign(self, bit: str) -> str:
        return f"Numbers.sign({bit})"

    def select(self, condition: str, yes: str, no: str) -> str:
        return f"Numbers.select({condition}, {yes}, {no})"

    def half(self, value: str) -> str:
        return f"Numbers.half((int) {value})"

    def element(self, array: Array, place: str) -> str:
        first = f"{array.count} * block" if array.count > 1 else "block"
        return f"arrays[{self._numbers[array.name]}][{_at(first, place)}]"

    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        if scalar and scalar.kind == "int":
            return f"{element} = {_NARROW.get(scalar.bits, '(int) ')}{parts[0].text};"
        texts = [_left(part.text, part.low) for part in parts]
        return f"{element} = (int) ({' | '.join(texts)});"

    def clear(self, kind: BlockType) -> str:
        return f"java.util.Arrays.fill(dst, at, at + {kind.bytes}, (byte) 0);"

    def store_word(self, bits: int, offset: str, element: str) -> str:
        return f"Numbers.put(dst, {_at('at', offset)}, {bits // 8}, {element});"

    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        taken = f"({element}{f' >>> {low}' if low else ''} & {_mask(width)})"
        moved = taken if shift == Affine() else f"(long) {taken} << {_grouped(shift)}"
        return f"Numbers.or(dst, {_at('at', offset)}, {bits // 8}, {moved});"

    def add_trit(self, offset: str, element: str, digit: str) -> str:
        return f"Numbers.addTrit(dst, {_at('at', offset)}, {element}, {digit});"

    def seal_trits(self, offset: str) -> str:
        return f"Numbers.sealTrits(dst, {_at('at', offset)});"


def slice_name(shift: int, width: int) -> str:
    """The table of a slice of bytes as floats."""
    return f"BITS_{shift}_{width}"


def used(body: str) -> str:
    """A body without the declarations of values that look-ups took the place of."""
    names = Counter(_NAME.findall(body))
    lines = [
        line
        for line in body.split("\n")
        if not ((found := _DECLARED.match(line)) and names[found[1]] == 1)
    ]
    return "\n".join(lines)


def _is_long(of: E.Int) -> bool:
    return of.low < -(1 << 31) or of.high >= 1 << 31


def _left(text: str, by: int) -> str:
    return f"{text} << {by}" if by else text


def _at(base: str, offset: str) -> str:
    return base if offset == "0" else f"{base} + {offset}"


def _grouped(affine: Affine) -> str:
    text = index(affine)
    return text if text.isidentifier() or text.isdigit() else f"({text})"


def _mask(width: int) -> str:
    return f"0x{(1 << width) - 1:x}" + ("L" if width > 31 else "")
