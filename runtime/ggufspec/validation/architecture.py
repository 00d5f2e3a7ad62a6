"""GG11: what the keys of a model say, against each other and against its tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..files.values import QUANTIZATION_VERSION
from ..generated.architectures import (
    ARCHITECTURES,
    EXCEPT,
    GENERAL,
    NEVER,
    NUMBERS,
    VECTORS,
    Formula,
)
from ..generated.recipes import FALLBACK, FILE_TYPES, GUESS, LAYERS
from .model import dims_text

if TYPE_CHECKING:
    from ..generated.architectures import Architecture, Relation, Shape
    from .findings import Collector
    from .model import Model

Numbers = Mapping[str, "int | list[int] | None"]
"""What the file says of each number, a list one a block; None where it makes no sense."""

_BLOCK = re.compile(r"blk\.(0|[1-9][0-9]{0,8})\.(.+)", re.ASCII)
_MOST_BLOCKS = 512
_MOST_BYTES = (1 << 63) - 1
_ALSO = {"MXFP4_MOE": ("Q8_0",), "NVFP4": ("NVFP4",)}  # types that a file type is made of, too


@dataclass
class _Fault:
    """Tensors of one kind that differ in the same way."""

    tensor: str
    count: int = 0


def check(model: Model, found: Collector) -> None:
    """Add what contradicts the architecture, and what it lacks."""
    if model.kind not in ("model", "vocabulary") or model.architecture is None:
        return
    own = ARCHITECTURES.get(model.architecture)
    numbers = _numbers(model)
    for relation in (*GENERAL.relations, *(own.relations if own else ())):
        _check_relation(model, found, relation, numbers)
    _check_cache(model, found, numbers)
    if not len(model.tensors):
        return
    if own:
        lacking = [_key(model, key) for key in own.requires]
        lacking = [key for key in lacking if key not in model.metadata]
        if lacking:
            found.add("GG1101", path="metadata", architecture=model.architecture, keys=lacking)
    blocks = _check_blocks(model, found, numbers, strictly=own is not None)
    if own or model.architecture not in EXCEPT:
        _check_tensors(model, found, own or GENERAL, numbers)
    if own:
        _check_missing(model, found, own, numbers, blocks)
    _check_file_type(model, found)
    _check_quantization_version(model, found)


def evaluate(formula: Formula, numbers: Numbers, block: int = 0) -> int | None:
    """The value of a formula for one block; None where something is not known."""
    stack: list[int] = []
    for step in formula.steps:
        if isinstance(step, int):
            stack.append(step)
        elif step in NUMBERS:
            number = _number(step, numbers, block)
            if number is None:
                return None
            stack.append(number)
        else:
            right, left = stack.pop(), stack.pop()
            if step in "/%" and not right:
                return None
            stack.append(_apply(step, left, right))
    return stack.pop()


def _apply(operation: str, left: int, right: int) -> int:
    match operation:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left // right
        case "%":
            return left % right
        case "==":
            return left == right
        case ">":
            return left > right
        case "<":
            return left < right
        case _:
            return left <= right


def _number(name: str, numbers: Numbers, block: int) -> int | None:
    if name in numbers:
        given = numbers[name]
        if isinstance(given, list):
            return given[block] if block < len(given) else None
        return given
    default = NUMBERS[name].default
    return None if default is None else evaluate(default, numbers, block)


def _numbers(model: Model) -> Numbers:
    numbers: dict[str, int | list[int] | None] = {}
    for name, number in NUMBERS.items():
        length, key = _key(model, number.length), _key(model, number.key)
        if length in model.metadata:
            stored = model.metadata.stored(length)
            numbers[name] = stored.count if stored.is_array else None
        elif key in model.metadata:
            numbers[name] = _given(model, key)
    return numbers


def _given(model: Model, key: str) -> int | list[int] | None:
    stored = model.metadata.stored(key)
    if stored.kind.kind not in ("uint", "int"):
        return None
    if stored.is_array:
        values = [int(value) for value in model.value(key)[:_MOST_BLOCKS]]
        return values if values and min(values) >= 0 else None
    value = model.value(key)
    return int(value) if value >= 0 else None


def _key(model: Model, key: str) -> str:
    return key.replace("{arch}", model.architecture or "")


def _blocks(numbers: Numbers) -> range:
    """The blocks that numbers are looked at for: the first stands for all where they are alike."""
    count = max((len(given) for given in numbers.values() if isinstance(given, list)), default=1)
    return range(count)


def _check_relation(model: Model, found: Collector, relation: Relation, numbers: Numbers) -> None:
    for block in _blocks(numbers):
        if relation.when and not evaluate(relation.when, numbers, block):
            continue
        if evaluate(relation.that, numbers, block) == 0:
            names = [step for step in relation.that.steps if step in NUMBERS]
            keys = [_key(model, NUMBERS[str(name)].key) for name in names]
            place = next((key for key in keys if key in model.metadata), "")
            values = [f"{name} = {_number(str(name), numbers, block)}" for name in names]
            found.add(
                "GG1108",
                **model.place(place),
                relation=relation.that.text,
                values=values,
                why=relation.why,
            )
            return


def _check_cache(model: Model, found: Collector, numbers: Numbers) -> None:
    context = _number("context_length", numbers, 0)
    blocks = _number("block_count", numbers, 0)
    if not context or not blocks or blocks > _MOST_BLOCKS:
        return
    rows = 0
    each = _blocks(numbers)
    for block in each:
        heads = _number("head_count_kv", numbers, block) or 0
        lengths = [_number(name, numbers, block) or 0 for name in ("key_length", "value_length")]
        rows += heads * sum(lengths)
    size = 2 * context * rows * (blocks if len(each) == 1 else 1)
    if size > _MOST_BYTES:
        place = model.place(f"{model.architecture}.context_length")
        found.add("GG1111", **place, context=context, bytes=size)


def _pattern(name: str) -> tuple[str, int | None]:
    """A tensor's name with {n} for the number of its block, and that number."""
    match = _BLOCK.fullmatch(name)
    return (f"blk.{{n}}.{match[2]}", int(match[1])) if match else (name, None)


