"""Typed expressions as NumPy text. Everything has the rank of the region, block axis first."""

from __future__ import annotations

from ... import expr as E
from ...model import BlockType, Code, Region
from ...scalars import Scalar

INT_KINDS = ((0, 255, "np.uint8"), (-128, 127, "np.int8"), (0, 65535, "np.uint16"),
             (-32768, 32767, "np.int16"), (0, (1 << 32) - 1, "np.uint32"),
             (-(1 << 31), (1 << 31) - 1, "np.int32"))  # fmt: skip


def int_kind(low: int, high: int) -> str:
    """The smallest NumPy integer type that holds low..high."""
    return next((name for a, b, name in INT_KINDS if a <= low and high <= b), "np.int64")


def kind(scalar: Scalar) -> str:
    """The NumPy kind in which a scalar is stored and unpacked."""
    if scalar.is_float and scalar.ieee and scalar.name != "bf16":
        return f"f{scalar.bytes}"
    return f"{'i' if scalar.kind == 'int' else 'u'}{scalar.bytes}"


def as_float(scalar: Scalar, text: str) -> str:
    """Stored values of a float scalar as float32 (64-bit ones stay until they are converted)."""
    if scalar.name == "bf16":
        return f"bfloat({text})"
    if scalar.ieee:
        return text if scalar.bits == 64 else f"{text}.astype(np.float32)"
    return f"{scalar.name.upper()}[{text}]"


def affine(region: Region, const: int, coefficients: dict[str, int]) -> str:
    """``const`` or ``steps(const, [(extent, coefficient), ...])`` over the region's axes."""
    if not coefficients:
        return str(const)
    return f"steps({const}, {axes(region, coefficients)})"


def axes(region: Region, coefficients: dict[str, int], fixed: frozenset[str] = frozenset()) -> str:
    parts = [
        f"({extent}, {coefficients[axis]})"
        if axis in coefficients and axis not in fixed
        else "(1, 0)"
        for axis, extent in region.order
    ]
    return f"[{', '.join(parts)}]"


def reader(kind: BlockType, code: Code, number: int) -> str:
    """The function that reads a code of the region with a number."""
    return f"_{code.name}" if len(kind.regions) == 1 else f"_{code.name}{number}"


def let(node: E.Node, region: Region) -> str:
    """A value that gets a name: a NumPy number even where the text would be Python's."""
    if isinstance(node, E.Literal) and isinstance(node.type, E.Int):
        return f"{int_kind(node.type.low, node.type.high)}({node.value})"
    return text(node, region)


def text(node: E.Node, region: Region) -> str:
    match node:
        case E.Literal(value=value):
            return f"np.float32({value})" if isinstance(node.type, E.Float) else str(value)
        case E.FieldRef(field=field):
            return f"f_{field.name}"
        case E.CodeRef(name=name):
            return f"c_{name}"
        case E.LetRef(name=name):
            return f"v_{name}"
        case E.Convert(arg=arg):
            if isinstance(arg, E.Literal):
                return f"np.float32({arg.value})"
            return f"{_group(arg, region)}.astype(np.float32)"
        case E.Negate(arg=arg):
            return f"-{_int_operand(arg, node, region)}"
        case E.Binary(op=op, left=left, right=right):
            a, b = _int_operand(left, node, region), _int_operand(right, node, region)
            return f"{a} {op} {b}"
        case E.Lookup():
            return _lookup(node, region)
        case E.Bit(arg=arg, shift=shift):
            number = affine(region, shift.const, dict(shift.terms))
            return f"({_group(arg, region)} >> {number} & 1)"
        case E.Sign(arg=arg):
            return f"SIGNS[{text(arg, region)}]"
        case E.Select(cond=cond, yes=yes, no=no):
            parts = (text(part, region) for part in (cond, yes, no))
            return f"np.where({', '.join(parts)})"
        case E.Half(arg=arg):
            return f"half({text(arg, region)})"
    raise TypeError(f"no NumPy text for {type(node).__name__}")


def _group(node: E.Node, region: Region) -> str:
    inner = text(node, region)
    return f"({inner})" if isinstance(node, E.Binary | E.Negate) else inner


def _int_operand(node: E.Node, parent: E.Node, region: Region) -> str:
    """An operand, integers widened to what the result needs (NumPy keeps small types)."""
    inner = _group(node, region)
    if isinstance(parent.type, E.Int) and not isinstance(node, E.Literal):
        assert isinstance(node.type, E.Int)
        low, high = min(parent.type.low, node.type.low), max(parent.type.high, node.type.high)
        wide = int_kind(low, high)
        if wide != int_kind(node.type.low, node.type.high):
            return f"{inner}.astype({wide})"
    return inner


def _lookup(node: E.Lookup, region: Region) -> str:
    name, row = node.table.name.upper(), text(node.row, region)
    if node.column is None:
        return f"{name}[{row}]"
    last, extent = region.order[-1]
    whole = node.column.terms == ((last, 1),) and node.column.const == 0
    if not node.row.axes and isinstance(node.row, E.Literal | E.LetRef):
        whole = False  # perhaps a number without axes
    if whole and extent == node.table.shape[1] and last not in node.row.axes:
        return f"{name}[{row}[..., 0]]"
    return f"{name}[{row}, {affine(region, node.column.const, dict(node.column.terms))}]"
