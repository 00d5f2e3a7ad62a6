"""The ``quantize`` section of a type, checked: which strategy, with which constants.

A strategy knows a block as numbers: one scale, so many sub-blocks, so many elements. What
the layout says about them (how many, how large) is read from the layout, not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ...errors import YamlPath
from ...expr import CodeRef, Half, walk
from ...model import BlockType, Code
from ...scalars import Scalar
from ...source import load_yaml
from ...spec import Spec
from ..c.packing import Array, arrays
from . import room


@dataclass(frozen=True)
class Values:
    """A codebook of spec/tables."""

    name: str


@dataclass(frozen=True)
class Scales:
    """The values of an 8-bit float."""

    name: str


@dataclass(frozen=True)
class Grid:
    """A codebook of rows, and how far the neighbours of what is no row may be.

    Row r is ``length`` levels of ``bits`` bits each, the first lowest, together ``codes[r]``.
    """

    name: str
    distances: int
    length: int
    bits: int
    codes: tuple[int, ...]


Constant = int | float | bool | str | Values | Scales | Grid
Constants = dict[str, Constant]

VARIANTS = ("plain", "weighted")
"""Without and with an importance."""


@dataclass(frozen=True)
class Recipe:
    """One strategy and its constants, by name, in the order of its dataclass and C struct."""

    strategy: str
    constants: Constants


@dataclass(frozen=True)
class Quantizer:
    """How a type is quantized; ``roles`` says where the type keeps what a strategy finds."""

    kind: BlockType
    equals: str
    roles: Mapping[str, str]
    plain: Recipe | None
    weighted: Recipe | None

    @property
    def recipes(self) -> Mapping[str, Recipe]:
        """The variants that the type has."""
        both = {"plain": self.plain, "weighted": self.weighted}
        return {name: recipe for name, recipe in both.items() if recipe}


def quantizers(spec: Spec) -> list[Quantizer]:
    """Every type that says how it is quantized; SpecError where it cannot be so."""
    return [_Reader(kind, spec).read() for kind in spec.layouts if kind.quantize]


_HALVES = dict.fromkeys(("scale", "offset", "minimum", "sum"), "f16")
"""What most strategies store of a block as a whole."""


@dataclass(frozen=True)
class _Strategy:
    """The numbers that a strategy finds, and the constants that it needs.

    ``roles`` maps what it finds to how many a block: "block" (one), "sub" (one a sub-block),
    "element". A type may store the ``optional`` ones. The ``wide`` ones are of 16 bits in C,
    even where a type stores less; the others, but those of ``formats``, have 8 at most.
    """

    roles: Mapping[str, str]
    constants: Callable[[_Reader, Mapping[str, Any]], Constants]
    optional: Mapping[str, str] = field(default_factory=dict)
    wide: frozenset[str] = frozenset()
    formats: Mapping[str, str] = field(default_factory=lambda: _HALVES)

    @property
    def extents(self) -> Mapping[str, str]:
        """All the roles that there are."""
        return {**self.roles, **self.optional}


class _Reader:
    def __init__(self, kind: BlockType, spec: Spec) -> None:
        self.kind = kind
        self.spec = spec
        self.entry = kind.quantize
        self.arrays = {array.name: array for array in arrays(kind)}
        self.roles: Mapping[str, str] = self.entry["codes"]

    def read(self) -> Quantizer:
        for role, name in self.roles.items():
            if name not in self.arrays:
                known = ", ".join(self.arrays)
                self.fail(("codes", role), f"{name!r} is no field or code (there are: {known})")
        missing = sorted(set(self.arrays) - set(self.roles.values()))
        if missing:
            self.fail(("codes",), f"nothing fills {', '.join(missing)}")
        role_of: dict[str, str] = {}
        for role, name in self.roles.items():
            if role_of.setdefault(name, role) != role:
                self.fail(("codes", role), f"{name} stores the {role_of[name]} already")
        plain, weighted = (self.recipe(variant) for variant in VARIANTS)
        return Quantizer(self.kind, self.entry["equals"], self.roles, plain, weighted)

    def recipe(self, variant: str) -> Recipe | None:
        entry = self.entry.get(variant)
        if entry is None:
            return None
        name = entry["strategy"]
        strategy = STRATEGIES[name]
        known = strategy.extents
        if not set(strategy.roles) <= set(self.roles) <= set(known):
            self.fail(
                ("codes",),
                f"{name} finds {', '.join(known)}; here stand {', '.join(self.roles)}",
            )
        for role in self.roles:
            self.check(role, known[role])
        if variant == "plain" and str(entry.get("weights")).startswith("importance"):
            self.fail((variant, "weights"), "there is no importance where plain is used")
        constants = strategy.constants(self, entry)
        self.check_formats(strategy)
        problem = room.fault(name, constants, self.kind.elements)
        if problem:
            self.fail((variant, "strategy"), problem)
        return Recipe(name, constants)

    def check(self, role: str, extent: str) -> None:
        count = self.array(role).count
        wanted = {"block": 1, "element": self.kind.elements}.get(extent)
        if wanted is not None and count != wanted:
            self.fail(("codes", role), f"has {count} numbers a block, not {wanted}")
        if extent == "sub" and self.kind.elements % count:
            self.fail(("codes", role), f"{count} sub-blocks do not divide {self.kind.elements}")

    def check_formats(self, strategy: _Strategy) -> None:
        """What a strategy gives is what the type stores."""
        for role, name in self.roles.items():
            wanted, stored = strategy.formats.get(role), self.format(role)
            if wanted and stored != wanted:
                self.fail(("codes", role), f"{name} is no {wanted}")
            array = self.array(role)
            narrow = role != "value" and role not in strategy.wide
            if not wanted and narrow and array.high - array.low > 255:
                self.fail(("codes", role), f"{name} has more than 8 bits")

    def format(self, role: str) -> str | None:
        """The scalar of a field or a whole word; f16 too for bits that are decoded as a half."""
        name = self.roles[role]
        stored = {f.name: f.scalar.name for f in self.kind.claimed}
        for region in self.kind.regions:
            stored |= {code.name: code.scalar.name for code in region.codes if code.scalar}
            for node in (node for let in region.decode for node in walk(let.expr)):
                if isinstance(node, Half) and isinstance(node.arg, CodeRef):
                    stored[node.arg.name] = "f16"
        return stored.get(name)

    def holds(self, role: str, low: int, high: int) -> None:
        """The code of a role can be every number low..high."""
        code = self.code(role)
        if low < code.low or high > code.high:
            self.fail(("codes", role), f"{code.name} does not hold {low}..{high}")

    def array(self, role: str) -> Array:
        return self.arrays[self.roles[role]]

    def top(self, role: str) -> int:
        """The largest number that a code can hold."""
        return self.code(role).high

    def code(self, role: str) -> Code:
        name = self.roles[role]
        codes = {code.name: code for region in self.kind.regions for code in region.codes}
        if name not in codes:
            self.fail(("codes", role), f"{name} is a field, where a code is needed")
        return codes[name]

    def middle(self, role: str, zero: int) -> int:
        """The number that means 0, if it stands in the middle of a code's range."""
        code = self.code(role)
        if 2 * zero != code.low + code.high + 1:
            self.fail(("codes", role), f"{zero} is not the middle of {code.low}..{code.high}")
        return zero

    def scalar(self, role: str) -> Scalar:
        """The stored scalar of a field, or of a code that is a whole word."""
        name = self.roles[role]
        for stored in self.kind.claimed:
            if stored.name == name:
                return stored.scalar
        scalar = self.code(role).scalar
        if scalar is None:
            self.fail(("codes", role), f"{name} is cut out of words, where a scalar is needed")
        return scalar

    def table(self, name: str) -> Values:
        """A codebook that the type also decodes with."""
        if name not in self.spec.tables:
            self.fail((), f"there is no table {name}")
        return Values(name)

    def codebook(self, name: str) -> Values:
        """A codebook of a value for each level."""
        values, count = self.table(name), room.CONSTANTS["CODEBOOK"]
        table = self.spec.tables[name]
        self.holds("level", 0, count - 1)
        if table.shape != (count,) or self.top("level") != count - 1:
            shape = " x ".join(map(str, table.shape))
            levels = self.top("level") + 1
            self.fail((), f"{name} has {shape} values for {levels} levels; both must be {count}")
        return values

    def grid(self, entry: Mapping[str, Any]) -> Grid:
        """The codebook of rows that a recipe names, with rows as packed levels."""
        table = self.spec.tables[self.table(entry["grid"]).name]
        values = sorted(set(table.data))
        length, bits = table.shape[-1], (len(values) - 1).bit_length()
        rows = [table.data[at : at + length] for at in range(0, len(table.data), length)]
        codes = tuple(sum(values.index(v) << bits * k for k, v in enumerate(row)) for row in rows)
        if list(codes) != sorted(set(codes)):
            self.fail((), f"the rows of {table.name} do not ascend, their last levels first")
        return Grid(table.name, entry["distances"], length, bits, codes)

    def fail(self, path: YamlPath, message: str) -> NoReturn:
        source = load_yaml(self.spec.root / self.kind.file, self.spec.root)
        source.fail(("quantize", *path), message)