def _check_blocks(model: Model, found: Collector, numbers: Numbers, *, strictly: bool) -> set[int]:
    """The blocks that have tensors; adds what differs from how many there should be.

    strictly: no block may be without tensors. In an architecture that is not known, some may
    be, but not the last ones.
    """
    blocks: dict[int, str] = {}
    for name in model.tensors:
        block = _pattern(name)[1]
        if block is not None:
            blocks.setdefault(block, name)
    key = f"{model.architecture}.block_count"
    count = _number("block_count", numbers, 0)
    counted = all(model.architecture != layer.arch for layer in LAYERS)
    if not blocks or count is None or not counted:
        return set(blocks)
    beyond = sorted(block for block in blocks if block >= count)
    if beyond:
        tensor = blocks[beyond[0]]
        place = model.tensor_place(tensor, "name")
        found.add("GG1102", **place, key=key, value=count, count=len(beyond), tensor=tensor)
    start = 0 if strictly else max(blocks) + 1
    absent = [block for block in range(start, min(count, _MOST_BLOCKS)) if block not in blocks]
    if absent and model.architecture not in EXCEPT:
        place, first = model.place(key), absent[0]
        found.add("GG1103", **place, key=key, value=count, count=len(absent), first=first)
    return set(blocks)


def _check_tensors(
    model: Model, found: Collector, architecture: Architecture, numbers: Numbers
) -> None:
    """Names, shapes and types of the tensors that there are."""
    varied = len(_blocks(numbers)) > 1
    asked: dict[tuple[str, int], tuple[int | None, ...] | None] = {}
    shapes: dict[str, _Fault] = {}
    types: dict[str, _Fault] = {}
    strange: list[str] = []
    for name in model.tensors:
        pattern, block = _pattern(name)
        shape = architecture.tensors.get(pattern)
        at = (block or 0) if varied else 0
        if shape and (pattern, at) not in asked:
            there = not shape.when or evaluate(shape.when, numbers, at) != 0
            asked[pattern, at] = _dims(shape, numbers, at) if there else None
        dims = asked.get((pattern, at))
        if dims is None:
            strange += [name] if architecture.closed and not _is_scale(name) else []
            continue
        part, row = model.tensors.place(name)
        columns = part.scan.tensors
        if not _fits(columns.dims_of(row), dims):
            shapes.setdefault(pattern, _Fault(name)).count += 1
        kind = part.kind_of(columns.type[row])
        if kind and (kind.name in NEVER or (len(dims) == 1 and kind.name not in VECTORS)):
            types.setdefault(pattern, _Fault(name)).count += 1
    for pattern, fault in shapes.items():
        shape = architecture.tensors[pattern]
        block = _pattern(fault.tensor)[1] or 0
        found.add(
            "GG1106",
            **model.tensor_place(fault.tensor, "dims"),
            tensor=fault.tensor,
            dims=dims_text(model.tensors[fault.tensor].shape[::-1]),
            expected=dims_text(_dims(shape, numbers, block)),
            formula=", ".join("any" if dim is None else dim.text for dim in shape.dims),
            count=fault.count,
        )
    for fault in types.values():
        type_ = model.tensors[fault.tensor].type
        place = model.tensor_place(fault.tensor, "type")
        found.add("GG1107", **place, tensor=fault.tensor, type=type_, count=fault.count)
    if strange:
        place, kind_of = model.tensor_place(strange[0], "name"), model.architecture
        found.add("GG1105", **place, count=len(strange), architecture=kind_of, tensors=strange)


