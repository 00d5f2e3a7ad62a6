"""C as the loops spell it, over the helpers of runtime/c/load.h."""

from __future__ import annotations

from collections.abc import Sequence

from ... import expr as E
from ...affine import Affine
from ...loops.language import Array, Language, Part
from ...loops.text import index
from ...model import BlockType
from ...scalars import Scalar
from ...tables import Table
from . import storage as S


class C(Language):
    """C99. A block lies at ``src``, its elements at ``dst``; numbers of arrays at ``a_<name>``."""

    def loop(self, axis: str, extent: int, *, short: bool) -> str:
        head = f"for (int i_{axis} = 0; i_{axis} < {extent}; i_{axis}++)"
        return f"GGUFSPEC_ROLLED {head}" if short else head

    def declare(self, ctype: str, name: str, text: str) -> str:
        return f"const {ctype} {name} = {text};"

    def type(self, of: E.Type) -> str:
        match of:
            case E.Int(low=low, high=high):
                return S.int_type(low, high)
            case E.Float(bits=64):
                return "double"
        return "float"

    def word_type(self, bits: int) -> str:
        return f"uint{bits}_t"

    def store(self, place: str, value: str) -> str:
        return f"dst[{place}] = {value};"

    def load(self, bits: int, base: str, offset: str) -> str:
        return f"{base}[{offset}]" if bits == 8 else f"load_u{bits}({_at(base, offset)})"

    def integer(self, scalar: Scalar, base: str, offset: str) -> str:
        if scalar.kind == "int":
            return f"load_i{scalar.bits}({_at(base, offset)})"
        return self.load(scalar.bits, base, offset)

    def real(self, scalar: Scalar, word: str, *, many: bool) -> str:
        return S.as_float(scalar, word, lane=many)

    def cut(self, word: str, bits: int, shift: Affine, width: int) -> str:
        if not shift.is_const:
            word = f"({word} >> ({index(shift)}))"
        elif shift.const:
            word = f"({word} >> {shift.const})"
            if shift.const + width == bits:
                return word
        return f"({word} & {S.mask(width)})"

    def trit(self, word: str, digit: str) -> str:
        return f"trit({word}, {digit})"

    def join(self, parts: Sequence[Part], of: E.Type) -> str:
        return " | ".join(
            f"{'(uint32_t)' if low + width > 31 else ''}{text} << {low}" if low else text
            for text, low, width in parts
        )

    def equal(self, axis: str, value: int) -> str:
        return f"i_{axis} == {value}"

    def both(self, conditions: Sequence[str]) -> str:
        return " && ".join(conditions)

    def choose(self, condition: str, yes: str, no: str) -> str:
        return f"{condition} ? {yes} : {no}"

    def literal(self, value: float, of: E.Type) -> str:
        return S.literal(value)

    def to_float(self, value: str, of: E.Type) -> str:
        return f"(float){value}"

    def negate(self, value: str, of: E.Type) -> str:
        return f"-{value}"

    def binary(self, op: str, left: str, right: str, of: E.Type) -> str:
        return f"({left} {op} {right})"

    def lookup(self, table: Table, row: str, column: str | None) -> str:
        if column is None:
            return f"table_{table.name}[{row}]"
        return f"table_{table.name}[{table.shape[1]} * {row} + {column}]"

    def bit(self, value: str, shift: str) -> str:
        return f"(int32_t)(({value} >> ({shift})) & 1)"

    def sign(self, bit: str) -> str:
        return f"(float)(1 - 2 * {bit})"

    def select(self, condition: str, yes: str, no: str) -> str:
        return f"({condition} ? {yes} : {no})"

    def half(self, value: str) -> str:
        return f"half_value((uint16_t){value})"

    def element(self, array: Array, place: str) -> str:
        return f"a_{array.name.replace('.', '_')}[{place}]"

    def keep(self, element: str, array: Array, parts: Sequence[Part], scalar: Scalar | None) -> str:
        if scalar:
            return f"{element} = {parts[0].text};"
        texts = [f"(uint32_t){text} << {low}" if low else text for text, low, _ in parts]
        return f"{element} = ({S.array_type(array)})({' | '.join(texts)});"

    def clear(self, kind: BlockType) -> str:
        return f"memset(dst, 0, {kind.bytes});"

    def store_word(self, bits: int, offset: str, element: str) -> str:
        return f"store_u{bits}({_at('dst', offset)}, (uint{bits}_t){element});"

    def or_bits(
        self, bits: int, offset: str, element: str, low: int, width: int, shift: Affine
    ) -> str:
        shifted = f"{element} >> {low}" if low else element
        taken = f"({shifted} & {S.mask(width)})"
        if shift != Affine():
            taken = f"(uint{max(bits, 32)}_t){taken} << ({index(shift)})"  # int lacks bit 31
        return f"or_u{bits}({_at('dst', offset)}, (uint{bits}_t)({taken}));"

    def add_trit(self, offset: str, element: str, digit: str) -> str:
        return f"add_trit({_at('dst', offset)}, {element}, {digit});"

    def seal_trits(self, offset: str) -> str:
        return f"seal_trits({_at('dst', offset)});"


def _at(base: str, offset: str) -> str:
    return base if offset == "0" else f"{base} + {offset}"
