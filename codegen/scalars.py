"""Storage scalars: integers, IEEE floats and the small floats of block scales."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from .schema import check_schema
from .source import load_yaml


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
    source = load_yaml(root / "scalars.yaml", root)
    check_schema(source, root / "schema" / "scalars.schema.json")
    result = {}
    for name, entry in source.data["scalars"].items():
        specials = {int(key, 0): float(value) for key, value in entry.get("specials", {}).items()}
        scalar = Scalar(name=name, **{**entry, "specials": specials})
        parts = scalar.sign + scalar.exponent + scalar.mantissa
        if scalar.is_float and parts > scalar.bits:
            source.fail(("scalars", name), f"sign, exponent and mantissa need {parts} bits")
        result[name] = scalar
    return result
