"""A type file carried out element by element, straight from its YAML.

Slow, plain, and independent: it shares nothing with ``ggufspec.codegen`` but the spec's files.
Slices and formulas are evaluated by Python itself, with objects that stand for storage, and
with one type of number for float32.
"""

from __future__ import annotations

import ast
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

Formats = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class TypeFile:
    """A type file as YAML gives it, and the spec folder of its scalars and tables."""

    data: Mapping[str, Any]
    spec: Path

    @property
    def formats(self) -> Formats:
        return _formats(self.spec)

    @property
    def regions(self) -> list[tuple[Mapping[str, int], Mapping[str, Any]]]:
        """(axes, codes) of each region."""
        orders, codes = self.data["order"], self.data.get("codes", {})
        if isinstance(orders, Mapping):
            return [(orders, codes)]
        return list(zip(orders, codes, strict=True))


@dataclass(frozen=True)
class Stored:
    """The bytes of one block, and what stands once a row and once a tensor."""

    block: bytes
    prefix: bytes = b""
    suffix: bytes = b""
    order: Any = "little"


def read(path: Path, spec: Path) -> TypeFile:
    return parse(path.read_text(encoding="utf-8"), spec)


def parse(text: str, spec: Path) -> TypeFile:
    return TypeFile(yaml.safe_load(text), spec)


def decode(kind: TypeFile, stored: Stored) -> npt.NDArray[np.float32]:
    """The elements of one block."""
    elements = []
    with np.errstate(all="ignore"):
        spots, singles, tables = _block(kind, stored), _singles(kind, stored), _tables(kind)
        for axes, codes in kind.regions:
            for point in _points(axes):
                names = {**_FUNCTIONS, **tables, **point, **singles}
                names |= {name: _cut(what, spots, point).number for name, what in codes.items()}
                for name, formula in kind.data["decode"].items():
                    names[name] = eval(_formula(str(formula)), {}, names)
                elements.append(_rounded(names["x"]))
    return np.array(elements, np.float32)


def unpack(kind: TypeFile, stored: Stored) -> dict[str, list[int]]:
    """Fields that no code cuts up and codes; floats as their stored bits, in order of axes."""
    found: dict[str, list[int]] = {}
    cut = {n for _, codes in kind.regions for what in codes.values() for n in _names(what)}
    spots = _block(kind, stored)
    for name, spot in spots.items():
        if name not in cut:
            found[name] = [item.integer for item in spot.items()]
    for axes, codes in kind.regions:
        for name, what in codes.items():
            own = {axis: n for axis, n in axes.items() if axis in _names(what)}
            parts = [_cut(what, spots, point) for point in _points(own)]
            found.setdefault(name, []).extend(part.integer for part in parts)
    return found


def broken(kind: TypeFile, stored: Stored) -> dict[str, int]:
    """How many values in a block, in its row's bytes and in its tensor's break each condition."""
    found = dict.fromkeys(map(str, kind.data.get("valid", [])), 0)
    spots, singles = _block(kind, stored), _single_parts(kind, stored)
    for number, (axes, codes) in enumerate(kind.regions):
        for text in found:
            used = {n: what for n, what in codes.items() if re.search(rf"\b{n}\b", text)}
            if number and not used:
                continue
            own = {a: n for a, n in axes.items() if any(a in _names(w) for w in used.values())}
            for point in _points(own):
                parts = singles | {n: _cut(what, spots, point) for n, what in used.items()}
                as_stored = not text.startswith("finite(")
                names = {n: part.integer if as_stored else part.number for n, part in parts.items()}
                with np.errstate(all="ignore"):
                    found[text] += not eval(text, {}, {**_FUNCTIONS, "finite": _finite, **names})
    return found


def _finite(value: Any) -> bool:
    return bool(np.isfinite(value.value if isinstance(value, F32) else value))


def integers(values: npt.NDArray[Any]) -> list[list[int]]:
    """An array that a back end unpacked, as ``unpack`` has it: a block a row, floats as bits."""
    if values.dtype.kind == "f":
        values = values.view(f"u{values.dtype.itemsize}")
    rows: list[list[int]] = values.reshape(len(values), -1).tolist()
    return rows


# ---- numbers


@dataclass(frozen=True)
class F32:
    """A float32: every operation rounds once; integers come in exactly."""

    value: np.float32

    @staticmethod
    def of(value: Any) -> F32:
        if isinstance(value, F32):
            return value
        single = np.float32(value)
        assert float(single) == value, f"{value} is not exact in float32"
        return F32(single)

    def __add__(self, other: Any) -> F32:
        return F32(self.value + F32.of(other).value)

    def __radd__(self, other: Any) -> F32:
        return F32(F32.of(other).value + self.value)

    def __sub__(self, other: Any) -> F32:
        return F32(self.value - F32.of(other).value)

    def __rsub__(self, other: Any) -> F32:
        return F32(F32.of(other).value - self.value)

    def __mul__(self, other: Any) -> F32:
        return F32(self.value * F32.of(other).value)

    def __rmul__(self, other: Any) -> F32:
        return F32(F32.of(other).value * self.value)

    def __neg__(self) -> F32:
        return F32(-self.value)


