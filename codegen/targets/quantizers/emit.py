"""generated/quantizers.py; in C a packer and a quantizer a type, and their table."""

from __future__ import annotations

from ...expr import CodeRef, Half, walk
from ...model import BlockType
from ...output import Output
from ...spec import Spec
from ..c.packing import Array, arrays
from . import packing, room
from .log2 import floor_log2
from .model import (
    STRATEGIES,
    Constant,
    Constants,
    Grid,
    Quantizer,
    Recipe,
    Scales,
    Values,
    quantizers,
)

_STOPPING = frozenset({"absmax", "convert", "min_max", "reciprocal_absmax", "signed_absmax"})
"""Strategies whose scale is not finite where an element is not: nobody need look before."""


def outputs(spec: Spec) -> list[Output]:
    made = quantizers(spec)
    files = ("scalars.yaml", *(kind.file for kind in spec.layouts))
    return [
        Output("quantizers.py", python_module(made), files),
        Output("c/kernels/quantizers.c", _table(spec, made), files),
        *_grids(spec, made),
        Output("c/floor_log2.h", _LOG2_HEADER, ()),
        Output("c/floor_log2.c", _log2_c(), ()),
        *(Output(f"c/pack/{_low(q.kind)}.h", _packer(q), _inputs(q.kind)) for q in made),
        *(Output(f"c/kernels/quantize/{_low(q.kind)}.c", _c(q), _inputs(q.kind)) for q in made),
    ]


def _inputs(kind: BlockType) -> tuple[str, ...]:
    return (kind.file, "scalars.yaml")


def _low(kind: BlockType) -> str:
    return kind.name.lower()


# ---- Python


def python_module(made: list[Quantizer]) -> str:
    names = sorted({_class(r) for q in made for r in q.recipes.values()} | {"Quantizer"})
    lines = ['"""How float32 rows become blocks: strategies and their constants."""', ""]
    lines += ["from ggufspec.quantizers.constants import (", *(f"    {n}," for n in names), ")", ""]
    lines += [
        "# The bits of the smallest float whose float32 logarithm is at least -149, -148, ..."
    ]
    lines += ["FLOOR_LOG2 = ("]
    bits = floor_log2()
    for at in range(0, len(bits), 8):
        lines.append("    " + " ".join(f"0x{number:08x}," for number in bits[at : at + 8]))
    lines += [")", ""]
    lines.append("QUANTIZERS: dict[str, Quantizer] = {")
    for q in made:
        lines.append(f'    "{q.kind.name}": Quantizer(')
        lines.append(f'        equals="{q.equals}",')
        roles = ", ".join(f'"{role}": "{name}"' for role, name in q.roles.items())
        lines.append(f"        roles={{{roles}}},")
        for variant in ("plain", "weighted"):
            recipe = q.recipes.get(variant)
            lines.append(f"        {variant}={_call(recipe) if recipe else None},")
        lines.append("    ),")
    return "\n".join([*lines, "}"]) + "\n"


def _class(recipe: Recipe) -> str:
    return recipe.strategy.title().replace("_", "")


def _call(recipe: Recipe) -> str:
    arguments = (f"{name}={_literal(value)}" for name, value in recipe.constants.items())
    return f"{_class(recipe)}({', '.join(arguments)})"


def _literal(value: Constant) -> str:
    if isinstance(value, Values | Scales | Grid):
        return f'"{value.name.upper()}"'
    return f'"{value}"' if isinstance(value, str) else repr(value)


# ---- C


def _packer(q: Quantizer) -> str:
    kind = q.kind
    wide = {q.roles[role] for r in q.recipes.values() for role in STRATEGIES[r.strategy].wide}
    guard = f"GGUFSPEC_PACK_{kind.name.upper()}_H"
    return f"""#ifndef {guard}
#define {guard}

/* One block of {kind.name}: each stored word is put together and written once. */

#include "strategies/strategy.h"

{packing.signature(kind, wide)} {{
{packing.body(kind)}
}}

#endif
"""