def _is_scale(name: str) -> bool:
    """Whether it scales the weights of the same name, in any architecture."""
    return name.endswith((".scale", ".input_scale"))


def _dims(shape: Shape, numbers: Numbers, block: int) -> tuple[int | None, ...]:
    return tuple(None if dim is None else evaluate(dim, numbers, block) for dim in shape.dims)


def _fits(dims: tuple[int, ...], asked: tuple[int | None, ...]) -> bool:
    """Dimensions of 1 at the end do not count."""
    most = max(len(dims), len(asked))
    padded = (*dims, *[1] * (most - len(dims)))
    wanted = (*asked, *[1] * (most - len(asked)))
    return all(want is None or want == dim for dim, want in zip(padded, wanted, strict=True))


def _check_missing(
    model: Model,
    found: Collector,
    architecture: Architecture,
    numbers: Numbers,
    blocks: set[int],
) -> None:
    lacking = [
        name
        for name, shape, block in _needed(architecture, blocks)
        if name not in model.tensors
        and shape.unless.replace("{n}", str(block)) not in model.tensors
        and (shape.when is None or evaluate(shape.when, numbers, block))
    ]
    if lacking:
        name = model.architecture
        found.add("GG1104", path="tensors", count=len(lacking), architecture=name, tensors=lacking)


def _needed(architecture: Architecture, blocks: set[int]) -> Iterator[tuple[str, Shape, int]]:
    for pattern, shape in architecture.tensors.items():
        if shape.needed:
            for block in sorted(blocks)[:_MOST_BLOCKS] if "{n}" in pattern else [0]:
                yield pattern.replace("{n}", str(block)), shape, block


def _check_file_type(model: Model, found: Collector) -> None:
    value = model.value("general.file_type")
    if not isinstance(value, int):
        return
    place = model.place("general.file_type")
    kind = next((kind for kind in FILE_TYPES if kind.id == value & ~GUESS.bit), None)
    if kind is None:
        found.add("GG1112", **place, value=value)
        return
    expected = {kind.type, FALLBACK.get(kind.type or ""), *_ALSO.get(kind.name, ())} - {None, ""}
    types = _matrix_types(model)
    if types and expected and not types & expected:
        found.add(
            "GG1109",
            **place,
            value=value,
            name=kind.display,
            expected=" or ".join(sorted(map(str, expected))),
            types=sorted(types),
        )


def _matrix_types(model: Model) -> set[str]:
    types: set[str] = set()
    for part in model.file.parts:
        columns = part.scan.tensors
        for row, number in enumerate(columns.type):
            kind = part.kind_of(number)
            if kind and sum(dim > 1 for dim in columns.dims_of(row)) > 1:
                types.add(kind.name)
    return types


def _check_quantization_version(model: Model, found: Collector) -> None:
    key = "general.quantization_version"
    value = model.value(key)
    if not isinstance(value, int) or value == QUANTIZATION_VERSION:
        return
    kinds = {
        part.kind_of(number) for part in model.file.parts for number in set(part.scan.tensors.type)
    }
    if any(kind and kind.elements > 1 for kind in kinds):
        found.add("GG1110", **model.place(key), value=value)
