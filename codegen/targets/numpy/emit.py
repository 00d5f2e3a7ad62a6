"""One NumPy module a type: ``dequantize``, ``unpack``, ``pack``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ... import expr as E
from ...affine import points
from ...model import Bits, BlockType, Case, Code, Field, Region, Trit
from ...output import Output
from ...picture import code_line
from ...scalars import Scalar
from ...spec import Spec
from ...tables import Table
from . import expressions as X
from .validity import broken

TABLES = "ggufspec.generated.numpy.tables"

_HELPERS = ("SIGNS", "Array", "Blocks", "bfloat", "half", "join", "shaped", "steps")


def outputs(spec: Spec) -> list[Output]:
    made = [
        _tables_output(spec),
        Output("numpy/__init__.py", '"""NumPy kernels, one module a type."""\n', ()),
    ]
    kinds = spec.layouts
    return made + [Output(f"numpy/{k.name.lower()}.py", module(k), k.inputs) for k in kinds]


def _tables_output(spec: Spec) -> Output:
    return Output("numpy/tables.py", tables_module(spec.tables, spec.scalars), spec.table_files)


def tables_module(tables: Mapping[str, Table], scalars: Mapping[str, Scalar]) -> str:
    """The text of the module that holds tables and the values of small floats."""
    lines = ['"""Codebooks and the values of small floats."""', "", "import numpy as np", ""]
    for table in tables.values():
        dtype = "np.int8" if table.signed else "np.uint8"
        raw = bytes(value & 0xFF for value in table.data)
        shape = f".reshape{table.shape}" if len(table.shape) > 1 else ""
        lines += [f"# {table.doc}", f"{table.name.upper()} = np.frombuffer(", "    bytes.fromhex("]
        lines += [f'        "{raw[at : at + 40].hex()}"' for at in range(0, len(raw), 40)]
        lines += ["    ),", f"    {dtype},", f"){shape}", ""]
    for scalar in scalars.values():
        if scalar.is_float and scalar.bits == 8:
            values = scalar.values()
            lines += [f"# {scalar.doc}", f"{scalar.name.upper()} = np.array(", "    ["]
            for at in range(0, 256, 4):
                lines.append("        " + ", ".join(repr(v) for v in values[at : at + 4]) + ",")
            lines += ["    ],", "    np.float32,", ")", ""]
    return "\n".join(lines)


def _used_floats(kind: BlockType) -> list[Scalar]:
    stored = [*kind.fields, *kind.prefix, *kind.suffix]
    small = {f.scalar.name: f.scalar for f in stored if f.scalar.is_float and f.scalar.bits == 8}
    return [small[name] for name in sorted(small)]


def module(kind: BlockType, tables: str = TABLES) -> str:
    """The text of a type's module; ``tables`` is the module that its tables come from."""
    bodies = [
        _code(region, code, number, kind)
        for number, region in enumerate(kind.regions)
        for code in region.codes
    ]
    body = "\n\n".join([*bodies, _dequantize(kind), _unpack(kind), _pack(kind), *broken(kind)])
    return f'"""{kind.name}: {kind.doc}."""\n\n{_imports(kind, body, tables)}\n\n{body}'


def _imports(kind: BlockType, body: str, tables: str) -> str:
    words = set(re.findall(r"\w+", body))
    helpers = [name for name in _HELPERS if name in words]
    names = [name.upper() for name in kind.tables]
    names += [scalar.name.upper() for scalar in _used_floats(kind)]
    lines = ["from collections.abc import Mapping", ""]
    if "np." in body:
        lines += ["import numpy as np", ""]
    lines.append(f"from ggufspec.blocks.view import {', '.join(helpers)}")
    if names:
        lines.append(f"from {tables} import {', '.join(sorted(names))}")
    return "\n".join(lines) + "\n"


# ---- codes


def _dtype(code: Code) -> str:
    if code.is_float and code.scalar:
        return f'"{X.kind(code.scalar)}"'
    return X.int_kind(code.low, code.high)


def _code(region: Region, code: Code, number: int, kind: BlockType) -> str:
    head = f"# {code_line(code)}\ndef {X.reader(kind, code, number)}(b: Blocks) -> Array:\n"
    if len(code.cases) == 1 and not code.cases[0].fixed:
        return f"{head}    return {_join(region, code, code.cases[0])}\n"
    shape = ", ".join(str(n if axis in code.axes else 1) for axis, n in region.order)
    lines = [f"    out: Array = np.empty((b.count, {shape}), {_dtype(code)})"]
    lines += [f"    out[{_where(region, c)}] = {_join(region, code, c)}" for c in code.cases]
    return head + "\n".join([*lines, "    return out\n"])


