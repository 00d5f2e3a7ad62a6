"""gguf-py's constants.py to facts, by Python's own parser; nothing of it is run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .facts import Constant, Facts, Numbered, Place, TypeFacts, UnreadError

_OPERATORS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
}
_FILE_TYPES = ("MOSTLY_", "ALL_")


def installed() -> Facts:
    """What the installed package says; UnreadError where there is none."""
    from importlib.metadata import PackageNotFoundError, version

    spec = find_spec("gguf")
    if spec is None or spec.origin is None:
        raise UnreadError("the package gguf is not installed here")
    path = Path(spec.origin).parent / "constants.py"
    try:
        name = f"gguf {version('gguf')}"
    except PackageNotFoundError:
        name = "gguf"
    found = read(path.read_text(encoding="utf-8"), "gguf/constants.py")
    return Facts(**{**vars(found), "name": name})


def read(text: str, file: str) -> Facts:
    """The facts of one constants.py."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UnreadError(f"{file} is not Python: {error}") from None
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    values = dict(_assigned(tree.body))
    numbers = {name: number for name, node in values.items() if (number := _number(node, {}))}
    types = _enum(classes, "GGMLQuantizationType", file)
    sizes = _sizes(values.get("GGML_QUANT_SIZES"), numbers, file)
    keys = dict(_keys(classes["Keys"], file)) if "Keys" in classes else {}
    return Facts(
        kind="gguf-py",
        name=file,
        types={
            name: TypeFacts(name, one.id, one.place, **sizes.get(name, {}))
            for name, one in types.items()
        },
        file_types={
            file_type_name(name): Numbered(file_type_name(name), one.id, one.place)
            for name, one in _enum(classes, "LlamaFileType", file).items()
        },
        value_types=_enum(classes, "GGUFValueType", file),
        keys=keys,
        architectures=_names(values.get("MODEL_ARCH_NAMES"), file),
        constants={
            name: Constant(name, number, Place(file, values[name].lineno))
            for name, number in numbers.items()
        },
        whole=frozenset({"types", "file_types", "value_types"}),
    )


def file_type_name(name: str) -> str:
    """A file type without the words that say how much of a file has it."""
    for start in _FILE_TYPES:
        name = name.removeprefix(start)
    return name


def _assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield name, value


def _number(node: ast.expr, names: Mapping[str, int]) -> int | None:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return names.get(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _number(operand, names)
            return None if inner is None else -inner
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _number(left, names), _number(right, names)
            if a is None or b is None or (isinstance(op, ast.FloorDiv | ast.Mod) and not b):
                return None
            return _OPERATORS[type(op)](a, b)
    return None


def _enum(classes: Mapping[str, ast.ClassDef], name: str, file: str) -> dict[str, Numbered]:
    if name not in classes:
        raise UnreadError(f"{file} has no class {name}")
    found = {}
    for label, node in _assigned(classes[name].body):
        number = _number(node, {})
        if number is not None:
            found[label] = Numbered(label, number, Place(file, node.lineno))
    return found


def _sizes(
    node: ast.expr | None, numbers: Mapping[str, int], file: str
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Attribute) and isinstance(value, ast.Tuple):
                parts = [_number(item, numbers) for item in value.elts]
                if len(parts) == 2 and None not in parts:
                    found[key.attr] = {
                        "elements": parts[0],
                        "bytes": parts[1],
                        "sizes_at": Place(file, key.lineno),
                    }
    return found


def _keys(node: ast.ClassDef, file: str) -> Iterator[tuple[str, Place]]:
    """Every text of the class and of those within it."""
    for item in node.body:
        if isinstance(item, ast.ClassDef):
            yield from _keys(item, file)
    for _, value in _assigned(node.body):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value, Place(file, value.lineno)


def _names(node: ast.expr | None, file: str) -> dict[str, Place]:
    values = node.values if isinstance(node, ast.Dict) else []
    return {
        value.value: Place(file, value.lineno)
        for value in values
        if isinstance(value, ast.Constant) and isinstance(value.value, str)
    }
