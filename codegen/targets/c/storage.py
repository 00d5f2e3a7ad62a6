"""How stored words are read and written in C: helpers of runtime/c/load.h, and their C types."""

from __future__ import annotations

from ...affine import Affine
from ...loops.language import Array
from ...loops.text import index
from ...model import Code, Field
from ...scalars import Scalar


class NoForm(Exception):  # noqa: N818 - not an error: the caller takes a more general form
    """This form cannot express the value; the message says why."""


def int_type(low: int, high: int) -> str:
    """The C type in which formulas hold an integer of this range."""
    if low >= -(1 << 31) and high < 1 << 31:
        return "int32_t"
    return "uint32_t" if low >= 0 and high < 1 << 32 else "int64_t"


def array_type(code: Code | Array) -> str:
    """The C type of an unpacked code: the smallest that holds its range, as in NumPy."""
    if code.is_float and code.scalar:
        return f"uint{code.scalar.bits}_t"
    sign = "" if code.low < 0 else "u"
    bits = (max(code.high, -code.low - 1).bit_length() if code.high else 1) + (code.low < 0)
    return f"{sign}int{next(size for size in (8, 16, 32, 64) if bits <= size)}_t"


def load(scalar: Scalar, pointer: str, offset: Affine) -> str:
    """The stored integer of a word, or the bits of a stored float."""
    letter = "i" if scalar.kind == "int" else "u"
    if scalar.bits == 8 and letter == "u":
        return f"{pointer}[{index(offset)}]"
    return f"load_{letter}{scalar.bits}({plus(pointer, offset)})"


def as_float(scalar: Scalar, bits: str, *, lane: bool = False) -> str:
    """The float of a stored float's bits (float32, except for f64); ``lane``: one of many."""
    if scalar.name == "f16" and lane:
        return f"half_lane({bits})"
    if scalar.ieee:
        names = {"f16": "half", "bf16": "bfloat", "f32": "single", "f64": "double"}
        if scalar.name not in names:
            raise NoForm(f"no C form for the float {scalar.name}")
        return f"{names[scalar.name]}_value({bits})"
    if scalar.bits != 8:
        raise NoForm(f"no table for the {scalar.bits} bits of {scalar.name}")
    return f"scalar_{scalar.name}[{bits}]"


def field_value(field: Field, pointer: str, *, lane: bool = False) -> str:
    """A single stored value, as formulas see it."""
    stored = load(field.scalar, pointer, Affine(field.offset))
    return as_float(field.scalar, stored, lane=lane) if field.scalar.is_float else stored


def mask(width: int) -> str:
    """``width`` ones."""
    return f"0x{(1 << width) - 1:x}" + ("u" if width == 32 else "")


def plus(base: str, affine: Affine) -> str:
    """A pointer plus an affine offset."""
    return base if affine == Affine() else f"{base} + {index(affine)}"


def literal(value: float) -> str:
    """A number as C; floats are exact float32."""
    return f"{value!r}f" if isinstance(value, float) else str(value)
