"""Tensors of architectures: spec/architectures/*.yaml in, generated/architectures.py out.

Formulas become steps of a stack machine: a number or name is put on the stack, an operation
takes the two on top.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from .errors import YamlPath
from .metadata import known_key
from .output import Output
from .schema import load_checked
from .source import Source
from .spec import Spec

_GENERAL = "general.yaml"
_ANY = "_"
_OPERATIONS: Mapping[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.Lt: "<",
}
_MOST = 500  # characters of a formula

_HEAD = '''"""What the keys of a model say about the shapes of its tensors."""

from __future__ import annotations

from typing import NamedTuple


class Formula(NamedTuple):
    """Steps of a stack machine: numbers, names of numbers, operations on the two on top."""

    text: str
    steps: tuple[int | str, ...]


class Number(NamedTuple):
    """Elements of the array `length`, else the value of `key`, else `default`."""

    key: str
    length: str
    default: Formula | None


class Shape(NamedTuple):
    """Dimensions, rows' length first; None is any."""

    dims: tuple[Formula | None, ...]
    needed: bool
    unless: str  # the tensor that stands for it
    when: Formula | None  # the model has no such tensor otherwise


class Relation(NamedTuple):
    """What must hold where `when` does."""

    that: Formula
    when: Formula | None
    why: str


class Architecture(NamedTuple):
    """Keys have {arch} for the architecture, tensors {n} for the number of a block."""

    requires: tuple[str, ...]
    tensors: dict[str, Shape]
    relations: tuple[Relation, ...]
    closed: bool  # whether there are no other tensors


'''


def outputs(spec: Spec) -> list[Output]:
    """generated/architectures.py. Raises SpecError."""
    paths = sorted((spec.root / "architectures").glob("*.yaml"))
    sources = {path.name: _load(path, spec.root) for path in paths}
    general = sources.pop(_GENERAL)
    known = spec.keys
    numbers = general.data["numbers"]
    body = [
        f"GENERAL = {_architecture(general, numbers, known)}",
        *(_names(general, name, spec) for name in ("except", "vectors", "never")),
        "",
        "NUMBERS: dict[str, Number] = {",
        *(f"    {name!r}: {_number(general, name, numbers, known)}," for name in numbers),
        "}",
        "",
    ]
    names: dict[str, str] = {}
    for source in sources.values():
        constant = Path(source.file).stem.upper()
        body.append(f"{constant} = {_architecture(source, numbers, known)}")
        for name in source.data["architectures"]:
            if name in names:
                source.fail(("architectures",), f"{name} has a file already")
            names[name] = constant
    body += ["", "ARCHITECTURES: dict[str, Architecture] = {"]
    body += [f"    {name!r}: {constant}," for name, constant in names.items()]
    inputs = tuple(f"architectures/{path.name}" for path in paths)
    return [Output("architectures.py", _HEAD + "\n".join([*body, "}"]) + "\n", inputs)]


def _names(source: Source, name: str, spec: Spec) -> str:
    """A constant with a set of names; those of types are known ones."""
    types = {kind.name for kind in spec.every}
    for at, value in enumerate(source.data[name]):
        if name != "except" and value not in types:
            source.fail((name, at), f"{value} is no type of types/")
    return f"{name.upper()} = frozenset({source.data[name]!r})"


def _load(path: Path, root: Path) -> Source:
    source = load_checked(path, root, root / "schema" / "architecture.schema.json")
    general = {"numbers", "except", "vectors", "never"}
    if path.name == _GENERAL and not general <= set(source.data):
        source.fail((), f"missing: {', '.join(sorted(general - set(source.data)))}")
    for part in sorted(general & set(source.data) if path.name != _GENERAL else ()):
        source.fail((part,), f"{part} stands in {_GENERAL}")
    return source


def _number(source: Source, name: str, numbers: Mapping[str, Any], known: Collection[str]) -> str:
    entry = numbers[name]
    keys = [
        _key(source, entry[part], known, ("numbers", name, part)) if part in entry else ""
        for part in ("key", "length")
    ]
    earlier = list(numbers)[: list(numbers).index(name)]
    default = _formula(source, entry.get("default"), earlier, ("numbers", name, "default"))
    return f"Number({keys[0]!r}, {keys[1]!r}, {default})"


def _key(source: Source, key: str, known: Collection[str], path: YamlPath) -> str:
    """The whole key; SpecError for one that is not well known."""
    return known_key(known, source, path, "{arch}." + key, key)


def _architecture(source: Source, numbers: Collection[str], known: Collection[str]) -> str:
    data = source.data
    requires = tuple(
        _key(source, key, known, ("requires", at)) for at, key in enumerate(data["requires"])
    )
    tensors = "".join(
        f"        {name!r}: {_shape(source, name, numbers)},\n" for name in data["tensors"]
    )
    relations = "".join(
        f"        {_relation(source, at, numbers)},\n" for at in range(len(data["relations"]))
    )
    closed = data.get("closed", False)
    return (
        f"Architecture(\n    {requires!r},\n    {{\n{tensors}    }},\n    (\n{relations}    ),\n"
        f"    {closed},\n)"
    )


def _shape(source: Source, name: str, numbers: Collection[str]) -> str:
    given, path = source.data["tensors"][name], ("tensors", name)
    entry = given if isinstance(given, dict) else {"shape": given}
    unless = entry.get("unless", "")
    if unless and unless not in source.data["tensors"]:
        source.fail((*path, "unless"), f"{unless} is no tensor of this file")
    dims = "".join(
        ("None" if text == _ANY else _formula(source, text, numbers, path)) + ", "
        for text in entry["shape"]
    )
    when = _formula(source, entry.get("when"), numbers, (*path, "when"))
    return f"Shape(({dims}), {not entry.get('optional', False)}, {unless!r}, {when})"


def _relation(source: Source, at: int, numbers: Collection[str]) -> str:
    entry, path = source.data["relations"][at], ("relations", at)
    that, when = (
        _formula(source, entry.get(part), numbers, (*path, part)) for part in ("that", "when")
    )
    return f"Relation({that}, {when}, {entry['why']!r})"


def _formula(source: Source, text: str | None, names: Collection[str], path: YamlPath) -> str:
    if text is None:
        return "None"
    try:
        if len(text) > _MOST:
            raise ValueError("it is too long")
        steps = tuple(_steps(ast.parse(text, mode="eval").body, names))
    except (SyntaxError, ValueError) as error:
        source.fail(path, f"{text[:_MOST]!r} is no formula: {getattr(error, 'msg', error)}")
    return f"Formula({text!r}, {steps!r})"


def _steps(node: ast.expr, names: Collection[str]) -> list[int | str]:
    match node:
        case ast.Constant(int(value)) if not isinstance(value, bool):
            return [value]
        case ast.Name(name):
            if name not in names:
                raise ValueError(f"{name} is none of the numbers before it")
            return [name]
        case ast.BinOp(left, operation, right) | ast.Compare(left, [operation], [right]):
            if type(operation) in _OPERATIONS:
                sides = _steps(left, names) + _steps(right, names)
                return [*sides, _OPERATIONS[type(operation)]]
    raise ValueError("formulas have names, whole numbers, + - * / % == > < <= and ( )")
