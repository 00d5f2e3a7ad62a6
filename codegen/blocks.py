"""A type file (spec/types/*.yaml) to a checked BlockType."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from . import expr as E
from .affine import Affine, points
from .bitmap import prove
from .errors import YamlPath
from .formula import EXACT, FormulaError, Scope, affine, counted, parse, typed
from .model import Bits, BlockType, Case, Code, Derived, Field, Let, Region, Trit, Word
from .names import fault
from .scalars import Scalar
from .schema import check_schema
from .source import Source
from .tables import Table
from .validity import place_of

_PAD = re.compile(r"^pad\d*$")
_BINDING = re.compile(r"\s*([a-z][a-z0-9_]*)\s*=\s*([0-9]{1,5})\s*")
_ARRAY = re.compile(r"^([a-z][a-z0-9]*)(?:\[([0-9]{1,5})\])?\Z")


@dataclass
class _Layout:
    """Storage while it is read: fields in order and the bytes so far."""

    fields: list[Field] = field(default_factory=list)
    derived: list[tuple[Field, str, YamlPath]] = field(default_factory=list)
    size: int = 0


def load_type(
    source: Source, root: Path, scalars: Mapping[str, Scalar], tables: Mapping[str, Table]
) -> BlockType:
    """Read, check and prove one type file; SpecError names what is wrong and where."""
    _refuse_draft(source)
    check_schema(source, root / "schema" / "type.schema.json")
    return _Reader(source, scalars, tables).read()


def _refuse_draft(source: Source) -> None:
    """SpecError at the first TODO of a file that `ggufspec upstream draft` wrote."""
    pending: list[tuple[YamlPath, Any]] = [((), source.data)]
    while pending:
        path, here = pending.pop()
        if isinstance(here, str) and here.strip() == "TODO":
            source.fail(path, "TODO: this type is a draft; write what belongs here")
        if isinstance(here, Mapping):
            pending += [((*path, name), value) for name, value in reversed([*here.items()])]
        elif isinstance(here, list):
            pending += [((*path, n), here[n]) for n in reversed(range(len(here)))]


class _Reader:
    def __init__(
        self, source: Source, scalars: Mapping[str, Scalar], tables: Mapping[str, Table]
    ) -> None:
        self.source = source
        self.entry: dict[str, Any] = source.data
        self.scalars = scalars
        self.tables = tables
        self.taken = dict.fromkeys(tables, "a table")
        self.derived: set[str] = set()

    def read(self) -> BlockType:
        entry = self.entry
        self._check_status(entry["status"])
        if entry["status"] == "removed":
            return self._build(_Layout(), _Layout(), _Layout(), (), ())
        block = self._layout("fields")
        prefix, suffix = self._single("row_prefix"), self._single("tensor_suffix")
        if not block.fields:
            self.source.fail(("fields",), "a block stores something besides pad")
        if block.size != entry["bytes"]:
            self.source.fail(("bytes",), f"the fields add up to {block.size}, not {entry['bytes']}")
        fields = {f.name: f for part in (block, prefix, suffix) for f in part.fields}
        self._check_elements()
        regions = self._regions(fields)
        derived = tuple(self._derived(item, regions, fields) for item in block.derived)
        kind = self._build(block, prefix, suffix, regions, derived)
        prove(kind, self.source)
        self._check_valid(kind)
        return kind

    def _check_status(self, status: str) -> None:
        """What a status asks for: a layout or none, ggml's id or none."""
        removed, layout = "removed", ("elements", "bytes", "fields", "order", "decode")
        needed: tuple[str, ...] = (removed,) if status == removed else layout
        barred: tuple[str, ...] = (removed,)
        if status == removed:
            barred = (*layout, "row_prefix", "tensor_suffix", "codes", "valid", "quantize")
        if status == "fork":
            barred += ("id",)
        else:
            needed += ("id",)
        for key in needed:
            if key not in self.entry:
                self.source.fail((), f"missing key: {key} (a {status} type needs it)")
        for key in barred:
            if key in self.entry:
                self.source.fail((key,), f"a {status} type has no {key}")

    def _check_elements(self) -> None:
        orders = self.entry["order"]
        orders = [orders] if isinstance(orders, Mapping) else orders
        total = sum(prod(order.values()) for order in orders)
        if total != self.entry["elements"]:
            self.source.fail(
                ("order",), f"the axes make {total} elements, not {self.entry['elements']}"
            )

    def _build(
        self,
        block: _Layout,
        prefix: _Layout,
        suffix: _Layout,
        regions: tuple[Region, ...],
        derived: tuple[Derived, ...],
    ) -> BlockType:
        entry = self.entry
        return BlockType(
            id=entry.get("id"),
            name=entry["name"],
            status=entry["status"],
            elements=entry.get("elements", 0),
            bytes=entry.get("bytes", 0),
            fields=tuple(block.fields),
            prefix=tuple(prefix.fields),
            prefix_bytes=prefix.size,
            suffix=tuple(suffix.fields),
            suffix_bytes=suffix.size,
            regions=regions,
            derived=derived,
            decode_text={name: str(text) for name, text in entry.get("decode", {}).items()},
            quantize=entry.get("quantize", {}),
            removed=entry.get("removed", {}),
            doc=entry["doc"],
            since=str(entry["since"]),
            file=self.source.file,
        )

    # ---- storage

    def _layout(self, key: str) -> _Layout:
        layout = _Layout()
        self._members(layout, self.entry.get(key, {}), (key,), "", (), ())
        return layout

    def _single(self, key: str) -> _Layout:
        """What is stored once a row or tensor: single values."""
        layout = self._layout(key)
        for stored in layout.fields:
            if stored.counts:
                self.source.fail((key, stored.name), "only single values are stored here")
        return layout

    def _members(
        self,
        layout: _Layout,
        members: Mapping[str, Any],
        path: YamlPath,
        prefix: str,
        counts: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> None:
        """Lay ``members`` one behind the other; a group repeats its members' bytes."""
        for name, what in members.items():
            here = (*path, name)
            if _PAD.match(name):
                if not isinstance(what, int):
                    self.source.fail(here, "pad takes a number of bytes")
                layout.size += what
                continue
            if prefix:
                self._check_name(name, {}, here)
            else:
                self._claim(name, "a field", here)
            if isinstance(what, Mapping) and prefix:
                kind = "group" if "of" in what else "derived field"
                self.source.fail(here, f"a {kind} cannot stand in a group")
            if isinstance(what, Mapping) and "of" in what:
                self._group(layout, name, what, here)
                continue
            text = what["type"] if isinstance(what, Mapping) else what
            scalar, count = self._scalar(text, here)
            inner = ((count,), (scalar.bytes,)) if count is not None else ((), ())
            made = Field(prefix + name, scalar, layout.size, counts + inner[0], strides + inner[1])
            layout.fields.append(made)
            layout.size += scalar.bytes * (count or 1)
            if isinstance(what, Mapping):
                self.derived.add(name)
                layout.derived.append((made, what["derived"], here))

    def _group(self, layout: _Layout, name: str, what: Mapping[str, Any], path: YamlPath) -> None:
        inner = _Layout()
        self._members(inner, what["of"], (*path, "of"), f"{name}.", (what["count"],), (0,))
        for made in inner.fields:
            layout.fields.append(
                Field(
                    made.name,
                    made.scalar,
                    layout.size + made.offset,
                    made.counts,
                    (inner.size, *made.strides[1:]),
                )
            )
        layout.size += inner.size * what["count"]

    def _scalar(self, text: Any, path: YamlPath) -> tuple[Scalar, int | None]:
        match = _ARRAY.match(str(text))
        if not match or match[1] not in self.scalars:
            known = ", ".join(self.scalars)
            self.source.fail(path, f"{text!r} is neither a scalar nor scalar[n] (scalars: {known})")
        count = int(match[2]) if match[2] else None
        if count == 0:
            self.source.fail(path, "an array of no elements")
        return self.scalars[match[1]], count

    def _claim(self, name: str, what: str, path: YamlPath) -> None:
        self._check_name(name, self.taken, path)
        self.taken[name] = what

    def _check_name(self, name: str, taken: dict[str, str], path: YamlPath) -> None:
        problem = fault(name, taken)
        if problem:
            self.source.fail(path, problem)

    # ---- regions: axes, codes, formulas

    def _regions(self, fields: Mapping[str, Field]) -> tuple[Region, ...]:
        orders, codes = self.entry["order"], self.entry.get("codes", {})
        if isinstance(orders, Mapping) != isinstance(codes, Mapping):
            self.source.fail(("codes",), "order and codes must both be one mapping or both lists")
        if isinstance(orders, Mapping):
            return (self._region(0, orders, codes, ("order",), ("codes",), fields),)
        if len(orders) != len(codes):
            self.source.fail(
                ("codes",),
                f"{counted(len(orders), 'region')} in order, but {len(codes)} in codes",
            )
        regions: list[Region] = []
        start = 0
        outer = dict(self.taken)
        for number, (order, names) in enumerate(zip(orders, codes, strict=True)):
            self.taken = dict(outer)
            paths = ("order", number), ("codes", number)
            region = self._region(start, order, names, *paths, fields)
            regions.append(region)
            start += region.size
        self._check_same_codes(regions)
        return tuple(regions)

    def _check_same_codes(self, regions: Sequence[Region]) -> None:
        """A code that several regions have becomes one array: its numbers are of one kind."""
        first: dict[str, Code] = {}
        for number, region in enumerate(regions):
            for code in region.codes:
                other = first.setdefault(code.name, code)
                if (code.low, code.high, code.scalar) != (other.low, other.high, other.scalar):
                    self.source.fail(
                        ("codes", number, code.name),
                        "another kind of number than in regions before",
                    )

    def _region(
        self,
        start: int,
        order: Mapping[str, int],
        codes: Mapping[str, Any],
        order_path: YamlPath,
        codes_path: YamlPath,
        fields: Mapping[str, Field],
    ) -> Region:
        for axis in order:
            self._claim(axis, "an axis", (*order_path, axis))
        for name in codes:
            self._claim(name, "a code", (*codes_path, name))
        made = tuple(
            self._code(name, what, order, fields, (*codes_path, name))
            for name, what in codes.items()
        )
        values = self._values(made, fields)
        lets = self._lets(values, order)
        valid = self._valid(Scope(values, order, self.tables, "valid"), made)
        return Region(
            start,
            tuple(order.items()),
            made,
            lets,
            valid,
            tuple(self.entry.get("valid", [])),
        )

    def _valid(self, scope: Scope, codes: Sequence[Code]) -> tuple[E.Node, ...]:
        wide = {code.name for code in codes if code.scalar and code.scalar.ieee}
        nodes: list[E.Node] = []
        for number, text in enumerate(self.entry.get("valid", [])):
            here = ("valid", number)
            node = self._formula(text, scope, here)
            if not isinstance(node.type, E.Bool):
                self.source.fail(
                    here, "not a condition: finite(d), or a code compared with a number"
                )
            match node:
                case E.Compare(left=E.FieldRef(field=stored)) if stored.scalar.ieee:
                    self.source.fail(
                        here, f"{stored.name} is a float; finite({stored.name}) is asked"
                    )
                case E.Compare(left=E.CodeRef(name=name)) if name in wide:
                    self.source.fail(here, f"{name} is a float; finite({name}) is asked")
            nodes.append(node)
        return tuple(nodes)

    def _check_valid(self, kind: BlockType) -> None:
        """Blocks, rows and tensors are looked at one by one, not one against the other."""
        for region in kind.regions:
            for number, node in enumerate(region.valid):
                if place_of(node, kind.prefix, kind.suffix) is None:
                    self.source.fail(
                        ("valid", number),
                        "a condition looks at what is stored in a block, once a row, or once a "
                        "tensor, and at one of these",
                    )

    def _values(self, codes: Sequence[Code], fields: Mapping[str, Field]) -> dict[str, E.Node]:
        """The names that formulas may use: single fields and codes."""
        values: dict[str, E.Node] = {}
        for name, stored in fields.items():
            if not stored.counts:
                values[name] = E.FieldRef(_scalar_type(stored.scalar), frozenset(), stored)
        for code in codes:
            kind: E.Type = E.Int(code.low, code.high)
            if code.is_float and code.scalar:
                kind = _scalar_type(code.scalar)
            values[code.name] = E.CodeRef(kind, frozenset(code.axes), code.name)
        return values

    def _lets(self, values: dict[str, E.Node], order: Mapping[str, int]) -> tuple[Let, ...]:
        decode: Mapping[str, Any] = self.entry["decode"]
        if list(decode)[-1:] != ["x"]:
            self.source.fail(("decode",), "the last formula must be x, the element")
        scope_values = dict(values)
        lets: list[Let] = []
        for name, text in decode.items():
            here = ("decode", name)
            if name != "x":
                self._check_name(name, self.taken, here)
            node = self._formula(text, Scope(scope_values, order, self.tables), here)
            if name == "x":
                node = self._element(node, order, here)
            lets.append(Let(name, node))
            scope_values[name] = E.LetRef(node.type, node.axes, name)
        self._check_lets(lets)
        return tuple(lets)

    def _check_lets(self, lets: Sequence[Let]) -> None:
        """Each formula must be used by a later one, x by something stored."""
        used: dict[str, set[str]] = {}
        for let in lets:
            names = {n.name for n in E.walk(let.expr) if isinstance(n, E.LetRef)}
            stored = any(isinstance(n, E.FieldRef | E.CodeRef) for n in E.walk(let.expr))
            used[let.name] = names.union(*(used[name] for name in names))
            if stored:
                used[let.name].add("")
        if "" not in used["x"]:
            self.source.fail(("decode", "x"), "x uses nothing that is stored")
        for let in lets[:-1]:
            if let.name not in used["x"]:
                self.source.fail(("decode", let.name), f"x does not use {let.name}")

    def _element(self, node: E.Node, order: Mapping[str, int], path: YamlPath) -> E.Node:
        """``x`` as float32. A plain type's bare field may round: F64, I32 and I64 do."""
        unused = [axis for axis in order if axis not in node.axes and order[axis] > 1]
        if unused:
            self.source.fail(path, f"x does not use axis {', '.join(unused)}")
        if node.type == E.F32:
            return node
        exact = isinstance(node.type, E.Int) and max(-node.type.low, node.type.high) <= EXACT
        if not exact and not isinstance(node, E.FieldRef):
            self.source.fail(path, "x is not exact in float32; only a bare field may be rounded")
        return E.Convert(E.F32, node.axes, node)

    def _formula(self, text: Any, scope: Scope, path: YamlPath) -> E.Node:
        try:
            return typed(text, scope)
        except FormulaError as error:
            self.source.fail(path, str(error))

    # ---- codes

    def _code(
        self,
        name: str,
        what: Any,
        order: Mapping[str, int],
        fields: Mapping[str, Field],
        path: YamlPath,
    ) -> Code:
        if isinstance(what, Mapping):
            cases = self._cases(what, order, fields, path)
        else:
            cases = [self._case((), what, order, fields, path)]
        widths = {sum(piece.width for piece in case.slices) for case in cases}
        if len(widths) > 1:
            shown = ", ".join(map(str, sorted(widths)))
            self.source.fail(path, f"the cases have different widths: {shown} bits")
        used: set[str] = set()
        for case in cases:
            used |= {axis for axis, _ in case.fixed}
            used |= {axis for piece in case.slices for axis in piece.axes}
        axes = tuple(axis for axis in order if axis in used)
        width = widths.pop()
        low, high, scalar = 0, (1 << width) - 1, self._whole(cases, path)
        if scalar:
            low, high = scalar.low, scalar.high
        elif all(isinstance(case.slices[0], Trit) for case in cases):
            high = 2
        if width > 32 and not (scalar and scalar.is_float):
            self.source.fail(path, f"a code of {width} bits; 32 is the limit")
        return Code(name, axes, tuple(cases), width, low, high, scalar)

    def _whole(self, cases: Sequence[Case], path: YamlPath) -> Scalar | None:
        """The scalar of a code that is a whole stored word in every case."""
        pieces = [piece for case in cases for piece in case.slices]
        if len({type(piece) for piece in pieces}) > 1:
            self.source.fail(path, "the cases mix bits and trits")
        words = [p.word.scalar for p in pieces if isinstance(p, Bits) and p.is_word]
        if len(pieces) == len(cases) == len(words) and len({s.name for s in words}) == 1:
            return words[0]
        for scalar in words:
            if scalar.kind != "uint":
                self.source.fail(
                    path,
                    f"a whole {scalar.name} word can only be a code by itself, alike in every case",
                )
        return None

    def _cases(
        self,
        what: Mapping[str, Any],
        order: Mapping[str, int],
        fields: Mapping[str, Field],
        path: YamlPath,
    ) -> list[Case]:
        seen: dict[tuple[tuple[str, int], ...], Any] = {}
        axes: list[str] = []
        for key, slices in what.items():
            here = (*path, key)
            fixed = tuple(self._binding(part, order, here) for part in key.split(","))
            named = [axis for axis, _ in fixed]
            axes = axes or named
            if named != axes or len(set(axes)) != len(axes):
                self.source.fail(here, f"each case fixes {', '.join(dict.fromkeys(axes))}, once")
            if fixed in seen:
                self.source.fail(here, "this case is there already")
            seen[fixed] = slices
        for point in points(axes, order):
            if tuple(point.items()) not in seen:
                shown = ",".join(f"{axis}={value}" for axis, value in point.items())
                self.source.fail(path, f"case {shown} is missing")
        return [
            self._case(fixed, slices, order, fields, (*path, key))
            for key, (fixed, slices) in zip(what, seen.items(), strict=True)
        ]

    def _binding(self, part: str, order: Mapping[str, int], path: YamlPath) -> tuple[str, int]:
        match = _BINDING.fullmatch(part)
        if not match or match[1] not in order or int(match[2]) >= order[match[1]]:
            known = ", ".join(f"{axis}=0..{extent - 1}" for axis, extent in order.items())
            self.source.fail(path, f"{part.strip()!r} is not axis=value (axes here: {known})")
        return match[1], int(match[2])

    def _case(
        self,
        fixed: tuple[tuple[str, int], ...],
        what: Any,
        order: Mapping[str, int],
        fields: Mapping[str, Field],
        path: YamlPath,
    ) -> Case:
        texts = what if isinstance(what, list) else [what]
        free = {axis: n for axis, n in order.items() if axis not in dict(fixed)}
        slices = []
        for number, text in enumerate(texts):
            here = (*path, number) if isinstance(what, list) else path
            try:
                slices.append(_slice(text, free, fields))
            except FormulaError as error:
                self.source.fail(here, str(error))
        if len({piece.axes for piece in slices}) > 1:
            shown = "; ".join(",".join(sorted(piece.axes)) or "none" for piece in slices)
            self.source.fail(path, f"the slices of one code use different axes: {shown}")
        if len(slices) > 1 and any(isinstance(piece, Trit) for piece in slices):
            self.source.fail(path, "a trit cannot be one slice of several")
        return Case(fixed, tuple(slices))

    def _derived(
        self,
        item: tuple[Field, str, YamlPath],
        regions: tuple[Region, ...],
        fields: Mapping[str, Field],
    ) -> Derived:
        stored, text, path = item
        if len(regions) != 1:
            self.source.fail(path, "a derived field needs a single region")
        region = regions[0]
        given = {name: field for name, field in fields.items() if name not in self.derived}
        values = self._values(region.codes, given)
        node = self._formula(text, Scope(values, region.extents, self.tables, "derived"), path)
        count = 1
        for axis in node.axes:
            count *= region.extents[axis]
        if count != stored.total:
            self.source.fail(path, f"{count} derived values for {stored.total} stored ones")
        scalar = stored.scalar
        if isinstance(node.type, E.Float) and not scalar.is_float:
            self.source.fail(path, f"a float does not fit {scalar.name}")
        if isinstance(node.type, E.Int) and not scalar.is_float:
            low, high = node.type.low, node.type.high
            if low < scalar.low or high > scalar.high:
                self.source.fail(path, f"integers {low}..{high} do not fit {scalar.name}")
        return Derived(stored, node, text)


def _scalar_type(scalar: Scalar) -> E.Type:
    if scalar.is_float:
        return E.Float(64) if scalar.bits == 64 else E.F32
    return E.Int(scalar.low, scalar.high)


def _slice(text: Any, extents: Mapping[str, int], fields: Mapping[str, Field]) -> Bits | Trit:
    node = parse(text)
    match node:
        case ast.Call(
            func=ast.Name(id="bits"),
            args=[word, shift, ast.Constant(value=int(width))],
            keywords=[],
        ) if not isinstance(width, bool):
            return _bits(_word(word, extents, fields), affine(shift, extents), width, extents)
        case ast.Call(func=ast.Name(id="trit"), args=[word, digit], keywords=[]):
            made = _word(word, extents, fields)
            low, high = (where := affine(digit, extents)).bounds(extents)
            if made.scalar.name != "u8":
                raise FormulaError("trits live in u8 words")
            if low < 0 or high > 4:
                raise FormulaError(
                    f"digit {low}..{high} leaves a byte, which holds the digits 0..4"
                )
            return Trit(made, where)
        case ast.Call(func=ast.Name(id="bits" | "trit" as name)):
            form = "trit(byte, digit)"
            if name == "bits":
                form = "bits(word, shift, width), the width a plain number"
            raise FormulaError(f"{text!r} does not have the form {form}")
    made = _word(node, extents, fields)
    return Bits(made, Affine(0), made.scalar.bits)


def _bits(word: Word, shift: Affine, width: int, extents: Mapping[str, int]) -> Bits:
    if word.scalar.is_float:
        raise FormulaError(f"{word.field.name} is a float; it can be taken only as a whole word")
    if width < 1:
        raise FormulaError("a width of 0 bits")
    if word.scalar.kind == "int" and width == word.scalar.bits:
        raise FormulaError(
            f"bits(...) of all of {word.field.name}, which has a sign: take the whole word"
        )
    low, high = shift.bounds(extents)
    if low < 0 or high + width > word.scalar.bits:
        raise FormulaError(
            f"bits {low}..{high + width - 1} leave {word.field.name}, a word of "
            f"{word.scalar.bits} bits"
        )
    return Bits(word, shift, width)


def _word(node: ast.expr, extents: Mapping[str, int], fields: Mapping[str, Field]) -> Word:
    name, indices = _address(node, extents)
    stored = fields.get(name)
    if stored is None:
        raise FormulaError(f"unknown field {name!r} (fields: {', '.join(fields)})")
    if len(indices) != len(stored.counts):
        raise FormulaError(
            f"{name} takes {counted(len(stored.counts), 'index', 'indices')}, not {len(indices)}"
        )
    for index, count in zip(indices, stored.counts, strict=True):
        low, high = index.bounds(extents)
        if low < 0 or high >= count:
            raise FormulaError(
                f"index {low}..{high} leaves {name}, whose indices are 0..{count - 1}"
            )
    return Word(stored, tuple(indices))


def _address(node: ast.expr, extents: Mapping[str, int]) -> tuple[str, list[Affine]]:
    """``name``, ``name[i]`` or ``group[i].member[j]`` as a field name and its indices."""
    match node:
        case ast.Name(id=name):
            return name, []
        case ast.Subscript(value=value, slice=index):
            name, indices = _address(value, extents)
            return name, [*indices, affine(index, extents)]
        case ast.Attribute(value=value, attr=member):
            name, indices = _address(value, extents)
            return f"{name}.{member}", indices
    raise FormulaError(
        f"{ast.unparse(node)!r} is neither a stored word nor bits(word, shift, width) "
        "nor trit(byte, digit)"
    )