def _where(region: Region, case: Case) -> str:
    fixed = dict(case.fixed)
    parts = [f"{fixed[a]}:{fixed[a] + 1}" if a in fixed else ":" for a in region.axes]
    while parts and parts[-1] == ":":
        parts.pop()
    return ", ".join([":", *parts])


def _join(region: Region, code: Code, case: Case) -> str:
    if len(case.slices) == 1:
        (piece,) = case.slices
        text = _slice(region, piece)
        wide = isinstance(piece, Bits) and not piece.is_word and piece.word.scalar.bytes > 1
        return f"{text}.astype({_dtype(code)})" if wide else text
    parts, low = [], 0
    for piece in case.slices:
        parts.append(f"({_slice(region, piece)}, {low})")
        low += piece.width
    inner = "".join(f"        {part},\n" for part in parts)
    return f"join(\n        {_dtype(code)},\n{inner}    )"


def _slice(region: Region, piece: Bits | Trit) -> str:
    offset = piece.word.offset
    where = f"{offset.const}, {X.axes(region, dict(offset.terms))}"
    if isinstance(piece, Trit):
        digit = X.affine(region, piece.digit.const, dict(piece.digit.terms))
        return f"b.trits({where}, {digit})"
    if piece.is_word:
        return f'b.native("{X.kind(piece.word.scalar)}", {where})'
    shift = X.affine(region, piece.shift.const, dict(piece.shift.terms))
    return f'b.bits("u{piece.word.scalar.bytes}", {where}, {shift}, {piece.width})'


# ---- dequantize


def _dequantize(kind: BlockType) -> str:
    extra = ""
    if kind.prefix:
        extra += ", prefix: Blocks"
    if kind.suffix:
        extra += ", suffix: Blocks"
    lines = [f"def dequantize(b: Blocks{extra}) -> Array:"]
    lines.append(f'    """float32 elements (count, {kind.elements})."""')
    whole = len(kind.regions) == 1
    if not whole:
        lines.append(f"    out: Array = np.empty((b.count, {kind.elements}), np.float32)")
    for number, region in enumerate(kind.regions):
        lines += _fields(kind, region) + _code_values(kind, region, number)
        for let in region.decode[:-1]:
            lines.append(f"    v_{let.name} = {X.let(let.expr, region)}")
        x = X._group(region.x, region)
        if whole:
            lines.append(f"    x: Array = {X.text(region.x, region)}")
            lines.append(f"    return x.reshape(b.count, {kind.elements})")
        else:
            stop = region.start + region.size
            lines.append(f"    out[:, {region.start}:{stop}] = {x}.reshape(b.count, {region.size})")
    return "\n".join(lines if whole else [*lines, "    return out"]) + "\n"


def _fields(kind: BlockType, region: Region) -> list[str]:
    used = _used_names(region)
    ones = f"[{', '.join(['(1, 0)'] * len(region.order))}]"
    lines = []
    for source, fields in (("b", kind.fields), ("prefix", kind.prefix), ("suffix", kind.suffix)):
        for field in fields:
            if field.name in used:
                stored = f'{source}.native("{X.kind(field.scalar)}", {field.offset}, {ones})'
                value = X.as_float(field.scalar, stored) if field.scalar.is_float else stored
                lines.append(f"    f_{field.name} = {value}")
    return lines


def _code_values(kind: BlockType, region: Region, number: int) -> list[str]:
    used = _used_names(region)
    lines = []
    for code in region.codes:
        if code.name in used:
            value = f"{X.reader(kind, code, number)}(b)"
            if code.is_float and code.scalar:
                value = X.as_float(code.scalar, value)
            lines.append(f"    c_{code.name} = {value}")
    return lines


def _used_names(region: Region) -> set[str]:
    names: set[str] = set()
    pending = [let.expr for let in region.decode]
    while pending:
        node = pending.pop()
        if isinstance(node, E.FieldRef):
            names.add(node.field.name)
        elif isinstance(node, E.CodeRef):
            names.add(node.name)
        pending += E.children(node)
    return names


# ---- unpack and pack


def _shape(region: Region, code: Code) -> list[int]:
    return [extent for axis, extent in region.order if axis in code.axes]


def _field_axes(field: Field) -> str:
    pairs = zip(field.counts, field.strides, strict=True)
    return f"[{', '.join(f'({n}, {stride})' for n, stride in pairs)}]"


def _unpack(kind: BlockType) -> str:
    lines = ["def unpack(b: Blocks) -> dict[str, Array]:"]
    lines.append('    """Single fields in their stored type, codes as integers, a block a row."""')
    lines.append("    return {")
    for field in kind.claimed:
        stored = f'b.native("{X.kind(field.scalar)}", {field.offset}, {_field_axes(field)})'
        lines.append(f'        "{field.name}": {stored},')
    for name in dict.fromkeys(code.name for region in kind.regions for code in region.codes):
        lines += _unpacked(kind, name)
    return "\n".join([*lines, "    }"]) + "\n"


