"""unpack and pack in C: every code in an array of its own, of the type that NumPy has for it."""

from __future__ import annotations

from dataclasses import dataclass

from ...loops import language as loops
from ...loops import packing
from ...model import BlockType
from ...scalars import Scalar
from . import storage as S
from .language import C


@dataclass(frozen=True)
class Array:
    """One array of ``unpack``: its C type, and for a block the shape and range of its numbers.

    ``kind`` is u, i or f as in NumPy.
    """

    name: str
    kind: str
    ctype: str
    shape: tuple[int, ...]
    low: int
    high: int
    count: int

    @property
    def bounds(self) -> tuple[str, str]:
        """The range as C text that fits int64_t."""
        return _int64(self.low), _int64(self.high)


def arrays(kind: BlockType) -> tuple[Array, ...]:
    """What ``unpack`` gives, in the order of the NumPy back end."""
    fields = {field.name for field in kind.claimed}
    return tuple(_array(array, array.name in fields) for array in packing.arrays(kind))


def _array(array: loops.Array, is_field: bool) -> Array:
    ctype = f"uint{array.scalar.bits}_t" if is_field and array.scalar else S.array_type(array)
    letter = _letter(array.scalar) if array.scalar else "u"
    return Array(array.name, letter, ctype, array.shape, array.low, array.high, array.count)


def _int64(value: int) -> str:
    if value <= -(1 << 63):
        return "INT64_MIN"
    return str(value) if value < (1 << 63) - 1 else "INT64_MAX"


def _letter(scalar: Scalar) -> str:
    """NumPy's letter of a stored scalar; it has neither bfloat16 nor 8-bit floats."""
    if scalar.is_float:
        return "f" if scalar.ieee and scalar.name != "bf16" else "u"
    return "i" if scalar.kind == "int" else "u"


def unpack(kind: BlockType) -> str:
    """The body of the block loop: ``src`` at block ``b``, into ``arrays``."""
    return packing.unpack(kind, C(), _pointers(kind, ""))


def pack(kind: BlockType) -> str:
    """The body of the block loop: ``dst`` at block ``b``, from ``arrays``."""
    return packing.pack(kind, C(), _pointers(kind, "const "))


def _pointers(kind: BlockType, const: str) -> list[str]:
    """Where the numbers of block ``b`` stand in each array."""
    made = []
    for number, array in enumerate(arrays(kind)):
        pointer = f"{const}{array.ctype} *"
        name = f"const a_{array.name.replace('.', '_')}"
        place = "b" if array.count == 1 else f"{array.count} * b"
        made.append(f"{pointer}{name} = ({pointer})arrays[{number}] + {place};")
    return made