def _c(q: Quantizer) -> str:
    name = _low(q.kind)
    strategies = list(dict.fromkeys(recipe.strategy for recipe in q.recipes.values()))
    constants = [value for recipe in q.recipes.values() for value in recipe.constants.values()]
    includes = [f'#include "pack/{name}.h"', *(f'#include "strategies/{s}.h"' for s in strategies)]
    if any(isinstance(value, Values | Scales) for value in constants):
        includes.append('#include "tables.h"')
    if any(isinstance(value, Grid) for value in constants):
        includes.append('#include "grids.h"')
    parts = [
        f"/* {q.kind.name} from floats. The bytes equal {q.equals}. */",
        "\n".join(includes),
        *(_store(q, strategy) for strategy in strategies),
        *(_constants(variant, recipe) for variant, recipe in q.recipes.items()),
        f"size_t GGUFSPEC_KERNEL(quantize_{name})(GGUFSPEC_QUANTIZE_ARGS) {{\n{_body(q)}\n}}",
    ]
    return "\n\n".join(parts) + "\n"


def _store(q: Quantizer, strategy: str) -> str:
    """The function that gives a strategy's numbers to the packer; false for a scale too large."""
    role = {stored: role for role, stored in q.roles.items()}
    extents = STRATEGIES[strategy].extents
    values = "".join(
        f", {_passed(array, role[array.name], extents[role[array.name]])}"
        for array in arrays(q.kind)
    )
    checks = [f"finite_{kind}(codes->{role[name]})" for name, kind in _floats(q.kind).items()]
    return f"""static int store_{strategy}(uint8_t *dst, size_t b, const {strategy}_codes *codes) {{
    pack_{_low(q.kind)}(dst + {q.kind.bytes} * b{values});
    return {" && ".join(checks) or "1"};
}}"""


def _passed(array: Array, role: str, extent: str) -> str:
    """A strategy's number as the packer takes it: bytes of levels may be signed."""
    if array.count == 1:
        return f"codes->{role}[0]" if extent == "sub" else f"codes->{role}"
    return f"{'(const int8_t *)' if array.ctype == 'int8_t' else ''}codes->{role}"


def _floats(kind: BlockType) -> dict[str, str]:
    """Stored floats that have an infinity: what a scale can overflow."""
    named = {"f16": "half", "bf16": "bfloat", "f32": "single"}
    stored = {f.name: f.scalar for f in kind.claimed}
    stored |= {c.name: c.scalar for r in kind.regions for c in r.codes if c.scalar}
    floats = {name: named[s.name] for name, s in stored.items() if s.is_float and s.name in named}
    formulas = [let.expr for r in kind.regions for let in r.decode]
    halves = [node.arg for formula in formulas for node in walk(formula) if isinstance(node, Half)]
    return floats | {arg.name: "half" for arg in halves if isinstance(arg, CodeRef)}


def _constants(variant: str, recipe: Recipe) -> str:
    members = ", ".join(_members(recipe.constants))
    return f"static const {recipe.strategy}_constants {variant} = {{{members}}};"


def _members(constants: Constants) -> list[str]:
    members = []
    for name, value in constants.items():
        if isinstance(value, Values):
            text = f"table_{value.name}"
        elif isinstance(value, Scales):
            text = f"scalar_{value.name}"
        elif isinstance(value, Grid):
            text = f"&grid_{value.name}"
        elif isinstance(value, str):
            text = f"{name}_{value}".upper()
        elif isinstance(value, float):
            text = f"{value!r}f"
        else:
            text = str(int(value))
        members.append(f".{name} = {text}")
    return members


def _body(q: Quantizer) -> str:
    calls = {
        variant: f"return {r.strategy}(&{variant}, x, dst, blocks, importance, row_mean, "
        f"store_{r.strategy});"
        for variant, r in q.recipes.items()
    }
    if len(calls) == 2:
        return f"    if (importance) {calls['weighted']}\n    {calls['plain']}"
    return f"    {next(iter(calls.values()))}"


def _row_mean(q: Quantizer) -> int:
    return int(any(r.constants.get("mean_over") == "row" for r in q.recipes.values()))


def _stops(q: Quantizer) -> int:
    plain = q.recipes.get("plain")
    return int(plain is not None and plain.strategy in _STOPPING)