def _unpacked(kind: BlockType, name: str) -> list[str]:
    pieces = [
        (number, region, code)
        for number, region in enumerate(kind.regions)
        for code in region.codes
        if code.name == name
    ]
    if len(kind.regions) == 1:
        _, region, code = pieces[0]
        shape = ", ".join(map(str, ["b.count", *_shape(region, code)]))
        return [f'        "{name}": {X.reader(kind, code, 0)}(b).reshape({shape}),']
    lines = [f'        "{name}": np.concatenate(', "            ["]
    for number, _, code in pieces:
        lines.append(f"                {X.reader(kind, code, number)}(b).reshape(b.count, -1),")
    return [*lines, "            ],", "            axis=1,", "        ),"]


def _pack(kind: BlockType) -> str:
    first = next((f.name for f in kind.claimed), None) or kind.regions[0].codes[0].name
    lines = ['def pack(codes: Mapping[str, Array], order: str = "<") -> Array:']
    lines.append(f'    """uint8 blocks (count, {kind.bytes}) from what ``unpack`` gives."""')
    lines.append(f'    b = Blocks.zeros(len(codes["{first}"]), {kind.bytes}, order)')
    for field in kind.claimed:
        where = f'"{X.kind(field.scalar)}", {field.offset}, {_field_axes(field)}'
        lines.append(f'    b.store({where}, codes["{field.name}"])')
    trit_fields: dict[str, Field] = {}
    starts: dict[str, int] = {}
    for region in kind.regions:
        for code in region.codes:
            lines += _put_code(kind, region, code, starts)
            for case in code.cases:
                for piece in case.slices:
                    if isinstance(piece, Trit):
                        trit_fields[piece.word.field.name] = piece.word.field
    for field in trit_fields.values():
        lines.append(f"    b.seal_trits({field.offset}, {field.total})")
    return "\n".join([*lines, "    return b.data"]) + "\n"


def _put_code(kind: BlockType, region: Region, code: Code, starts: dict[str, int]) -> list[str]:
    shape = [extent if axis in code.axes else 1 for axis, extent in region.order]
    size = 1
    for extent in shape:
        size *= extent
    source = "codes"
    lines = []
    if len(kind.regions) > 1:
        start = starts.get(code.name, 0)
        starts[code.name] = start + size
        source = f'{{"{code.name}": np.asarray(codes["{code.name}"])[:, {start}:{start + size}]}}'
    extents = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    bounds = f"({extents}), {code.low}, {code.high}"
    if code.is_float and code.scalar and code.scalar.ieee:
        lines.append(
            f'    c_{code.name} = np.asarray({source}["{code.name}"]).reshape(b.count, {extents})'
        )
    else:
        lines.append(f'    c_{code.name} = shaped({source}, "{code.name}", {bounds})')
    for case in code.cases:
        value = f"c_{code.name}"
        if case.fixed:
            value += f"[{_where(region, case)}]"
        low = 0
        for piece in case.slices:
            lines += _put_slice(region, piece, value, low)
            low += piece.width
    return lines


def _put_slice(region: Region, piece: Bits | Trit, value: str, low: int) -> list[str]:
    """Statements that store one slice; a word that several positions reach is stored in turns."""
    shifted = f"{value} >> {low}" if low else value
    turns: list[dict[str, int]] = [{}]
    if not _injective(region, piece):
        turns = list(points(sorted(piece.word.axes), region.extents))
    lines = []
    for turn in turns:
        offset = piece.word.offset.fix(turn)
        part = shifted
        if turn:
            picks = [f"{turn[a]}:{turn[a] + 1}" if a in turn else ":" for a in region.axes]
            part = f"({shifted})[:, {', '.join(picks)}]"
        where = f"{offset.const}, {X.axes(region, dict(offset.terms))}"
        if isinstance(piece, Trit):
            digit = piece.digit.fix(turn)
            place = X.affine(region, digit.const, dict(digit.terms))
            lines.append(f"    b.put_trits({where}, {place}, {part})")
        elif piece.is_word:
            lines.append(f'    b.store("{X.kind(piece.word.scalar)}", {where}, {part})')
        else:
            shift = piece.shift.fix(turn)
            number = X.affine(region, shift.const, dict(shift.terms))
            kind = f"u{piece.word.scalar.bytes}"
            lines.append(f'    b.put("{kind}", {where}, {number}, {piece.width}, {part})')
    return lines


def _injective(region: Region, piece: Bits | Trit) -> bool:
    offset = piece.word.offset
    seen = [offset.at(point) for point in points(sorted(offset.axes), region.extents)]
    return len(set(seen)) == len(seen)