def _convert(reader: _Reader, _entry: Mapping[str, Any]) -> Constants:
    (code,) = reader.kind.fields
    if code.scalar.name not in {"f32", "f16", "bf16"}:
        reader.fail(("codes", "value"), f"no conversion of float32 to {code.scalar.name}")
    return {"scalar": code.scalar.name}


def _absmax(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    reach, zero = entry["reach"], entry.get("zero", 0)
    reader.holds("level", zero - reach, zero + reach)
    return {
        "elements": reader.kind.elements,
        "reach": reach,
        "zero": zero,
        "top": reader.top("level"),
        "clamp": entry.get("clamp", False),
        "sum": "sum" in reader.roles,
    }


def _signed_absmax(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    zero = entry["zero"]
    reader.holds("level", 0, zero)
    if 2 * zero > 127:
        reader.fail((), f"zero {zero} is too large for levels that pass through a signed byte")
    return {"elements": reader.kind.elements, "zero": zero, "top": reader.top("level")}


def _reciprocal_absmax(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    sums, reach = reader.array("sums").count, entry["reach"]
    reader.holds("level", -reach, reach)
    return {"elements": reader.kind.elements, "reach": reach, "sums": sums}


def _mean_sign(reader: _Reader, _entry: Mapping[str, Any]) -> Constants:
    return {"elements": reader.kind.elements}


def _min_max(reader: _Reader, _entry: Mapping[str, Any]) -> Constants:
    top = reader.top("level")
    if top > 127:
        reader.fail(("codes", "level"), f"levels to {top} do not pass through a signed byte")
    return {"elements": reader.kind.elements, "top": top}


def _nearest_value(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    sub_blocks = reader.array("sub_scale").count
    (rule, number), *_ = entry["scale"].items()
    scalar = reader.scalar("sub_scale")
    wanted = {"offset": "floor-log2", "reach": "half-up-one-bit"}[rule]
    if scalar.rounding != wanted:
        reader.fail(("codes", "sub_scale"), f"{scalar.name} does not round by {wanted}")
    return {
        "sub_blocks": sub_blocks,
        "length": reader.kind.elements // sub_blocks,
        "values": reader.codebook(entry["values"]),
        "scales": Scales(scalar.name),
        "rule": wanted.replace("-", "_"),
        "number": number,
    }


def _weights(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    rule, mean = entry["weights"], entry.get("mean_square")
    if (rule == "importance_rms") != (mean is not None):
        reader.fail((), "mean_square belongs to the weights importance_rms")
    if mean and mean["over"] == "row" and mean["times"] != 1:
        reader.fail((), "the mean square of a row is taken once")
    return {
        "weights": rule,
        "mean_over": mean["over"] if mean else "none",
        "mean_times": mean["times"] if mean else 0,
    }


def _trials(entry: Mapping[str, Any]) -> Constants:
    return {
        "start": float(entry["start"]),
        "step": float(entry["step"]),
        "steps": entry["steps"],
        "error": entry["error"],
    }


def _affine_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    size: Constants = {"length": reader.kind.elements, "top": reader.top("level")}
    return size | _weights(reader, entry) | _trials(entry)


def _nested_affine_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    sub_blocks = reader.array("sub_scale").count
    if reader.array("sub_minimum").count != sub_blocks:
        reader.fail(("codes", "sub_minimum"), f"is not one for each of {sub_blocks} sub-blocks")
    size: Constants = {
        "sub_blocks": sub_blocks,
        "length": reader.kind.elements // sub_blocks,
        "top": reader.top("level"),
        "sub_top": reader.top("sub_scale"),
    }
    if ("spill" in entry) != (entry["scales"] == "search"):
        reader.fail((), "spill belongs to scales: search")
    if entry["scales"] == "search" and sub_blocks % 8:
        reader.fail(("codes", "sub_scale"), f"a search is for 8 or 16 scales, not {sub_blocks}")
    scales: Constants = {"scales": entry["scales"], "spill": entry.get("spill", "none")}
    return size | _weights(reader, entry) | _trials(entry) | scales


def _symmetric_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    zero = reader.middle("level", entry["zero"])
    size: Constants = {"length": reader.kind.elements, "zero": zero}
    return size | _weights(reader, entry)


def _nested_symmetric_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    sub_blocks = reader.array("sub_scale").count
    scale_zero = reader.middle("sub_scale", entry["scale_zero"])
    size: Constants = {
        "sub_blocks": sub_blocks,
        "length": reader.kind.elements // sub_blocks,
        "zero": reader.middle("level", entry["zero"]),
        "scale_reach": reader.top("sub_scale") + 1 - scale_zero,
        "scale_zero": scale_zero,
    }
    most = room.CONSTANTS["SWEEP_LENGTH"]
    if entry["search"] == "sweeps" and reader.kind.elements // sub_blocks > most:
        reader.fail((), f"sweeps have room for {most} elements a sub-block")
    rest: Constants = {
        "search": entry["search"],
        "scales": entry["scales"],
        "empty": float(entry.get("empty", 0)),
    }
    return size | _weights(reader, entry) | rest


def _codebook_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    nested = "sub_scale" in reader.roles
    if nested != ("scale_zero" in entry):
        reader.fail((), "scale_zero belongs to a type with codes for scales")
    sub_blocks = reader.array("sub_scale").count if nested else 1
    size: Constants = {
        "sub_blocks": sub_blocks,
        "length": reader.kind.elements // sub_blocks,
        "values": reader.codebook(entry["values"]),
        "scale_reach": reader.middle("sub_scale", entry["scale_zero"]) if nested else 0,
    }
    values = reader.spec.tables[entry["values"]].data
    if list(values) != sorted(set(values)):
        reader.fail((), f"the values of {entry['values']} do not ascend")
    if 2 * entry["trials"] + 1 > room.CONSTANTS["TRIALS"]:
        reader.fail((), "there is no room for so many trials")
    trials: Constants = {"trials": entry["trials"]}
    return size | _weights(reader, entry) | trials


def _grid_search(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    elements, grid = reader.kind.elements, reader.grid(entry)
    levels = len(set(reader.spec.tables[grid.name].data))
    sub_blocks, words = reader.array("sub_scale").count, reader.array("signs").count
    if reader.array("row").count * grid.length != elements:
        reader.fail(("codes", "row"), f"rows of {grid.length} do not make {elements} elements")
    if words * 8 != elements or reader.top("signs") not in {127, 255}:
        reader.fail(("codes", "signs"), "is not 7 or 8 bits for 8 elements")
    if len(grid.codes) != reader.top("row") + 1:
        reader.fail(("codes", "row"), f"does not number {len(grid.codes)} rows")
    rule, mean = entry["weights"], entry.get("mean_square", {})
    if (rule == "square") != (not mean) or (rule == "square_plus_mean") != ("share" in mean):
        reader.fail((), f"weights {rule} with mean_square {mean or 'missing'}")
    if (levels, grid.length) not in {(3, 8), (8, 4)} or elements != 256 or sub_blocks % 8:
        reader.fail((), "there is no search for such groups, levels or sub-blocks")
    most = room.CONSTANTS[{3: "THREE_TRIALS", 8: "EIGHT_TRIALS"}[levels]]
    if 2 * entry["trials"]["reach"] + 1 > most:
        reader.fail((), "there is no room for so many trials")
    first = entry["first"]
    return {
        "sub_blocks": sub_blocks,
        "length": elements // sub_blocks,
        "grid": grid,
        "group": grid.length,
        "levels": levels,
        "distances": grid.distances,
        "even_signs": reader.top("signs") == 127,
        "scale_top": reader.top("sub_scale"),
        "weights": rule,
        "mean_times": mean.get("times", 0),
        "mean_share": float(mean.get("share", 0)),
        "first_top": 0 if first == "largest" else first["search"],
        "reach": entry["trials"]["reach"],
        "step": float(entry["trials"]["step"]),
        "empty": float(entry["empty"]),
        "refine": entry["refine"],
        "untried_on_grid": entry.get("untried", "on_grid") == "on_grid",
        "fudge": float(entry["fudge"]),
        "shifted_bits": entry.get("shifted_bits", 0),
        "keep_scaleless": entry.get("scaleless") == "kept",
    }


def _ternary_grid(reader: _Reader, entry: Mapping[str, Any]) -> Constants:
    elements, grid = reader.kind.elements, reader.grid(entry)
    if set(reader.spec.tables[grid.name].data) != {-1, 0, 1}:
        reader.fail((), f"{grid.name} is not of -1, 0 and 1")
    if reader.array("row").count * grid.length != elements:
        reader.fail(("codes", "row"), f"rows of {grid.length} do not make {elements} elements")
    if len(grid.codes) > min(reader.top("row") + 1, room.CONSTANTS["MOST_ROWS"]):
        reader.fail(("codes", "row"), f"does not number {len(grid.codes)} rows")
    sub_blocks, shifts = reader.array("sub_scale").count, reader.array("shift").count
    if {"spans": sub_blocks, "totals": 2 * sub_blocks}[entry["sums"]] != shifts:
        reader.fail((), f"sums {entry['sums']} with {shifts} shifts for {sub_blocks} sub-blocks")
    weights = _weights(reader, entry)
    if grid.length != 8 or sub_blocks % 8 or elements // sub_blocks not in {16, 32}:
        reader.fail((), "sub-blocks are 8, 16, ... of 16 or 32 elements, rows are of 8")
    size: Constants = {
        "sub_blocks": sub_blocks,
        "length": elements // sub_blocks,
        "grid": grid,
        "group": grid.length,
        "distances": grid.distances,
        "shift": float(entry["shift"]),
        "sums": entry["sums"],
    }
    rest: Constants = {
        "empty": float(entry["empty"]),
        "scale_top": reader.top("sub_scale"),
        "fit": entry["fit"],
        "fudge": float(entry["fudge"]),
    }
    return size | weights | rest


_LEVELS = {"scale": "block", "level": "element"}

STRATEGIES: Mapping[str, _Strategy] = {
    "convert": _Strategy({"value": "element"}, _convert),
    "absmax": _Strategy(_LEVELS, _absmax, optional={"sum": "block"}),
    "signed_absmax": _Strategy(_LEVELS, _signed_absmax),
    "reciprocal_absmax": _Strategy(
        {**_LEVELS, "sums": "sub"},
        _reciprocal_absmax,
        formats={"scale": "f32", "sums": "i16"},
    ),
    "mean_sign": _Strategy(_LEVELS, _mean_sign),
    "min_max": _Strategy({**_LEVELS, "offset": "block"}, _min_max),
    "nearest_value": _Strategy({"sub_scale": "sub", "level": "element"}, _nearest_value),
    "affine_search": _Strategy({**_LEVELS, "offset": "block"}, _affine_search),
    "symmetric_search": _Strategy(_LEVELS, _symmetric_search),
    "nested_symmetric_search": _Strategy({**_LEVELS, "sub_scale": "sub"}, _nested_symmetric_search),
    "codebook_search": _Strategy(_LEVELS, _codebook_search, optional={"sub_scale": "sub"}),
    "grid_search": _Strategy(
        {"scale": "block", "sub_scale": "sub", "row": "sub", "signs": "sub"},
        _grid_search,
        wide=frozenset({"row"}),
    ),
    "ternary_grid": _Strategy(
        {"scale": "block", "sub_scale": "sub", "row": "sub", "shift": "sub"},
        _ternary_grid,
        wide=frozenset({"row"}),
    ),
    "nested_affine_search": _Strategy(
        {**_LEVELS, "minimum": "block", "sub_scale": "sub", "sub_minimum": "sub"},
        _nested_affine_search,
    ),
}