def _table(spec: Spec, made: list[Quantizer]) -> str:
    quantized = {q.kind.name: q for q in made}
    declared = "\n".join(
        f"size_t GGUFSPEC_KERNEL(quantize_{_low(q.kind)})(GGUFSPEC_QUANTIZE_ARGS);" for q in made
    )
    entries = "\n".join(_entry(quantized.get(kind.name)) for kind in spec.layouts)
    included = "\n".join(f'#include "strategies/{header}.h"' for header in room.HEADERS)
    asserted = "\n".join(
        f'_Static_assert({name} == {value}, "codegen/targets/quantizers/room.py says {value}");'
        for name, value in room.CONSTANTS.items()
    )
    return f"""/* The quantizers of one variant, in the order of ggufspec_types. */
#include "grids.h"
{included}

/* What blocks are when they are taken for small enough. */
{asserted}

{declared}

GGUFSPEC_HIDDEN const ggufspec_quantizer GGUFSPEC_KERNEL(quantizers)[] = {{
{entries}
}};
"""


def _entry(q: Quantizer | None) -> str:
    if q is None:
        return "    {NULL, 0, 0, NULL},"
    grids = [f"&grid_{grid.name}" for grid in _grids_of(q)] or ["NULL"]
    numbers = f"{_row_mean(q)}, {_stops(q)}, {grids[0]}"
    return f"    {{GGUFSPEC_KERNEL(quantize_{_low(q.kind)}), {numbers}}},"


# ---- grids: once for all types and variants that search in them


def _grids_of(q: Quantizer) -> list[Grid]:
    constants = [value for recipe in q.recipes.values() for value in recipe.constants.values()]
    return [value for value in constants if isinstance(value, Grid)]


def _grids(spec: Spec, made: list[Quantizer]) -> list[Output]:
    found = {grid.name: grid for q in made for grid in _grids_of(q)}
    grids = {name: found[name] for name in sorted(found)}
    files = tuple(kind.file for kind in spec.layouts if kind.quantize)
    declared = "\n".join(
        f"extern GGUFSPEC_HIDDEN const ggufspec_grid grid_{name};" for name in grids
    )
    header = f"""#ifndef GGUFSPEC_GRIDS_H
#define GGUFSPEC_GRIDS_H

/* The grids that quantizers search in: rows as packed levels. */

#include "neighbours.h"

enum {{ GRID_COUNT = {len(grids)} }};

{declared}

#endif
"""
    body = "\n\n".join(_grid(number, grid) for number, grid in enumerate(grids.values()))
    return [
        Output("c/grids.h", header, files),
        Output("c/grids.c", f'#include "grids.h"\n\n{body}\n', files),
    ]


def _grid(number: int, grid: Grid) -> str:
    numbers = [f"{code}," for code in grid.codes]
    lines = "\n".join("    " + " ".join(numbers[at : at + 14]) for at in range(0, len(numbers), 14))
    return f"""static const uint16_t codes_{grid.name}[{len(grid.codes)}] = {{
{lines}
}};

const ggufspec_grid grid_{grid.name} = {{
    .number = {number}, .points = {len(grid.codes)}, .length = {grid.length}, .bits = {grid.bits},
    .distances = {grid.distances}, .codes = codes_{grid.name},
}};"""


# ---- floor(log2): the smallest float of each exponent

_LOG2_HEADER = """#ifndef GGUFSPEC_FLOOR_LOG2_H
#define GGUFSPEC_FLOOR_LOG2_H

/* The bits of the smallest float whose logarithm, rounded to float, is at least e, for
 * e = FLOOR_LOG2_FIRST and up: just below 2^e the logarithm rounds up to e. */

#include "kernel.h"

enum { FLOOR_LOG2_FIRST = -149 };

extern GGUFSPEC_HIDDEN const uint32_t ggufspec_floor_log2[277];

#endif
"""


def _log2_c() -> str:
    numbers = [f"0x{bits:08x}," for bits in floor_log2()]
    lines = "\n".join("    " + " ".join(numbers[at : at + 8]) for at in range(0, len(numbers), 8))
    return (
        f'#include "floor_log2.h"\n\nconst uint32_t ggufspec_floor_log2[277] = {{\n{lines}\n}};\n'
    )
