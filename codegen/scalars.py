"""Storage scalars: integers, IEEE floats and the small floats of block scales."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from .names import KEYWORDS
from .schema import load_checked
from .source import Source

_IEEE = {"f16": (16, 5, 10, 15), "bf16": (16, 8, 7, 127), "f32": (32, 8, 23, 127),
         "f64": (64, 11, 52, 1023)}  # fmt: skip
"""Bits, exponent, mantissa and bias of the formats that targets know how to convert."""


@dataclass(frozen=True)
class Scalar:
    """A number format of ``bits`` bits.

    For ``float``: value = (-1)^sign * (1 + m / 2^mantissa) * 2^(e - bias), and for e = 0
    with ``subnormals`` m / 2^mantissa * 2^(1 - bias). ``specials`` maps stored bits to the
    value they mean instead. IEEE formats (``ieee``) have infinities and NaNs at the top
    exponent.
    """

    name: str
    kind: Literal["uint", "int", "float"]
    bits: int
    sign: bool = False
    exponent: int = 0
    mantissa: int = 0
    bias: int = 0
    subnormals: bool = True
    ieee: bool = False
    specials: Mapping[int, float] = field(default_factory=dict)
    rounding: str = ""
    doc: str = ""

    @property
    def bytes(self) -> int:
        return self.bits // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def low(self) -> int:
        """Smallest value of an integer format."""
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0

    @property
    def high(self) -> int:
        """Largest value of an integer format."""
        return (1 << (self.bits - (self.kind == "int"))) - 1

    def value(self, stored: int) -> float:
        """The value of a finite small float's bits (exact as a Python float)."""
        if stored in self.specials:
            return self.specials[stored]
        m = stored & ((1 << self.mantissa) - 1)
        e = (stored >> self.mantissa) & ((1 << self.exponent) - 1)
        negative = self.sign and stored >> (self.mantissa + self.exponent) & 1
        scale = 2.0**-self.mantissa
        if e == 0 and self.subnormals:
            magnitude = m * scale * 2.0 ** (1 - self.bias)
        else:
            magnitude = (1 + m * scale) * 2.0 ** (e - self.bias)
        return -magnitude if negative else magnitude

    def values(self) -> list[float]:
        """The value of every bit pattern, for formats of at most 8 bits."""
        return [self.value(stored) for stored in range(1 << self.bits)]


def load_scalars(root: Path) -> dict[str, Scalar]:
    """The scalars of ``root``/scalars.yaml by name; raises SpecError."""
    source = load_checked(root / "scalars.yaml", root, root / "schema" / "scalars.schema.json")
    result = {}
    for name, entry in source.data["scalars"].items():
        problem = _fault(name, entry)
        if problem:
            source.fail(("scalars", name), problem)
        specials = {int(key, 0): float(value) for key, value in entry.get("specials", {}).items()}
        scalar = Scalar(name=name, **{**entry, "specials": specials})
        if scalar.is_float and not scalar.ieee:
            _check_values(scalar, source)
        result[name] = scalar
    return result


def _fault(name: str, entry: Mapping[str, Any]) -> str | None:
    """What is wrong in the shape of a number format."""
    if name in KEYWORDS:
        return f"{name!r} is a keyword of a target language"
    return _float_fault(name, entry) if entry["kind"] == "float" else _integer_fault(entry)


def _integer_fault(entry: Mapping[str, Any]) -> str | None:
    shape = ("sign", "exponent", "mantissa", "bias", "subnormals", "ieee", "specials", "rounding")
    strange = ", ".join(key for key in shape if key in entry)
    if strange:
        return f"an integer has no {strange}"
    if entry["kind"] == "uint" and entry["bits"] > 32:
        return "unsigned integers have at most 32 bits"
    return None


def _float_fault(name: str, entry: Mapping[str, Any]) -> str | None:
    missing = ", ".join(key for key in ("exponent", "bias") if key not in entry)
    if missing:
        return f"a float needs {missing}"
    bits, exponent, mantissa = entry["bits"], entry["exponent"], entry.get("mantissa", 0)
    used = entry.get("sign", False) + exponent + mantissa
    if used > bits:
        return f"sign, exponent and mantissa need {used} bits, but there are {bits}"
    if not entry.get("ieee"):
        return None if bits == 8 else "a float that is not ieee has 8 bits (a table of 256 values)"
    if _IEEE.get(name) != (bits, exponent, mantissa, entry["bias"]):
        return f"the ieee formats are {', '.join(_IEEE)}, each as IEEE 754 has it"
    return None


def _check_values(scalar: Scalar, source: Source) -> None:
    """Every value must be exact in float32, the type of everything computed."""
    for stored in range(1 << scalar.bits):
        try:
            value = scalar.value(stored)
            exact = struct.unpack("<f", struct.pack("<f", value))[0] == value
        except OverflowError:
            exact = False
        if not exact:
            source.fail(("scalars", scalar.name), f"byte {stored:#04x} means no exact float32")
