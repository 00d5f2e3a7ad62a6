"""TypeScript as the loops spell it, over the helpers of templates/src/numbers.ts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ... import expr as E
from ...affine import Affine
from ...loops.language import Array, Language, Part
from ...loops.text import index
from ...model import BlockType
from ...scalars import Scalar
from ...tables import Table

_ROUNDED = re.compile(r"fround\((.*)\)", re.DOTALL)
_EXACT = 1 << 24  # integers below are float32 as they are


class TypeScript(Language):
    """Numbers alone: formulas need no BigInt, and every float operation is rounded by fround.

    Bytes of blocks are `src`, from `at` on, wider words `view` over the same bytes; elements go
    to `dst` from `to` on. Codes of block `b` stand in `a_<name>`.
    """

    indent = "  "

    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        return f"for (let i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)"

    def declare(self, ctype: str, name: str, text: str) -> str:
        return f"const {name} = {text};"

    def type(self, of: E.Type) -> str:
        return "number"

    def word_type(self, bits: int) -> str:
        return "number"

    def store(self, place: str, value: str) -> str:
        return f"dst[{_plus('to', place)}] = {_unrounded(value)};"

    def load(self, bits: int, base: str, offset: str) -> str:
        if base == "src":
            where = _plus("at", offset)
            return f"src[{where}]" if bits == 8 else f"view.get{_unsigned(bits)}({where}, true)"
        if bits == 8:
            return f"{base}.getUint8({offset})"
        return f"{base}.get{_unsigned(bits)}({offset}, true)"

    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        if scalar.kind != "int":
            return self.load(scalar.bits, base, offset)
        view, where = ("view", _plus("at", offset)) if base == "src" else (base, offset)
        if scalar.bits == 64:
            return f"wideInt({view}, {where})"
        order = "" if scalar.bits == 8 else ", true"
        return f"{view}.getInt{scalar.bits}({where}{order})"

    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        if scalar.name in ("f32", "f64"):
            stored = re.fullmatch(r"(\w+)\.get(?:Uint32|BigUint64)\((.*), true\)", word)
            if stored:
                return f"{stored[1]}.getFloat{scalar.bits}({stored[2]}, true)"
        if scalar.name == "f32":
            return f"floatOfBits({word})"
        if scalar.name == "bf16":
            return f"floatOfBits({word} << 16)"
        if scalar.name == "f16":
            return f"HALF[{word}]"
        if scalar.is_float and scalar.bits == 8:
            return f"SCALAR_{scalar.name.upper()}[{word}]"
        raise TypeError(f"no TypeScript form for the float {scalar.name}")

    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        if not shift.is_const:
            return f"({word} >>> ({index(shift)}) & {_mask(width)})"
        if not shift.const:
            return f"({word} & {_mask(width)})"
        if shift.const + width == bits:
            return f"({word} >>> {shift.const})"
        return f"({word} >>> {shift.const} & {_mask(width)})"

    def trit(self, word: str, digit: str) -> str:
        power = str(3 ** int(digit)) if digit.isdigit() else f"POW3[{digit}]"
        product = word if power == "1" else f"({word} * {power} & 255)"
        return f"({product} * 3 >> 8)"

    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        texts = [f"{text} << {low}" if low else text for text, low, _ in parts]
        if len(texts) == 1:
            return texts[0]
        joined = f"({' | '.join(texts)})"
        return f"({joined} >>> 0)" if parts[-1].low + parts[-1].width > 31 else joined

    def equal(self, axis: str, value: int) -> str:
        return f"i_{axis} === {value}"

    def both(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def literal(self, value: float, of: E.Type) -> str:
        text = repr(value)
        return f"({text})" if text.startswith("-") else text

    def to_float(self, value: str, of: E.Type) -> str:
        if isinstance(of, E.Int) and of.low >= -_EXACT and of.high <= _EXACT:
            return value
        return f"fround({value})"

    def negate(self, value: str, of: E.Type) -> str:
        return f"(0 - {value})" if isinstance(of, E.Int) else f"(-{value})"  # no integer is -0

    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        if isinstance(of, E.Int):
            return f"Math.imul({left}, {right})" if op == "*" else f"({left} {op} {right})"
        return f"fround({left} {op} {right})"

    def lookup(self, table: Table, row: str, column: str | None) -> str:
        name = f"TABLE_{table.name.upper()}"
        return (
            f"{name}[{row}]" if column is None else f"{name}[{table.shape[1]} * {row} + {column}]"
        )

    def bit(self, value: str, shift: str) -> str:
        return f"({value} >>> ({shift}) & 1)"

    def sign(self, bit: str) -> str:
        return f"(1 - 2 * {bit})"

    def select(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def half(self, value: str) -> str:
        return f"HALF[{value}]"

    def element(self, array: Array, place: str) -> str:
        block = "b" if array.count == 1 else f"{array.count} * b"
        return f"a_{array.name.replace('.', '_')}[{_plus(block, place)}]"

    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        if scalar and scalar.kind == "int" and scalar.bits < 32:
            shift = 32 - scalar.bits
            return f"{element} = {parts[0].text} << {shift} >> {shift};"
        texts = [f"{text} << {low}" if low else text for text, low, _ in parts]
        return f"{element} = {' | '.join(texts)};"

    def clear(self, kind: BlockType) -> str:
        return f"src.fill(0, at, at + {kind.bytes});"

    def store_word(self, bits: int, offset: str, element: str) -> str:
        where = _plus("at", offset)
        if bits == 8:
            return f"src[{where}] = {element};"
        return f"view.set{_unsigned(bits)}({where}, {element}, true);"

    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        taken = (
            f"({element} >>> {low} & {_mask(width)})" if low else f"({element} & {_mask(width)})"
        )
        if shift != Affine():
            taken = f"{taken} << ({index(shift)})"
        where = _plus("at", offset)
        if bits == 8:
            return f"src[{where}] |= {taken};"
        name = _unsigned(bits)
        return f"view.set{name}({where}, view.get{name}({where}, true) | {taken}, true);"

    def add_trit(self, offset: str, element: str, digit: str) -> str:
        return f"src[{_plus('at', offset)}] += Math.min({element}, 2) * POW3[4 - ({digit})];"

    def seal_trits(self, offset: str) -> str:
        where = _plus("at", offset)
        return f"src[{where}] = (src[{where}] * 256 + 242) / 243;"


def _plus(base: str, offset: str) -> str:
    return base if offset == "0" else f"{base} + {offset}"


def _unsigned(bits: int) -> str:
    return "BigUint64" if bits == 64 else f"Uint{bits}"


def _mask(width: int) -> str:
    return hex((1 << width) - 1) if width > 3 else str((1 << width) - 1)


def _unrounded(value: str) -> str:
    """The value without a rounding that a store into a Float32Array does itself."""
    found = _ROUNDED.fullmatch(value)
    return found[1] if found and _is_whole(found[1]) else value


def _is_whole(text: str) -> bool:
    """Whether no parenthesis of the text closes one in front of it."""
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return True