def _rounded(value: Any) -> np.float32:
    """An element: a float32, or a stored integer or double rounded to nearest even."""
    if isinstance(value, F32):
        return value.value
    single: np.float32 = np.float32(_nearest(value) if isinstance(value, int) else value)
    return single


def _nearest(value: int) -> float:
    """An integer to 24 bits, ties to even."""
    drop = max(0, abs(value).bit_length() - 24)
    kept, rest = divmod(abs(value), 1 << drop)
    kept += 2 * rest > 1 << drop or (2 * rest == 1 << drop and kept & 1 == 1)
    return (-1 if value < 0 else 1) * kept * 2.0**drop


def _number(raw: int, bits: int, form: Mapping[str, Any] | None, name: str) -> Any:
    """What stored bits mean: an int, an F32, or for f64 a float."""
    if form is None or form["kind"] == "uint":
        return raw
    if form["kind"] == "int":
        return raw - (1 << bits) if raw >> (bits - 1) else raw
    if form.get("ieee"):
        if name == "f64":
            return float(struct.unpack("<d", raw.to_bytes(8, "little"))[0])
        if name == "bf16":
            raw, bits = raw << 16, 32
        code = {16: "<e", 32: "<f"}[bits]
        return F32(np.float32(struct.unpack(code, raw.to_bytes(bits // 8, "little"))[0]))
    specials = {int(key, 16): value for key, value in form.get("specials", {}).items()}
    if raw in specials:
        return F32.of(specials[raw])
    mantissa, exponent = form.get("mantissa", 0), form["exponent"]
    low, high = raw % (1 << mantissa), (raw >> mantissa) % (1 << exponent)
    sign = -1 if form.get("sign") and raw >> (mantissa + exponent) & 1 else 1
    if high or not form.get("subnormals", True):
        low, power = low + (1 << mantissa), high
    else:
        power = 1
    return F32.of(sign * low * 2.0 ** (power - form["bias"] - mantissa))


# ---- storage


@dataclass(frozen=True)
class Spot:
    """A place in storage: a value, an array, a group, or one of its repetitions."""

    memory: bytes
    offset: int
    what: Any
    order: Any
    formats: Formats

    def __getitem__(self, index: int) -> Spot:
        if isinstance(self.what, str):
            name, count = re.fullmatch(r"(\w+)\[(\d+)\]", self.what).groups()  # type: ignore[union-attr]
            item, count = name, int(count)
        else:
            item, count = self.what["of"], self.what["count"]
        assert 0 <= index < count
        return Spot(
            self.memory,
            self.offset + index * _size(item, self.formats),
            item,
            self.order,
            self.formats,
        )

    def __getattr__(self, member: str) -> Spot:
        offset = self.offset
        for name, what in self.what.items():
            if name == member:
                return Spot(self.memory, offset, what, self.order, self.formats)
            offset += _size(what, self.formats)
        raise AttributeError(member)

    @property
    def is_word(self) -> bool:
        return isinstance(self.what, str) and "[" not in self.what

    def items(self) -> Iterator[Part]:
        """Its values, one behind the other."""
        count = self.what.partition("[")[2].rstrip("]")
        for spot in [self[index] for index in range(int(count))] if count else [self]:
            yield spot.part()

    def part(self) -> Part:
        """A whole stored word."""
        size = _size(self.what, self.formats)
        raw = int.from_bytes(self.memory[self.offset : self.offset + size], self.order)
        return Part(raw, 8 * size, self.formats[self.what], self.what)


@dataclass(frozen=True)
class Part:
    """Some bits of storage; ``form`` where they are a whole word of a scalar type."""

    raw: int
    width: int
    form: Mapping[str, Any] | None = None
    name: str = ""

    @property
    def number(self) -> Any:
        return _number(self.raw, self.width, self.form, self.name)

    @property
    def integer(self) -> int:
        """The number, or the stored bits of a float."""
        if self.form is not None and self.form["kind"] == "int":
            return int(self.number)
        return self.raw


def _bits(spot: Spot, shift: int, width: int) -> Part:
    word = spot.part()
    assert shift in range(word.width - width + 1)
    return Part(word.raw >> shift & ((1 << width) - 1), width)


def _trit(spot: Spot, digit: int) -> Part:
    scaled = spot.part().raw * 3**digit % 256
    return Part(scaled * 3 // 256, 2)


def _size(what: Any, formats: Formats) -> int:
    """Bytes of a field as the YAML describes it."""
    if isinstance(what, int):
        return what
    if isinstance(what, str):
        name, _, count = what.partition("[")
        return int(formats[name]["bits"]) // 8 * int(count.rstrip("]") or 1)
    if "of" in what:
        return int(what["count"]) * _size(what["of"], formats)
    if "derived" in what:
        return _size(what["type"], formats)
    return sum(_size(member, formats) for member in what.values())


def _type(what: Any) -> Any:
    return what["type"] if isinstance(what, Mapping) and "derived" in what else what


def _spots(
    fields: Mapping[str, Any], memory: bytes, order: str, formats: Formats
) -> dict[str, Spot]:
    spots, offset = {}, 0
    for name, what in fields.items():
        if not name.startswith("pad"):
            spots[name] = Spot(memory, offset, _type(what), order, formats)
        offset += _size(what, formats)
    assert offset == len(memory), f"{len(memory)} bytes for fields of {offset}"
    return spots


def _block(kind: TypeFile, stored: Stored) -> dict[str, Spot]:
    return _spots(kind.data["fields"], stored.block, stored.order, kind.formats)


def _singles(kind: TypeFile, stored: Stored) -> dict[str, Any]:
    """Single fields of block, row and tensor, as numbers."""
    return {name: part.number for name, part in _single_parts(kind, stored).items()}


def _single_parts(kind: TypeFile, stored: Stored) -> dict[str, Part]:
    sections = {"fields": stored.block, "row_prefix": stored.prefix, "tensor_suffix": stored.suffix}
    spots: dict[str, Spot] = {}
    for key, memory in sections.items():
        spots |= _spots(kind.data.get(key, {}), memory, stored.order, kind.formats)
    return {name: spot.part() for name, spot in spots.items() if spot.is_word}


# ---- codes and formulas


def _cut(what: Any, spots: Mapping[str, Spot], point: Mapping[str, int]) -> Part:
    """One code at some values of the axes."""
    if isinstance(what, Mapping):
        what = next(slices for case, slices in what.items() if _holds(case, point))
    names = {"bits": _bits, "trit": _trit, **point, **spots}
    parts = []
    for text in [what] if isinstance(what, str) else what:
        found = eval(_slice(text), {}, names)
        parts.append(found.part() if isinstance(found, Spot) else found)
    if len(parts) == 1:
        return parts[0]
    raw, width = 0, 0
    for part in parts:
        raw |= part.raw << width
        width += part.width
    return Part(raw, width)


def _holds(case: str, point: Mapping[str, int]) -> bool:
    bindings = (binding.split("=") for binding in case.split(","))
    return all(point[axis.strip()] == int(value) for axis, value in bindings)


def _names(what: Any) -> set[str]:
    """Every name in a code's slices and cases."""
    if isinstance(what, Mapping):
        return {n for case, slices in what.items() for n in _names(slices) | _words(case)}
    texts = [what] if isinstance(what, str) else what
    return {name for text in texts for name in _words(text)}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]\w*", text))


def _points(axes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for values in product(*(range(extent) for extent in axes.values())):
        yield dict(zip(axes, values, strict=True))


def _select(flag: int, yes: Any, no: Any) -> Any:
    if isinstance(yes, F32) or isinstance(no, F32):
        yes, no = F32.of(yes), F32.of(no)
    return yes if flag else no


_FUNCTIONS: dict[str, Any] = {
    "F32": F32.of,
    "bit": lambda value, number: value >> number & 1,
    "sign": lambda flag: F32.of(-1.0 if flag else 1.0),
    "select": _select,
    "f16": lambda raw: _number(raw, 16, {"kind": "float", "ieee": True}, "f16"),
}


class _Literals(ast.NodeTransformer):
    """Float literals as float32."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, float):
            return node
        return ast.Call(ast.Name("F32", ast.Load()), [node], [])


@cache
def _formula(text: str) -> CodeType:
    tree = _Literals().visit(ast.parse(text.strip(), mode="eval"))
    return compile(ast.fix_missing_locations(tree), "formula", "eval")


@cache
def _slice(text: str) -> CodeType:
    return compile(text.strip(), "slice", "eval")


# ---- the spec's other files


@cache
def _formats(spec: Path) -> Formats:
    data = yaml.safe_load((spec / "scalars.yaml").read_text(encoding="utf-8"))
    scalars: Formats = data["scalars"]
    return scalars


@dataclass(frozen=True)
class _Table:
    columns: int
    data: tuple[int, ...]

    def __getitem__(self, index: Any) -> int:
        row, column = index if isinstance(index, tuple) else (index, 0)
        assert column in range(self.columns)
        return int(self.data[row * self.columns + column])


def _tables(kind: TypeFile) -> dict[str, _Table]:
    formulas = " ".join(map(str, kind.data["decode"].values()))
    files = (kind.spec / "tables" / f"{name}.yaml" for name in sorted(_words(formulas)))
    return {path.stem: _table(path) for path in files if path.is_file()}


@cache
def _table(path: Path) -> _Table:
    entry = yaml.safe_load(path.read_text(encoding="utf-8"))
    if "data" in entry:
        data = tuple(entry["data"])
    else:
        data = tuple(entry["values"][int(digit)] for digit in "".join(entry["rows"].split()))
    assert prod(entry["shape"]) == len(data)
    return _Table(prod(entry["shape"][1:]), data)
